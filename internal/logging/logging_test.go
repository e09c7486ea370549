package logging

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

// key is a secret.
const key = "hush-hush-0001"

// A server logs its calls, too, with the time, as text or as JSON. Secrets may be added later.
func TestWithoutDebug(t *testing.T) {
	for _, tt := range []struct{ format, want string }{
		{
			"",
			`^openai-responses-mcp: warning: reading policy path=p\.md\n` +
				`openai-responses-mcp: error: two lines\n$`,
		},
		{
			"text",
			`^20\d\d-\d\d-\d\dT\S+ INF call who=a\[redacted\]b n=0\.25\n` +
				`\S+ WRN reading policy path=p\.md\n` +
				`\S+ ERR two lines\n$`,
		},
		{
			"json",
			`^\{"time":"20\d\d-\d\d-\d\dT[^"]+","level":"INFO","msg":"call",` +
				`"who":"a\[redacted\]b","n":0\.25\}\n` +
				`.*"WARN".*\n` +
				`.*"msg":"two lines"\}\n$`,
		},
	} {
		t.Run("format "+tt.format, func(t *testing.T) {
			var out bytes.Buffer
			redactor := redact.New()
			log, end, err := New(Options{
				Format:   tt.format,
				File:     "/nonexistent/never-opened",
				Stderr:   &out,
				Redactor: redactor,
			})
			if err != nil {
				t.Error(err)
			}

			redactor.Add(key)
			log.Debug("a debug line")
			log.Info("call", "who", "a"+key+"b", "n", 0.25)
			log.Warn("reading policy", "path", "p.md")
			log.Error("two\nlines")
			end()

			if got := out.String(); !regexp.MustCompile(tt.want).MatchString(got) {
				t.Errorf("wrote %q, want %q", got, tt.want)
			}
		})
	}
}

func TestDebug(t *testing.T) {
	for _, tt := range []struct {
		name string
		log  func(*slog.Logger)
		want string
	}{
		{
			"values",
			func(l *slog.Logger) {
				keys := []string{"query"}
				l.Debug("tools/call", "name", "answer", "argsKeys", keys, "queryLen", 8)
			},
			`DBG tools/call name=answer argsKeys=[query] queryLen=8`,
		},
		{
			"secrets in groups",
			func(l *slog.Logger) {
				l = l.With("a", key).WithGroup("g").With("b", "x"+key)
				l.Debug("m "+key, slog.Group("h", "c", key, "n", 7))
			},
			`DBG m [redacted] a=[redacted] g.b=x[redacted] g.h.c=[redacted] g.h.n=7`,
		},
		{
			"secrets in errors and maps",
			func(l *slog.Logger) {
				err := fmt.Errorf("bad: %w", errors.New(key))
				l.Debug("m", "e", err, "f", map[string]any{"k": key})
			},
			`DBG m e="bad: [redacted]" f=map[k:[redacted]]`,
		},
		{
			"control characters",
			func(l *slog.Logger) {
				l.Warn("a\nb\x1b[2J\u202e", "v", "a\x1b[31mb\u009b\xff")
			},
			`WRN a b[2J v=a[31mb?`,
		},
		{
			"escape characters",
			func(l *slog.Logger) {
				l.Warn("m", "v", "hush-\x1b"+"hush-0001", "w", `\x1b[31m`)
			},
			`WRN m v=[redacted] w=\u001b[31m`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			log, end, _ := New(Options{Debug: true, Stderr: &out, Redactor: redact.New(key)})

			tt.log(log)
			end()

			_, got, _ := strings.Cut(out.String(), " ") // without the time
			if got != tt.want+"\n" {
				t.Errorf("wrote %q, want %q", got, tt.want)
			}
		})
	}
}

// blocked is a reader of stderr that takes nothing until it is released.
type blocked struct {
	release chan struct{}
	bytes.Buffer
}

func (b *blocked) Write(p []byte) (int, error) {
	<-b.release

	return b.Buffer.Write(p)
}

// Lines that find the queue full are dropped, and their number is reported.
func TestStderrNotRead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		out := &blocked{release: make(chan struct{})}
		log, end, _ := New(Options{Debug: true, Stderr: out})

		for range 1000 {
			log.Debug("line")
		}
		end() // gives up

		close(out.release)
		end()
		end()

		got := out.String()
		if n := strings.Count(got, "DBG line\n"); n < queueLines {
			t.Errorf("stderr got %d lines, want at least %d", n, queueLines)
		}

		if !strings.Contains(got, " lines dropped: stderr was not read\n") {
			t.Errorf("stderr does not tell of dropped lines: %.300s", got)
		}
	})
}
