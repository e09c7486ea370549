package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

const (
	rereadTime  = 5 * time.Second // between two reads of a file
	confirmTime = time.Second     // until the second read of a change
)

// secretList returns what a variable has, or the file that the variable NAME_FILE names, and where
// it is from: the variable or the path of the file. Both are an error.
func (a *app) secretList(variable string) (source string, list []byte, err error) {
	value, path, err := config.Secret(a.variable, variable)
	if path == "" || err != nil {
		return variable, []byte(value), err
	}

	list, err = config.ReadFile(path)
	if err != nil {
		err = fmt.Errorf("reading %s_FILE: %w", variable, err)
	}
	return path, list, err
}

// watchedFile is a file with secrets that is read again when it changes. A change counts when a
// second read agrees with the first: a file may be read while it is half written.
type watchedFile struct {
	what   string // for the log: "tokens"
	path   string
	read   func(path string) ([]byte, error)
	accept func(data []byte) error // why the data cannot be used; the old ones then stay
	log    *slog.Logger
	stale  *atomic.Int64 // counts the files that cannot be used

	current reading // what was accepted or refused last, at first when the program started
}

// reading is what one read returned.
type reading struct{ data, problem string }

func newReading(data []byte, err error) reading {
	if err != nil {
		return reading{problem: err.Error()}
	}
	return reading{data: string(data)}
}

// follow reads the file again until ctx ends. A problem is logged once.
func (f *watchedFile) follow(ctx context.Context) {
	isStale := false
	last := f.current
	wait := rereadTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		next := newReading(f.read(f.path))
		wait = rereadTime
		switch {
		case next == f.current:
		case next != last:
			wait = confirmTime
		default:
			f.current = next
			err := errors.New(next.problem)
			if next.problem == "" {
				err = f.accept([]byte(next.data))
			}
			switch {
			case err != nil:
				f.log.Error("keeping the old "+f.what, "err", err)
				if !isStale {
					f.stale.Add(1)
				}
			case isStale:
				f.stale.Add(-1)
			}
			isStale = err != nil
		}
		last = next
	}
}
