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
	rereadInterval = 5 * time.Second // between two reads of a file
	confirmTime    = time.Second     // until the second read of a change
)

// Secret returns the value of an environment variable or, if NAME_FILE is set for a variable NAME,
// the content of the file that this names. path is the path of the file, or "" for the value of the
// variable. It is an error if both are set.
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

// Files is a set of files, most of them with secrets, whose changes the process follows. All files
// are added before Follow.
type Files struct {
	log *slog.Logger
	all []*file
}

// NewFiles returns Files with the file of the API key, if there is one. A changed key is used by
// the client of the API, and seals the ids of tasks.
func (s *Service) NewFiles() *Files {
	f := &Files{log: s.Log}
	if s.keyFile == "" {
		return f
	}

	cfg := s.Config
	f.all = append(f.all, &file{
		what:    "key",
		path:    s.keyFile,
		read:    cfg.ReadKey,
		current: newReading([]byte(cfg.APIKey), cfg.APIKeyErr),
		accept: func(key []byte) error {
			s.Redactor.Add(string(key))
			s.APIClient.SetKey(string(key))
			s.keys.setPresent(string(key))
			s.Log.Info("read the key again", "variable", cfg.CredentialVariable)
			return nil
		},
	})
	return f
}

// Add adds a file. what names it in the log, and data is its present content. accept is called with
// new content. If the content cannot be used, accept returns an error, and the old content stays in
// use.
func (f *Files) Add(what, path string, data []byte, accept func(data []byte) error) {
	f.all = append(f.all, &file{
		what:    what,
		path:    path,
		read:    config.ReadFile,
		current: newReading(data, nil),
		accept:  accept,
	})
}

// Stale returns the number of files whose present content cannot be used.
func (f *Files) Stale() (n int) {
	for _, target := range f.all {
		if target.isStale.Load() {
			n++
		}
	}
	return n
}

// Follow reads the files again until ctx ends.
func (f *Files) Follow(ctx context.Context) {
	var readers sync.WaitGroup
	for _, target := range f.all {
		readers.Go(func() { f.follow(ctx, target) })
	}
	readers.Wait()
}

// file is one of Files. A change counts only if a second read returns the same: the first read may
// see a half-written file.
type file struct {
	what   string // name in the log
	path   string
	read   func(path string) ([]byte, error)
	accept func(data []byte) error

	current reading     // the last reading that was accepted or refused, at first that of the start
	isStale atomic.Bool // current cannot be used
}

// reading is the result of one read: the content, or the text of the error.
type reading struct{ data, problem string }

func newReading(data []byte, err error) reading {
	if err != nil {
		return reading{problem: err.Error()}
	}
	return reading{data: string(data)}
}

// follow reads a file again and again until ctx ends. It logs each problem once.
func (f *Files) follow(ctx context.Context, target *file) {
	target.isStale.Store(target.current.problem != "")
	last := target.current
	wait := rereadInterval
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		next := newReading(target.read(target.path))
		wait = rereadInterval
		switch {
		case next == target.current:
		case next != last:
			wait = confirmTime
		default:
			target.current = next
			err := errors.New(next.problem)
			if next.problem == "" {
				err = target.accept([]byte(next.data))
			}
			if err != nil {
				f.log.Error("keeping the old "+target.what, "err", err)
			}
			target.isStale.Store(err != nil)
		}
		last = next
	}
}
