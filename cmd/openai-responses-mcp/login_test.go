package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
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
		{"empty", "", "it is empty"},
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

// Only the user can read the key, and there is no other file. A key that others can read is used, with
// a warning.
func TestLoginFile(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	home := t.TempDir()
	_, file, _ := login(t, home, key)

	var got []string
	filepath.Walk(home, func(path string, info os.FileInfo, _ error) error {
		got = append(got, fmt.Sprintf("%s %o", info.Name(), info.Mode().Perm()))
		return nil
	})
	want := "[.config 700 openai-responses-mcp 700 OPENAI_API_KEY 600]"
	compare.Equal(t, "files", fmt.Sprint(got[1:]), want)

	if err := os.Chmod(file, 0o640); err != nil {
		t.Fatal(err)
	}
	out, _ := program(home, "ask", "x").CombinedOutput()
	warning := "other users can read the key: run chmod 600 " + file
	compare.Equal(t, "warnings", strings.Count(string(out), warning), 1)
}

// A file that cannot be written is an error with another way, and nothing else is left.
func TestLoginFails(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	folder := filepath.Join(home, ".config", "openai-responses-mcp", "OPENAI_API_KEY")
	if err := os.MkdirAll(folder, 0o700); err != nil {
		t.Fatal(err)
	}
	out, _, _ := login(t, home, key)

	want := "hint: write the key to a file and set OPENAI_API_KEY_FILE to its path"
	if !strings.Contains(out, "error: storing the key: ") || !strings.Contains(out, want) {
		t.Errorf("output %q, want an error and %s", out, want)
	}
	files, _ := os.ReadDir(filepath.Join(home, ".config"))
	compare.Equal(t, "files", len(files), 1)
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

// A key that may not read models is not refused.
func TestLoginWithoutScope(t *testing.T) {
	t.Parallel()
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnauthorized)
		const message = "Missing scopes: api.model.read for "
		fmt.Fprintf(w, `{"error":{"message":%q}}`, message+r.Header.Get("Authorization"))
	}))
	t.Cleanup(api.Close)
	out, _, got := login(t, t.TempDir(), key, "OPENAI_BASE_URL="+api.URL)

	const want = "warning: the key was not checked: the key may not read models"
	if got != key+"\n" || !strings.Contains(out, want) {
		t.Errorf("stored %q, output %q, want %s", got, out, want)
	}
}
