package service

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A change of a file counts when a read a second later agrees. Broken data changes nothing, and is
// logged once.
func TestFiles(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Changes string
		Accepted      time.Duration
		Logged        string
		Stale         int
	}](t, "files") {
		compare.Bubble(t, tt.Name, func(t *testing.T) {
			accepted, log, stale := follow(t, tt.Changes)
			compare.Equal(t, "stale files", stale, tt.Stale)

			compare.Equal(t, "time until new data is accepted", accepted, tt.Accepted)
			lines := strings.Count(log, "\n")

			isLogged := strings.Contains(log, tt.Logged) && (lines > 0) == (tt.Logged != "")
			if !isLogged || lines > 1 {
				t.Errorf("logged %q, want %s once", log, tt.Logged)
			}
		})
	}
}

// follow follows a file for an hour. It returns when "new" was accepted, what was logged, and how
// many files cannot be used at the end.
func follow(
	t *testing.T, changes string,
) (accepted time.Duration, logged string, stale int) {
	var log bytes.Buffer
	start := time.Now()
	f := &file{
		name:      "data",
		path:      "PATH",
		confirmed: readResult{data: "old"},
	}
	f.read = func(string) (string, error) {
		text := "old"
		for change := range strings.SplitSeq(changes, ", ") {
			after, changed, _ := strings.Cut(change, " ")
			at, _ := time.ParseDuration(after)
			if time.Since(start) >= at {
				text = changed
			}
		}

		if text == "" {
			return "", fs.ErrNotExist
		}
		return text, nil
	}
	f.accept = func(data string) error {
		if data != "new" {
			return errors.New("it is " + data)
		}
		accepted = time.Since(start)
		return nil
	}

	ctx, stop := context.WithTimeout(t.Context(), time.Hour)
	defer stop()
	files := &Files{
		log: slog.New(slog.NewTextHandler(&log, nil)),
		all: []*file{f},
	}
	files.Follow(ctx)
	return accepted, log.String(), files.NumStale()
}

// A key that login stores is in force and redacted after a second read, and one that it removes is
// not in force any more. If it is too short for ids, the log says so where calls need them.
func TestWatchKey(t *testing.T) {
	const key = "new-key-0123"
	for _, inBackground := range []bool{false, true} {
		compare.Bubble(t, fmt.Sprint("background ", inBackground), func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "key")
			var log bytes.Buffer
			cfg := &config.Config{Derived: &config.Derived{APIKeyFile: file, StoredKeyFile: file}}
			cfg.Server.AnswerWithinMS = 1000
			var profile answer.Profile
			profile.Background = inBackground
			s := &Service{
				Options: Options{
					Config:   cfg,
					Redactor: redact.New(),
					Getenv:   func(string) string { return "" },
				},
				Profiles:  map[string]answer.Profile{"answer": profile},
				APIClient: llm.New(llm.Options{}),
				Log:       slog.New(slog.NewTextHandler(&log, nil)),
				effective: cfg,
				keys:      newKeyring(""),
			}
			_, _, _ = s.CompleteDetachOptions(server.DetachOptions{})
			ctx, stop := context.WithCancel(t.Context())
			go s.NewFiles().Follow(ctx)
			defer stop()

			check := func(want string) {
				t.Helper()
				time.Sleep(2 * rereadInterval)
				synctest.Wait()
				compare.Contains(t, "the client's error", fmt.Sprint(s.APIClient.CheckKey()), want)
			}
			check("Missing API key")
			if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			check("<nil>")
			compare.Equal(t, "the key in the log", s.Redactor.Line(key), redact.Redacted)
			os.Remove(file)
			check("Missing API key")
			compare.Contains(t, "the log", log.String(), "all calls fail: Missing API key")
			warns := strings.Contains(log.String(), "no API key of at least 24 characters")
			compare.Equal(t, "warns", warns, inBackground)
		})
	}
}
