package service

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
)

const (
	rereadTime  = 5 * time.Second // between two reads of a file
	confirmTime = time.Second     // until the second read of a change
)

// Secret returns what a variable has, or the file that the variable NAME_FILE names, and where it
// is from: the variable, with path "", or the path of the file. Both are an error.
func (s *Service) Secret(variable string) (data []byte, path string, err error) {
	value, path, err := config.Secret(s.Getenv, variable)
	if path == "" || err != nil {
		return []byte(value), "", err
	}

	data, err = config.ReadFile(path)
	if err != nil {
		err = fmt.Errorf("reading %s_FILE: %w", variable, err)
	}
	return data, path, err
}

// Files are files, most of them with secrets, that are read again when they change. Add them before
// Follow.
type Files struct {
	log   *slog.Logger
	all   []*file
	stale atomic.Int64
}

// NewFiles returns Files with the file of the key, if there is one. Its changes reach the client
// of the API and the ids of tasks.
func (s *Service) NewFiles() *Files {
	f := &Files{log: s.Log}
	if !s.Advisor.KeyInFile { // nor with --offline, where s.Config may have one
		return f
	}

	cfg := s.Config
	f.all = append(f.all, &file{
		what:    "key",
		path:    cfg.KeyFile,
		read:    cfg.ReadKey,
		current: newReading([]byte(cfg.APIKey), cfg.KeyErr),
		accept: func(key []byte) error {
			s.Redactor.Add(string(key))
			s.API.SetKey(string(key))
			s.keys.add(string(key))
			s.Log.Info("read the key again", "variable", cfg.KeyEnv)
			return nil
		},
	})
	return f
}

// Add adds a file. data is what it has now, and what is its name in the log. accept returns why
// data cannot be used: the old ones then stay.
func (f *Files) Add(what, path string, data []byte, accept func(data []byte) error) {
	f.all = append(f.all, &file{
		what:    what,
		path:    path,
		read:    config.ReadFile,
		current: newReading(data, nil),
		accept:  accept,
	})
}

// Stale counts the files that cannot be used now.
func (f *Files) Stale() int {
	return int(f.stale.Load())
}

// Follow reads the files again until ctx ends.
func (f *Files) Follow(ctx context.Context) {
	var readers sync.WaitGroup
	for _, one := range f.all {
		readers.Go(func() { f.follow(ctx, one) })
	}
	readers.Wait()
}

// file is one of Files. A change counts when a second read agrees with the first: a file may be
// read while it is half written.
type file struct {
	what   string
	path   string
	read   func(path string) ([]byte, error)
	accept func(data []byte) error

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

// follow reads a file again until ctx ends. A problem is logged once.
func (f *Files) follow(ctx context.Context, one *file) {
	stale := one.current.problem != ""
	if stale {
		f.stale.Add(1)
	}
	last := one.current
	wait := rereadTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		next := newReading(one.read(one.path))
		wait = rereadTime
		switch {
		case next == one.current:
		case next != last:
			wait = confirmTime
		default:
			one.current = next
			err := errors.New(next.problem)
			if next.problem == "" {
				err = one.accept([]byte(next.data))
			}
			switch {
			case err != nil:
				f.log.Error("keeping the old "+one.what, "err", err)
				if !stale {
					f.stale.Add(1)
				}
			case stale:
				f.stale.Add(-1)
			}
			stale = err != nil
		}
		last = next
	}
}
