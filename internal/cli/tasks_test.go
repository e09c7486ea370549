package cli

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
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
func TestSealWithKeyFile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		const first = "sk-the-first-key-of-a-file"
		const second = "sk-the-second-key-of-a-file"
		d := &deps{keyFile: &watchedFile{
			read:    func(string) ([]byte, error) { return []byte(second + "\n"), nil },
			accept:  func([]byte) error { return nil },
			current: newReading([]byte(first), nil),
		}}
		secrets := d.sealWithKey(first)
		check := func(want ...string) {
			t.Helper()

			if diff := cmp.Diff(want, secrets()); diff != "" {
				t.Errorf("secrets (-want +got):\n%s", diff)
			}
		}

		go d.keyFile.follow(ctx)
		check(first)
		time.Sleep(time.Minute)
		check(second, first)

		err := d.keyFile.accept([]byte(second)) // as after a broken file
		if err != nil {
			t.Fatal(err)
		}
		check(second, first)
	})
}
