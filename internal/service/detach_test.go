package service

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
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
			k.setCurrent(tt.key)
			compare.Equal(t, "keys", k.sealingKeys(), tt.want)
		})
	}
}

// The flaw of a key is that of the present one in its file.
func TestKeyFlaw(t *testing.T) {
	cfg, _, err := config.Load(config.Flags{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	cfg.APIKeyFile = "key"
	keys := newKeyring("YOUR_KEY")
	s := &Service{effective: cfg, keys: keys}
	s.Getenv = func(string) string { return "" }
	advisor := s.newAdvisor()

	compare.Equal(t, "flaw", advisor.KeyFlaw(), "it is the placeholder of the README")
	keys.setCurrent("sk-the-second-key-of-a-file\n")
	compare.Equal(t, "flaw of another key", advisor.KeyFlaw(), "")
	keys.setCurrent("export OPENAI_API_KEY=sk-a-line-of-a-shell")
	compare.Equal(t, "flaw of a line", advisor.KeyFlaw(), "it begins with the name of a variable and =")
}
