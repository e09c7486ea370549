package cli

import (
	"context"
	"log/slog"
	"time"
)

const (
	rereadTime  = 5 * time.Second // between two reads of a file
	confirmTime = time.Second     // until the second read of a change
)

// watchedFile is a file with secrets that is read again when it changes. A change counts when a
// second read agrees with the first: a file may be read while it is half written.
type watchedFile struct {
	what   string // for the log: "tokens"
	read   func() ([]byte, error)
	accept func(data []byte) error // why the data cannot be used; the old ones then stay

	current reading // what was accepted or refused last, at first when the program started
	changed reading // the first read of a change
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
func (f *watchedFile) follow(ctx context.Context, log *slog.Logger) {
	f.changed = f.current
	wait := rereadTime
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		next := newReading(f.read())
		isConfirmed := next == f.changed
		f.changed = next
		wait = rereadTime
		switch {
		case next == f.current:
		case isConfirmed:
			f.current = next
			f.use(next, log)
		default:
			wait = confirmTime
		}
	}
}

// use accepts what the file has now, or logs why that cannot be.
func (f *watchedFile) use(now reading, log *slog.Logger) {
	problem := now.problem
	if problem == "" {
		if err := f.accept([]byte(now.data)); err != nil {
			problem = err.Error()
		}
	}
	if problem != "" {
		log.Error("keeping the old "+f.what, "err", problem)
	}
}
