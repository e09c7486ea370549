package service

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// With a key from a file the previous one still opens ids.
func TestKeyring(t *testing.T) {
	const first = "sk-the-first-key-of-a-file"
	const second = "sk-the-second-key-of-a-file"
	k := newKeyring(first)

	for _, tt := range []struct {
		name, key string
		want      []string
	}{
		{"changed", second, []string{second, first}},
		{"the same", second + "\n", []string{second, first}}, // as after a broken file
		{"too short", "sk-short", []string{second, first}},
		{"changed again", first, []string{first, second}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			k.add(tt.key)
			compare.Equal(t, "keys", k.list(), tt.want)
		})
	}
}
