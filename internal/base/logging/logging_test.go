package logging

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
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
			log.With("who", "a"+key+"b").Info("call", "n", 0.25)
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
		name    string
		message string
		values  []any
		want    string
	}{
		{
			"secrets in groups", "m " + key,
			[]any{"a", "x" + key, slog.Group("h", "c", key, "n", 7)},
			`DBG m [redacted] a=x[redacted] h.c=[redacted] h.n=7`,
		},
		{
			"secrets in errors and maps", "m",
			[]any{"e", fmt.Errorf("bad: %w", errors.New(key)), "f", map[string]any{"k": key}},
			`DBG m e="bad: [redacted]" f=map[k:[redacted]]`,
		},
		{
			"control and escape characters", "a\nb\x1b[2J\u202e",
			[]any{"v", "a\x1b[31mb\u009b\xff", "w", "hush-\x1b" + "hush-0001", "x", `\x1b[31m`},
			`DBG a b[2J v=a[31mb? w=[redacted] x=\u001b[31m`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out bytes.Buffer
			log, end, _ := New(Options{Debug: true, Stderr: &out, Redactor: redact.New(key)})

			log.Debug(tt.message, tt.values...)
			end()

			_, got, _ := strings.Cut(out.String(), " ") // without the time

			compare.Equal(t, "line", got, tt.want+"\n")
		})
	}
}

// fullDisk is a file on a disk that has no room for more than left bytes.
type fullDisk struct {
	bytes.Buffer
	left int
}

func (d *fullDisk) Write(p []byte) (int, error) {
	n, _ := d.Buffer.Write(p[:min(d.left, len(p))])
	d.left -= n
	if n < len(p) {
		return n, syscall.ENOSPC
	}
	return n, nil
}

// Lines for which the disk has no room are counted. The next line does not continue half a line.
func TestFullDisk(t *testing.T) {
	compare.Bubble(t, "full", func(t *testing.T) {
		disk := &fullDisk{left: 8}
		log, end, _ := New(Options{Format: JSON, Stderr: disk, Redactor: redact.New()})
		log.Warn("one")
		log.Warn("two")
		synctest.Wait()
		disk.left = 90 // for the next line, and the beginning of the report
		log.Warn("three")
		synctest.Wait()
		disk.left = 1000
		log.Warn("four")
		end()

		got := regexp.MustCompile(`"time":"[^"]+",`).ReplaceAllString(disk.String(), "")
		compare.Contains(t, "stderr", got, `{"time":`+"\n"+`{"level":"WARN","msg":"three"}`+"\n"+`{"level":`)
		compare.Contains(t, "stderr", got, "\n"+`{"level":"WARN","msg":"four"}`+"\n"+
			`{"level":"WARN","msg":"lines dropped: stderr was not read, or is full","lines":2}`+"\n")
	})
}

// A stderr that is not read stops nothing, and loses no lines of a burst. Lines that find the queue
// full are dropped, and their number is reported.
func TestStderrNotRead(t *testing.T) {
	for _, tt := range []struct {
		format  string
		lines   int
		dropped string
	}{
		{"", 1000, ""},
		{Text, 20000, "... "},
		{JSON, 20000, `{"level":"WARN","msg":"lines dropped: stderr was not read, or is full","lines":`},
	} {
		compare.Bubble(t, fmt.Sprint(tt.format, tt.lines), func(t *testing.T) {
			reader, stderr := io.Pipe()
			log, end, _ := New(Options{Format: tt.format, Stderr: stderr, Redactor: redact.New()})

			log.Warn("first")
			synctest.Wait() // it is being written
			for range tt.lines {
				log.Warn("line")
			}
			end() // gives up

			go func() {
				end()
				_ = stderr.Close()
			}()
			out, _ := io.ReadAll(reader) // a pipe fails only when it is closed
			got := string(out)

			n := strings.Count(got, "\n") - 1 // without the first
			if tt.dropped == "" && n != tt.lines {
				t.Errorf("stderr got %d lines, want %d", n, tt.lines)
			}
			if !strings.Contains(got, tt.dropped) {
				t.Errorf("stderr does not tell of dropped lines: %.300s", got)
			}
		})
	}
}
