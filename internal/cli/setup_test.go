package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
)

// secret is a key that no output may have.
const secret = "sk-canary-4fQp0Zk2Wm81"

// setupRun runs setup as a user with a key would.
func setupRun(t *testing.T, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	home := t.TempDir()
	env := []string{"HOME=" + home, "USERPROFILE=" + home, "OPENAI_API_KEY=" + secret, "MY_KEY=" + secret}
	code = Run(t.Context(), append([]string{"setup"}, args...), env, strings.NewReader(""), &out, &errs)
	if strings.Contains(out.String()+errs.String(), secret) {
		t.Errorf("setup %q shows the key:\n%s%s", args, &out, &errs)
	}
	return code, out.String(), errs.String()
}

func TestSetup(t *testing.T) {
	for _, c := range clients.All() {
		for _, via := range clients.Ways() {
			code, out, errs := setupRun(t, c.ID, "--via", via)
			if code != exitOK || !strings.Contains(errs, c.Name+" reads ") {
				t.Errorf("setup %s --via %s: exit %d, stderr %q", c.ID, via, code, errs)
			}
			// stdout is a file, whole and nothing else.
			if c.ID != "codex" && !json.Valid([]byte(out)) {
				t.Errorf("setup %s --via %s prints no JSON:\n%s", c.ID, via, out)
			}
			if !strings.Contains(out, `"openai-responses`) && !strings.Contains(out, "[mcp_servers.openai-responses]\n") {
				t.Errorf("setup %s --via %s has no server:\n%s", c.ID, via, out)
			}
		}
	}
}

func TestSetupUsage(t *testing.T) {
	tests := []struct {
		args   []string
		code   int
		stdout string
		stderr string
	}{
		{nil, exitOK, "claude-code      Claude Code", "--via npx|docker|binary"},
		{[]string{"curser"}, exitUsage, "", "did you mean cursor?"},
		{[]string{"--via", "pip", "zed"}, exitUsage, "", `--via "pip" is not one of npx, docker, binary`},
		{[]string{"zed", "--via"}, exitUsage, "", "flag needs an argument"},
		{[]string{"zed", "--vai=npx"}, exitUsage, "", "unknown flag --vai"},
		{[]string{"--via=docker", "zed"}, exitOK, `"docker"`, "docker pull"},
		{[]string{"VS", "Code"}, exitOK, "promptString", "VS Code reads"}, // nobody quotes a name
		{[]string{"--help"}, exitOK, "Usage:", ""},
	}
	for _, tt := range tests {
		code, out, errs := setupRun(t, tt.args...)
		if code != tt.code || !strings.Contains(out, tt.stdout) || !strings.Contains(errs, tt.stderr) {
			t.Errorf("setup %q: exit %d, stdout %q, stderr %q, want %d, %q, %q", tt.args, code, out, errs, tt.code, tt.stdout, tt.stderr)
		}
	}
}

// A client starts the server with the configuration that setup was shown.
func TestSetupConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("openai:\n  api_key_env: MY_KEY\n")
	code, out, _ := setupRun(t, "codex", "--config", file)
	for _, want := range []string{`env_vars = ["MY_KEY"]`, `"--config", "` + file + `"`} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("setup --config: exit %d without %s:\n%s", code, want, out)
		}
	}
	code, out, _ = setupRun(t, "cursor", "--via", "docker", "--config", file)
	for _, want := range []string{"source=" + filepath.Dir(file) + ",target=/config,readonly", "/config/config.yaml", "${env:MY_KEY}"} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("setup --via docker --config: exit %d without %s:\n%s", code, want, out)
		}
	}

	write("openai: [\n")
	code, out, errs := setupRun(t, "cursor", "--config", file)
	if !strings.Contains(out, `"`+file+`"`) {
		t.Errorf("setup with a broken file does not name it:\n%s", out)
	}
	if code != exitOK || !strings.Contains(out, "${env:OPENAI_API_KEY}") || !strings.Contains(errs, "warning: "+file) {
		t.Errorf("setup with a broken file: exit %d, stdout %q, stderr %q", code, out, errs)
	}
}

// What openai.headers takes from the environment is passed on as the key is, by
// every client in every way; so is a variable that this shell does not have.
func TestSetupHeaders(t *testing.T) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	const text = "openai:\n  headers: { api-key: '${MY_KEY}', X-Gateway: 'Bearer ${GATEWAY_TOKEN}' }\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range clients.All() {
		for _, via := range clients.Ways() {
			code, out, errs := setupRun(t, c.ID, "--via", via, "--config", file)
			passed := out
			if c.ID == "zed" { // they are inherited, and the notes say so
				passed = errs
			}
			for _, name := range []string{"MY_KEY", "GATEWAY_TOKEN"} {
				if code != exitOK || !strings.Contains(passed, name) {
					t.Errorf("setup %s --via %s: exit %d without %s:\n%s%s", c.ID, via, code, name, out, errs)
				}
				if via == clients.ViaDocker && !strings.Contains(strings.Join(strings.Fields(out), " "), `"-e", "`+name+`"`) {
					t.Errorf("setup %s --via docker does not pass %s on:\n%s", c.ID, name, out)
				}
			}
			if strings.Contains(out, "OPENAI_API_KEY") {
				t.Errorf("setup %s --via %s passes on a key that is not sent:\n%s", c.ID, via, out)
			}
		}
	}
}

// A file that is not there yet is named all the same, and said to be missing.
func TestSetupMissingConfig(t *testing.T) {
	file := filepath.Join(t.TempDir(), "later.yaml")
	for _, via := range clients.Ways() {
		code, out, errs := setupRun(t, "codex", "--via", via, "--config", file)
		if code != exitOK || !strings.Contains(out, "later.yaml") || !strings.Contains(errs, "warning: --config: "+file+" does not exist") {
			t.Errorf("setup --via %s with a missing file: exit %d, stdout %q, stderr %q", via, code, out, errs)
		}
	}
}
