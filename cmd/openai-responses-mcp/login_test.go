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

// What a pipe brings is a key alone, or is refused with the reason.
func TestLoginInput(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, in, want string }{
		{"no line feed", key, ""},
		{"PowerShell", "\ufeff" + key + "\r\n", ""},
		{"empty", "", "no key was entered\nhint: copy the key alone for "},
		{"line feed", "\r\n", "no key was entered"},
		{"placeholder", "YOUR_OPENAI_API_KEY", "README\nhint: copy the key alone for "},
		{"two line feeds", key + "\n\n", "it has several lines"},
		{"two lines", key + "\n" + key, "it has several lines"},
		{"blanks", "Bearer " + key, "it has blanks"},
		{"quotes", `"` + key + `"`, "it has quotes"},
		{"control characters", key + "\x1b", "it has control characters"},
		{"reference", "${OPENAI_API_KEY}\n", "it is a reference"},
		{"part of a key", "sk-...abcd", "it is shown in part"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			out, _, got := login(t, t.TempDir(), tt.in)

			compare.Contains(t, "output", out, tt.want)

			want := key + "\n"
			if tt.want != "" {
				want = ""
			}
			compare.Equal(t, "stored", got, want)
		})
	}
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
	if got != key+"\n" || len(files) != 1 {
		t.Errorf("stored %q in %d files", got, len(files))
	}
}
