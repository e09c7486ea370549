package main_test

import (
	"os/exec"
	"strings"
	"testing"
)

// A key that stands where it does not belong is named as wrong, or used, and
// never printed: neither by the error nor by what shows the configuration.
func TestMisplacedKey(t *testing.T) {
	t.Parallel()
	const compatible = "gsk_Zq7XbT0wPl94mKfR8uHsV2dY6gNc3J" // could be the name of a variable
	tests := []struct{ name, file, env, flag string }{
		{name: "unknown key", file: "openai: {api_key: KEY}"},
		{name: "as the variable", file: "openai: {api_key_env: KEY}"},
		{name: "as the section", file: "openai: KEY"},
		{name: "as a key", file: "KEY: x"},
		{name: "as a key twice", file: "openai: {KEY: 1, KEY: 2}"},
		{name: "as the base URL", file: "openai: {base_url: KEY}"},
		{name: "in the base URL", file: "openai: {base_url: 'https://KEY@127.0.0.1:1/v1'}"},
		{name: "as a password of no URL", file: "openai: {base_url: 'https://me:KEY/x@127.0.0.1:x'}"},
		{name: "in its query", file: "openai: {base_url: 'http://127.0.0.1:1/v1?api_key=KEY'}"},
		{name: "as the organization", file: "openai: {organization: KEY}"},
		{name: "as a header", file: "openai: {headers: {X-Key: KEY}}"},
		{name: "as a header's name", file: "openai: {headers: {KEY: '${X}'}}"},
		{name: "as headers", file: "openai: {headers: KEY}"},
		{name: "in a header's variable", file: "openai: {headers: {X-Key: '${KEY}'}}"},
		{name: "as the model", file: "model_profiles: {answer: {model: KEY}}"},
		{name: "as the effort", file: "model_profiles: {answer: {reasoning_effort: KEY}}"},
		{name: "as a number", file: "request: {timeout_ms: KEY}"},
		{name: "in the extra body", file: "request: {extra_body: {KEY: {a: [KEY]}, api_key: x KEY}}"},
		{name: "as a domain", file: "search: {defaults: {domains: [KEY, {KEY: 1}]}}"},
		{name: "as the policy", file: "policy: {system: {source: file, path: KEY}}"},
		{name: "as the city", file: "search: {user_location: {city: KEY, country: KEY}}"},
		{name: "in broken YAML", file: "openai: [KEY"},
		{name: "as an anchor", file: "openai: &KEY {a: *KEY}"},
		{name: "as a tag", file: "openai: !KEY x"},
		{name: "as an alias", file: "openai: *KEY"},
		{name: "as the file", file: "KEY"},
		{name: "MODEL_ANSWER", env: "MODEL_ANSWER=KEY"},
		{name: "amid MODEL_QUICK", env: "MODEL_QUICK=xKEY"},
		{name: "OPENAI_ORG_ID", env: "OPENAI_ORG_ID=KEY"},
		{name: "ANSWER_EFFORT", env: "ANSWER_EFFORT=KEY"},
		{name: "OPENAI_API_TIMEOUT", env: "OPENAI_API_TIMEOUT=KEY"},
		{name: "MAX_CITATIONS", env: "MAX_CITATIONS=KEY"},
		{name: "OPENAI_BASE_URL", env: "OPENAI_BASE_URL=KEY"},
		{name: "HTTP_PROXY", env: "HTTP_PROXY=http://me:KEY/x@127.0.0.1:1"},
		{name: "HTTPS_PROXY", env: "HTTPS_PROXY=http://KEY@127.0.0.1:1"},
		{name: "SSL_CERT_FILE", env: "SSL_CERT_FILE=/KEY"},
		{name: "--model", flag: "--model=KEY"},
		{name: "--config", flag: "--config=KEY"},
		{name: "a flag", flag: "--KEY"},
	}
	for _, key := range []string{canaryKey, compatible} {
		for _, tt := range tests {
			t.Run(key[:3]+" "+tt.name, func(t *testing.T) {
				t.Parallel()
				put := func(s string) string { return strings.ReplaceAll(s, "KEY", key) }
				c := &client{t: t, home: t.TempDir()}
				c.write(".config/openai-responses-mcp/config.yaml", put(tt.file))
				for _, known := range []string{"", key} { // the one that is not known has to have a shape
					if known == "" && (key == compatible && tt.name != "as the variable" || strings.HasPrefix(tt.name, "amid")) {
						continue
					}
					env := environment(c.home, "OPENAI_API_KEY="+known, "OPENAI_BASE_URL="+nowhere, "OPENAI_MAX_RETRIES=0", "DEBUG=1")
					if tt.file != "" && strings.Contains(tt.file, "base_url") {
						env = environment(c.home, "OPENAI_API_KEY="+known, "OPENAI_MAX_RETRIES=0", "DEBUG=1")
					}
					env = append(env, put(tt.env))
					for _, args := range [][]string{{"--show-config"}, {"ask"}, {"doctor"}, {"setup", "cursor"}} {
						if args[0] == "setup" && tt.name == "--config" {
							continue // the snippet has the file that it was told of
						}
						if tt.flag != "" {
							args = append(args, put(tt.flag))
						}
						if args[0] == "ask" {
							args = append(args, "x")
						}
						ran(t, env, c.home, "", args...)
					}
				}
			})
		}
	}
}

// A key without a shape that is an argument is known by the variable that holds
// it, whichever that is.
func TestMisplacedKeyOfOtherVariable(t *testing.T) {
	t.Parallel()
	const shapeless = "correct-horse-battery-staple"
	for _, args := range [][]string{{"--" + shapeless}, {shapeless}, {"OPENAI_API_KEY=" + shapeless}, {"--config=" + shapeless, "--show-config"}, {"setup", shapeless}, {"ask", "--" + shapeless}} {
		home := t.TempDir()
		cmd := exec.CommandContext(t.Context(), binary, args...)
		cmd.Env = environment(home, "AZURE_OPENAI_API_KEY="+shapeless)
		out, _ := cmd.CombinedOutput() // how it ends is for others to say
		if len(out) == 0 || strings.Contains(string(out), shapeless) {
			t.Errorf("%q printed %q", args, out)
		}
	}
}

// What setup prints for a client names the variables and no more.
func TestSetupPrintsNoSecret(t *testing.T) {
	t.Parallel()
	c := &client{t: t, home: t.TempDir()}
	c.write(".config/openai-responses-mcp/config.yaml", canaryFile)
	env := environment(c.home, "OPENAI_API_KEY="+canaryKey, "TEAM_TOKEN="+canaryTeam, "OPENAI_BASE_URL="+canaryBase, "HTTPS_PROXY="+proxyUser+"127.0.0.1:1")
	list, _ := ran(t, env, c.home, "", "setup")
	for line := range strings.Lines(list) {
		for _, via := range []string{"npx", "docker", "binary"} {
			out, _ := ran(t, env, c.home, "", "setup", strings.Fields(line)[0], "--via", via)
			if !strings.Contains(out, "openai-responses-mcp") {
				t.Errorf("setup of %s printed %s", line, out)
			}
		}
	}
}
