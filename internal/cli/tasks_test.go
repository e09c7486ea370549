package cli

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Without a secret for ids the start warns. The key of run has fewer than 24 characters.
func TestTaskWarning(t *testing.T) {
	const inBackground = "model_profiles: {answer_detailed: {background: true}}\n"
	const secrets = "MCP_TASK_SECRETS=0123456789abcdef0123456789abcdef"

	for _, tt := range []struct {
		name   string
		config string
		env    string
		want   int
	}{
		{"neither", inBackground, "", 1},
		{"secrets", inBackground, secrets, 0},
		{
			"a longer key", inBackground + "openai: {api_key_env: OTHER_KEY}\n",
			"OTHER_KEY=sk-0123456789abcdef01234", 0,
		},
		{"no background", "", "", 0},
		{"no tasks", inBackground + "server: {tasks: false}\n", "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := []string{"--stdio", "--config", writeFile(t, tt.config)}
			_, _, stderr := run(t.Context(), []string{tt.env}, strings.NewReader(""), args...)
			n := strings.Count(stderr, "tasks do not outlive the process")

			if n != tt.want {
				t.Errorf("%d warnings, want %d: %s", n, tt.want, stderr)
			}
		})
	}
}

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
