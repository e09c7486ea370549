package main_test

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// The debug log holds whole answers: only its owner may read it, whatever was
// there before (spec §8).
func TestDebugFileMode(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no modes of this kind")
	}
	for _, tt := range []struct {
		name string
		old  os.FileMode // of a file that is there already; 0: none
	}{{"new", 0}, {"wider before", 0o644}, {"narrow before", 0o600}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			folder := filepath.Join(home, ".config", "openai-responses-mcp", "a", "b")
			file := filepath.Join(folder, "debug.log")
			if tt.old != 0 {
				if err := os.MkdirAll(folder, 0o700); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(file, []byte("before\n"), tt.old); err != nil {
					t.Fatal(err)
				}
			}
			c := begin(t, setup{api: newAPI(t), env: []string{"HOME=" + home}, args: []string{"--debug", file}})
			c.line(ask("1", "HTTP 404"))
			c.want("1").answered(t)
			c.done()
			checkMode(t, file, 0o600)
			checkMode(t, folder, 0o700)
			text := read(t, file)
			if tt.old != 0 && !strings.HasPrefix(text, "before\n") {
				t.Error("the log was not appended to what was there")
			}
			if !strings.Contains(text, "tools/call name=answer") {
				t.Errorf("the log lacks the call:\n%s", text)
			}
		})
	}
}

func checkMode(t *testing.T, path string, want os.FileMode) {
	t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := info.Mode().Perm(); got != want {
		t.Errorf("%s has mode %o, want %o", path, got, want)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// With all there is in the log, the key is not: neither of the header nor where
// a question, an answer or an error repeats it.
func TestKeyInNoLog(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{
		api:    newAPI(t, "text=done", "401", "text=done", "500", "cut", "always", "text=done"),
		args:   []string{"--debug", "debug.log", "--show-config"},
		config: "openai: { organization: org-1 }\nrequest: { extra_body: { metadata: { note: \"" + key + "\" } } }\n",
	})
	c.line(ask("1", "Is "+key+" a good key?"))
	c.want("1").answered(t)
	c.line(ask("2", "HTTP 404"))
	c.want("2").fault(t)
	c.line(callTool("3", "answer", map[string]any{"query": "x", "domains": []string{key}}))
	c.want("3").answered(t)
	c.line(ask("4", "HTTP 404")) // after two failures
	c.want("4").answered(t)
	c.line(`{"jsonrpc":"2.0","id":5,"method":"none","params":{"Authorization":"Bearer `+key+`"}}`, key, "Authorization: Bearer "+key)
	c.want("5").fault(t)
	c.done() // serve looks at stdout and stderr
	log := read(t, filepath.Join(c.home, "debug.log"))
	checkOutput(t, "debug.log", log)
	for _, text := range []string{"[redacted]", "recv method=tools/call", "openai(client): request", "openai(client): error attempt=1 status=500"} {
		if !strings.Contains(log, text) {
			t.Errorf("debug.log lacks %q, so this tests nothing:\n%s", text, log)
		}
	}
}

// Without debug, calls that succeed and calls that fail leave stderr empty.
func TestSilence(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "ok", "500", "429", "ok", "401", "garbage")})
	c.line("not JSON", `{"jsonrpc":"2.0","id":9,"method":"none"}`, ask("0", ""), callTool("8", "none", nil))
	for _, id := range []string{"null", "9", "0", "8"} {
		c.want(id).fault(t)
	}
	c.line(ask("1", "HTTP 404"))
	c.want("1").answered(t)
	c.line(ask("2", "HTTP 404"))
	c.want("2").answered(t)
	for _, id := range []string{"3", "4"} {
		c.line(ask(id, "HTTP 404"))
		c.want(id).fault(t)
	}
	c.done()
	if text := c.stderr.String(); text != "" {
		t.Errorf("stderr: %s", text)
	}
}
