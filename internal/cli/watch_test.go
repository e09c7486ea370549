package cli

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

// broken is content that is not accepted.
const broken = "broken"

// watchTests are files that change.
var watchTests = []struct {
	name    string
	content map[time.Duration]string // from a time on; "" is no file
	want    map[time.Duration]string // what is in force at a time
	logged  string                   // once; "" is nothing
}{
	{
		"no change",
		nil,
		map[time.Duration]string{time.Hour: "old"},
		"",
	},
	{
		"change",
		map[time.Duration]string{1: "new"},
		map[time.Duration]string{5 * time.Second: "old", 6 * time.Second: "new"},
		"",
	},
	{
		"half written",
		map[time.Duration]string{
			5*time.Second - 1: "ne",
			6*time.Second - 1: "new",
		},
		map[time.Duration]string{6 * time.Second: "old", 7 * time.Second: "new"},
		"",
	},
	{
		"change for a moment",
		map[time.Duration]string{
			5*time.Second - 1: "new",
			6*time.Second - 1: "old",
		},
		map[time.Duration]string{time.Minute: "old"},
		"",
	},
	{
		"no file",
		map[time.Duration]string{1: ""},
		map[time.Duration]string{time.Minute: "old"},
		`msg="keeping the old data" err="file does not exist"`,
	},
	{
		"broken",
		map[time.Duration]string{1: broken},
		map[time.Duration]string{time.Minute: "old"},
		`msg="keeping the old data" err="it is broken"`,
	},
	{
		"corrected",
		map[time.Duration]string{1: broken, 20 * time.Second: "new"},
		map[time.Duration]string{time.Minute: "new"},
		`msg="keeping the old data" err="it is broken"`,
	},
}

// A change of a file counts when a read a second later agrees. Broken data changes nothing, and is
// logged once.
func TestWatchedFile(t *testing.T) {
	for _, tt := range watchTests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var content, inForce atomic.Value
				content.Store("old")
				inForce.Store("old")
				f := &watchedFile{what: "data", current: reading{data: "old"}}
				f.read = func() ([]byte, error) {
					text := content.Load().(string)
					if text == "" {
						return nil, fs.ErrNotExist
					}
					return []byte(text), nil
				}
				f.accept = func(data []byte) error {
					if string(data) == broken {
						return errors.New("it is broken")
					}
					inForce.Store(string(data))
					return nil
				}
				for at, text := range tt.content {
					time.AfterFunc(at, func() { content.Store(text) })
				}

				for at, want := range tt.want {
					time.AfterFunc(at+1, func() {
						if got := inForce.Load(); got != want {
							t.Errorf("%q is in force after %v, want %q", got, at, want)
						}
					})
				}

				var log bytes.Buffer
				ctx, stop := context.WithTimeout(t.Context(), time.Hour+time.Second)
				defer stop()
				f.follow(ctx, slog.New(slog.NewTextHandler(&log, nil)))
				lines := strings.Count(log.String(), "\n")
				if tt.logged == "" && lines > 0 {
					t.Errorf("logged %s", &log)
				}
				if tt.logged != "" && (lines != 1 || !strings.Contains(log.String(), tt.logged)) {
					t.Errorf("logged %s, want one line with %s", &log, tt.logged)
				}
			})
		})
	}
}

// A new key is in force and is redacted.
func TestWatchKey(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(path, []byte("sk\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{redactor: redact.New()}
	client := llm.New(llm.Options{KeyInFile: true})
	cfg := &config.Config{Derived: &config.Derived{KeyFile: path, KeyErr: fs.ErrNotExist}}
	f := a.watchKey(cfg, client, slog.New(slog.DiscardHandler))
	if f.current.problem == "" {
		t.Error("the file is not broken at first")
	}

	const key = "new-key-0123"
	if err := os.WriteFile(path, []byte(key+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	data, err := f.read()
	if err != nil {
		t.Fatal(err)
	}
	if err := f.accept(data); err != nil {
		t.Error(err)
	}
	if err := client.Ready(); err != nil {
		t.Errorf("not ready: %v", err)
	}
	if got := a.redactor.Line(key); got != redact.Redacted {
		t.Errorf("the key is %q in the log", got)
	}
}
