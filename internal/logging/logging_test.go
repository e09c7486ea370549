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

// A server logs its calls, too, with the time, as text or as JSON. Secrets may be added later.
func TestWithoutDebug(t *testing.T) {
	const key = "hush-hush-0001"
	for format, want := range map[string]string{
		"":     `^openai-responses-mcp: warning: reading policy path=p\.md\nopenai-responses-mcp: error: two lines\n$`,
		"text": `^20\d\d-\d\d-\d\dT\S+ INF call who=a\[redacted\]b n=0\.25\n\S+ WRN reading policy path=p\.md\n\S+ ERR two lines\n$`,
		"json": `^\{"time":"20\d\d-\d\d-\d\dT[^"]+","level":"INFO","msg":"call","who":"a\[redacted\]b","n":0\.25\}\n.*"WARN".*\n.*"msg":"two lines"\}\n$`,
	} {
		var out bytes.Buffer
		redactor := redact.New()
		log, end, err := New(Options{Format: format, File: "/nonexistent/never-opened", Stderr: &out, Redactor: redactor})
		redactor.Add(key)
		log.Debug("a debug line")
		log.Info("call", "who", "a"+key+"b", "n", 0.25)
		log.Warn("reading policy", "path", "p.md")
		log.Error("two\nlines")
		end()
		if got := out.String(); !regexp.MustCompile(want).MatchString(got) || err != nil {
			t.Errorf("%q: wrote %q, %v, want %q", format, got, err, want)
		}
	}
}

func TestDebug(t *testing.T) {
	const key = "hush-hush-0001"
	for _, tt := range []struct {
		log  func(*slog.Logger)
		want string
	}{
		{func(l *slog.Logger) {
			l.Debug("tools/call", "name", "answer", "argsKeys", []string{"query"}, "queryLen", 8)
		},
			`DBG tools/call name=answer argsKeys=[query] queryLen=8`},
		{func(l *slog.Logger) {
			l.With("a", key).WithGroup("g").With("b", "x"+key).Debug("m "+key, slog.Group("h", "c", key, "n", 7))
		}, `DBG m [redacted] a=[redacted] g.b=x[redacted] g.h.c=[redacted] g.h.n=7`},
		{func(l *slog.Logger) {
			l.Debug("m", "e", fmt.Errorf("bad: %w", errors.New(key)), "f", map[string]any{"k": key})
		}, `DBG m e="bad: [redacted]" f=map[k:[redacted]]`},
		{func(l *slog.Logger) { l.Warn("a\nb\x1b[2J\u202e", "v", "a\x1b[31mb\u009b\xff") }, `WRN a b[2J v=a[31mb?`},
		{func(l *slog.Logger) { l.Warn("m", "v", "hush-\x1b"+"hush-0001", "w", `\x1b[31m`) }, `WRN m v=[redacted] w=\u001b[31m`},
	} {
		var out bytes.Buffer
		log, end, _ := New(Options{Debug: true, Stderr: &out, Redactor: redact.New(key)})
		tt.log(log)
		end()
		if _, got, _ := strings.Cut(out.String(), " "); got != tt.want+"\n" {
			t.Errorf("wrote %q, want %q", got, tt.want)
		}
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
		if got := out.String(); !strings.Contains(got, " lines dropped: stderr was not read\n") || strings.Count(got, "DBG line\n") < 256 {
			t.Errorf("stderr got %d lines: %.300s", strings.Count(got, "\n"), got)
		}
	})
}
