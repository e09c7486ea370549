package config

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A key is not written through a file that another user has prepared next to its folder.
func TestStorePrepared(t *testing.T) {
	parent := t.TempDir()
	folder := filepath.Join(parent, "folder")
	victim := filepath.Join(parent, "victim")
	err := os.WriteFile(victim, []byte("old"), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []string{folder, filepath.Join(folder, "key")} {
		err := os.MkdirAll(filepath.Dir(place), 0o700)
		if err == nil {
			err = os.Link(victim, fmt.Sprint(place, "-", os.Getpid()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}

	err = WriteKeyFile(filepath.Join(folder, "key"), "a-key-0123")
	if err != nil {
		t.Fatal(err)
	}
	left, _ := os.ReadFile(victim)
	compare.Equal(t, "the prepared file", string(left), "old")
	key, _ := os.ReadFile(filepath.Join(folder, "key"))
	compare.Equal(t, "key", string(key), "a-key-0123")
}
