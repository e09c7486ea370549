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

// ReadSecret returns the value of the environment variable NAME or, if NAME_FILE is set, the
// content of the file that NAME_FILE names. path is the path of the file, or "" for the value of
// the variable. It is an error if both are set.
func (s *Service) ReadSecret(variable string) (data, path string, err error) {
	value, path, err := config.LookUpSecret(s.Getenv, variable)
	if path == "" || err != nil {
		return value, "", err
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
	cfg := s.effective
	if cfg.APIKeyFile == "" {
		return f
	}

	keys := s.Redactor.NewSource()
	f.all = append(f.all, &file{
		name:      "key",
		path:      cfg.APIKeyFile,
		read:      cfg.ReadKey,
		confirmed: newReadResult(cfg.APIKey, cfg.APIKeyErr),
		accept: func(key string) error {
			keys.Set(key)
			s.APIClient.SetKey(key)
			s.keys.setCurrent(key)
			if key == "" { // login --remove
				s.Log.Warn("all calls fail: Missing API key")
				return nil
			}
			s.Log.Info("read the key again", "variable", cfg.CredentialVariable)
			if s.wantsSealingKey && len(s.keys.sealingKeys()) == 0 {
				s.Log.Warn(noSealingKey)
			}
			return nil
		},
	})
	return f
}

// Add adds a file. name is that of the file in the log, and data is its present content. accept is
// called with new content. If the content cannot be used, accept returns an error, and the old
// content stays in use.
func (f *Files) Add(name, path, data string, accept func(data string) error) {
	f.all = append(f.all, &file{
		name:      name,
		path:      path,
		read:      config.ReadFile,
		confirmed: newReadResult(data, nil),
		accept:    accept,
	})
}

// NumStale returns the number of files whose present content cannot be used.
func (f *Files) NumStale() (n int) {
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
	name   string // in the log
	path   string
	read   func(path string) (string, error)
	accept func(data string) error

	confirmed readResult  // the last that two reads in a row returned; at first that of the start
	isStale   atomic.Bool // confirmed cannot be used
}

// readResult is the result of one read: the content, or the text of the error.
type readResult struct{ data, problem string }

func newReadResult(data string, err error) readResult {
	if err != nil {
		return readResult{problem: err.Error()}
	}
	return readResult{data: data}
}

// follow reads a file again and again until ctx ends. It logs each problem once.
func (f *Files) follow(ctx context.Context, target *file) {
	target.isStale.Store(target.confirmed.problem != "")
	last := target.confirmed
	for {
		wait := rereadInterval
		if last != target.confirmed {
			wait = confirmTime
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}

		next := newReadResult(target.read(target.path))
		if next == last && next != target.confirmed {
			target.confirmed = next
			err := errors.New(next.problem)
			if next.problem == "" {
				err = target.accept(next.data)
			}
			if err != nil {
				f.log.Error("keeping the old "+target.name, "file", target.path, "err", err)
			}
			target.isStale.Store(err != nil)
		}
		last = next
	}
}
