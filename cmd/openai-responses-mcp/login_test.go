package main

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// login runs login with this input, and returns its output, the file of the key and its content.
func login(t *testing.T, home, in string, words ...string) (out, file, content string) {
	t.Helper()
	cmd := program(home, append(words, "login")...)
	cmd.Stdin = strings.NewReader(in)
	b, _ := cmd.CombinedOutput() // some fail
	clean(t, string(b))

	file = filepath.Join(home, ".config", "openai-responses-mcp", "OPENAI_API_KEY")
	stored, _ := os.ReadFile(file) // "" without a file
	return string(b), file, string(stored)
}

// storedKey is what login stores: the key, and the server of program.
const storedKey = key + "\nhttp://127.0.0.1:1\n"

// What a pipe brings is a key alone, or is refused with the reason.
func TestLoginInput(t *testing.T) {
	t.Parallel()
	values := strings.NewReplacer(
		"CANARY", key,
		"ESC", "\x1b",
		"LONG", strings.Repeat("k", 8001),
	)
	compare.Each(t, "login", 3, func(t *testing.T, row []string) {
		out, _, got := login(t, t.TempDir(), values.Replace(row[1]))

		compare.Contains(t, "output", out, row[2])

		want := storedKey
		if row[2] != "" {
			want = ""
		}
		compare.Equal(t, "stored", got, want)
	})
}

// Two at once leave one whole key.
func TestLogins(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	var logins sync.WaitGroup
	for range 4 {
		logins.Go(func() { login(t, home, key) })
	}
	logins.Wait()

	_, file, got := login(t, home, "")
	files, _ := os.ReadDir(filepath.Dir(file))
	if got != storedKey || len(files) != 1 {
		t.Errorf("stored %q in %d files", got, len(files))
	}
}
