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

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// change is what a file has from a time on. "" is no file, "broken" is not accepted.
type change struct {
	at   time.Duration
	text string
}

// A change of a file counts when a read a second later agrees. Broken data changes nothing, and is
// logged once.
func TestFiles(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name     string
		changes  []change
		accepted time.Duration // when "new" is accepted; 0: never
		logged   string        // once; "": nothing
		stale    int           // files that cannot be used at the end
	}{
		{"change", []change{{1, "new"}}, 6 * second, "", 0},
		{"half written", []change{{5*second - 1, "ne"}, {6*second - 1, "new"}}, 7 * second, "", 0},
		{"for a moment", []change{{5*second - 1, "new"}, {6*second - 1, "old"}}, 0, "", 0},
		{"no file", []change{{1, ""}}, 0, `err="file does not exist"`, 1},
		{
			"corrected", []change{{1, "broken"}, {20 * second, "new"}},
			22 * second, `err="it is broken"`, 0,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				accepted, log, stale := follow(t, tt.changes)
				compare.Equal(t, "stale files", stale, tt.stale)

				compare.Equal(t, "time until new data is accepted", accepted, tt.accepted)
				lines := strings.Count(log, "\n")

				if !strings.Contains(log, tt.logged) || (lines > 0) != (tt.logged != "") || lines > 1 {
					t.Errorf("logged %q, want %s once", log, tt.logged)
				}
			})
		})
	}
}

// follow follows a file for an hour. It returns when "new" was accepted, what was logged, and how many
// files cannot be used at the end.
func follow(
	t *testing.T, changes []change,
) (accepted time.Duration, logged string, stale int) {
	var log bytes.Buffer
	start := time.Now()
	f := &file{
		what:    "data",
		current: reading{data: "old"},
	}
	f.read = func(string) ([]byte, error) {
		text := "old"
		for _, c := range changes {
			if time.Since(start) >= c.at {
				text = c.text
			}
		}

		if text == "" {
			return nil, fs.ErrNotExist
		}
		return []byte(text), nil
	}
	f.accept = func(data []byte) error {
		if string(data) != "new" {
			return errors.New("it is " + string(data))
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
	return accepted, log.String(), files.Stale()
}

// A key that login stores is in force and redacted after a second read, and one that it removes is not
// in force any more.
func TestWatchKey(t *testing.T) {
	const key = "new-key-0123"
	synctest.Test(t, func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "key")
		s := &Service{
			API:      llm.New(llm.Options{}),
			Log:      slog.New(slog.DiscardHandler),
			Redactor: redact.New(),
			keys:     newKeyring(""),
		}
		s.Advisor.KeyInFile = true
		s.Config = &config.Config{Derived: &config.Derived{KeyFile: file, StoredKey: file}}
		ctx, stop := context.WithCancel(t.Context())
		go s.NewFiles().Follow(ctx)
		defer stop()

		check := func(want string) {
			t.Helper()
			time.Sleep(2 * rereadTime)
			compare.Contains(t, "the client's error", fmt.Sprint(s.API.Ready()), want)
		}
		check("Missing API key")
		if err := os.WriteFile(file, []byte(key+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		check("<nil>")
		if got := s.Redactor.Line(key); got != redact.Redacted {
			t.Errorf("the key is %q in the log", got)
		}
		os.Remove(file)
		check("Missing API key")
	})
}
