package cli

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

const taskSecret = "0123456789abcdef0123456789abcdef"

// Secrets that cannot be used end the start, and appear in no error.
func TestTaskSecrets(t *testing.T) {
	const list = taskSecretsVariable + "="
	const file = taskSecretsFileVariable + "="
	short := taskSecret[1:]

	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{
			"short", []string{list + taskSecret + "," + short},
			"secret 2 of MCP_TASK_SECRETS has fewer than 32 characters",
		},
		{
			"both", []string{list + taskSecret, file + "file"},
			"MCP_TASK_SECRETS and MCP_TASK_SECRETS_FILE are both set",
		},
		{"no file", []string{file + "no/such/file"}, "reading the secrets of tasks: stat "},
	} {
		for _, command := range []string{"--stdio", "serve --http 127.0.0.1:0"} {
			t.Run(tt.name+" "+command, func(t *testing.T) {
				words := strings.Fields(command)
				code, _, stderr := run(t.Context(), tt.env, strings.NewReader(""), words...)
				if code != exitUsage {
					t.Errorf("exit code %d, want %d", code, exitUsage)
				}
				if !strings.Contains(stderr, tt.want) {
					t.Errorf("stderr: %s, want %s", stderr, tt.want)
				}
				if strings.Contains(stderr, short) {
					t.Errorf("stderr has the secret: %s", stderr)
				}
			})
		}
	}
}

// Without a secret for ids the start warns. The key of run has fewer than 24 characters.
func TestTaskWarning(t *testing.T) {
	const inBackground = "model_profiles: {answer_detailed: {background: true}}\n"
	for _, tt := range []struct {
		name   string
		config string
		env    []string
		want   int
	}{
		{"neither", inBackground, nil, 1},
		{"secrets", inBackground, []string{taskSecretsVariable + "=" + taskSecret}, 0},
		{
			"a longer key", inBackground + "openai: {api_key_env: OTHER_KEY}\n",
			[]string{"OTHER_KEY=sk-0123456789abcdef01234"}, 0,
		},
		{"no background", "", nil, 0},
		{"no tasks", inBackground + "server: {tasks: false}\n", nil, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "config.yaml")
			if err := os.WriteFile(file, []byte(tt.config), 0o600); err != nil {
				t.Fatal(err)
			}

			args := []string{"--stdio", "--config", file}
			code, _, stderr := run(t.Context(), tt.env, strings.NewReader(""), args...)
			if code != exitOK {
				t.Errorf("exit code %d, want %d: %s", code, exitOK, stderr)
			}
			n := strings.Count(stderr, "warning: tasks do not outlive the process")
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
			read:    func() ([]byte, error) { return []byte(second + "\n"), nil },
			accept:  func([]byte) error { return nil },
			current: newReading([]byte(first), nil),
		}}
		secrets := d.sealWithKey(first)
		go d.keyFile.follow(ctx, nil)

		if diff := cmp.Diff([]string{first}, secrets()); diff != "" {
			t.Errorf("secrets (-want +got):\n%s", diff)
		}
		time.Sleep(time.Minute)
		if diff := cmp.Diff([]string{second, first}, secrets()); diff != "" {
			t.Errorf("secrets after a change (-want +got):\n%s", diff)
		}

		err := d.keyFile.accept([]byte(second)) // as after a broken file
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{second, first}, secrets()); diff != "" {
			t.Errorf("secrets after the same key (-want +got):\n%s", diff)
		}
	})
}
