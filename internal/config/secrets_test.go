package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A short value is a secret only where it is a key.
func TestHeaders(t *testing.T) {
	flags := write(t, `openai:
  headers:
    api-key: ${AZURE_KEY}
    X-Team: "${TEAM}"
    X-Missing: ${NOT_THERE}
    X-None: null
    X-Title: My reports
    X-Count: 5
    X-Forward: "Bearer ${SHORT_1}"
    x-portkey-api-key: ${SHORT_2}
    x-portkey-provider: ${SHORT_3}
`)
	environ := []string{
		"AZURE_KEY=azure-secret",
		"TEAM= team-secret ",
		"SHORT_1=one",
		"SHORT_2_FILE=c/short",
		"SHORT_3=three",
		"OPENAI_API_KEY=other-secret",
	}

	if err := os.WriteFile("c/short", []byte("two\n"), 0o600); err != nil {
		t.Fatal(err)
	}

	want := []string{
		"map[X-Count:5 X-Forward:Bearer one X-Team:team-secret X-Title:My reports" +
			" api-key:azure-secret x-portkey-api-key:two x-portkey-provider:three]",
		"[NOT_THERE SHORT_1 SHORT_2 SHORT_3 TEAM]",
		"[other-secret one team-secret azure-secret two]",
		"[c/config.yaml:2: openai.headers: NOT_THERE is not set: X-Missing is not sent;" +
			" set it where the client starts the server]",
	}

	c, warnings, err := Load(flags, environ)
	if err != nil {
		t.Fatal(err)
	}

	got := []string{
		fmt.Sprint(c.SentHeaders),
		fmt.Sprint(c.HeaderVariables),
		fmt.Sprint(c.Secrets),
		fmt.Sprint(warnings),
	}

	compare.Equal(t, "headers, variables, secrets and warnings", got, want)
}

// Whole words of a name tell that a header has a credential, which cannot be literal.
func TestLiteralHeaders(t *testing.T) {
	for name, allowed := range map[string]bool{
		"x-portkey-provider": true,
		"x-portkey-api-key":  false,
		"X-Auth-Token":       false,
		"X-ApiKey":           false,
		"client_secret":      false,
		"Key":                false,
		"Cookie":             false,
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(write(t, "openai: {headers: {"+name+": openai}}"), nil)

			if got := err == nil; got != allowed {
				t.Errorf("a literal value is allowed: %t (%v), want %t", got, err, allowed)
			}
		})
	}
}

// The key is in a variable or in a file. A header with a credential replaces it, even if its variable
// is not set. A file without a key is no error of the configuration.
func TestKey(t *testing.T) {
	const (
		azure = "{headers: {API-Key: '${AZURE}'}}"
		both  = "{headers: {authorization: 'Bearer ${TOKEN}', api-key: '${AZURE}'}}"
		mine  = "{api_key_env: MINE}"

		key  = "OPENAI_API_KEY=sk-key"
		file = "OPENAI_API_KEY_FILE=~/key"

		bad   = "reading the key: c/key is empty or has more than a key in it"
		unset = " false <nil>"
		set   = " true <nil>"
	)

	for _, tt := range []struct{ name, openai, environ, content, want string }{
		{
			"no key, Windows", "{}", "APPDATA=c/data", "",
			"OPENAI_API_KEY  c/data/openai-responses-mcp/OPENAI_API_KEY" + unset,
		},
		{"api-key that is not set", azure, key, "", "AZURE  " + unset},
		{"authorization before api-key", both, "TOKEN=t", "", "TOKEN  " + set},

		{"key in a file", mine, "MINE_FILE=c/key", "sk-key", "MINE_FILE sk-key c/key" + set},
		{"blanks", "{}", file, "\ufeff\n sk-key\r\n", "OPENAI_API_KEY_FILE sk-key c/key" + set},
		{"empty file", "{}", file, " \n", "OPENAI_API_KEY_FILE  c/key false " + bad},
		{"long", "{}", file, strings.Repeat("k", 1001), "OPENAI_API_KEY_FILE  c/key false " + bad},
		{"two lines", "{}", file, "sk-a\nsk-b", "OPENAI_API_KEY_FILE  c/key false " + bad},
		{"not ASCII", "{}", file, "sk-ключ", "OPENAI_API_KEY_FILE  c/key false " + bad},
		{"api-key in a file", azure, "AZURE_FILE=c/key", "a", "AZURE_FILE  " + set},
		{"api-key and file", azure, file + " AZURE=a", "", "AZURE  " + set},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := write(t, "openai: "+tt.openai)

			err := os.WriteFile("c/key", []byte(tt.content), 0o600)
			if err != nil {
				t.Fatal(err)
			}

			c, _, err := Load(flags, strings.Fields("HOME=c "+tt.environ))
			if err != nil {
				t.Fatal(err)
			}

			got := fmt.Sprintf("%s %s %s %t %v", c.KeyEnv, c.APIKey, c.KeyFile, c.KeySet, c.KeyErr)
			if filepath.ToSlash(got) != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

// The passwords in the URLs that the program uses are secrets, even if net/http cannot parse one.
func TestPasswords(t *testing.T) {
	const base = "OPENAI_BASE_URL=https://me:hunter2@h.example/v1?api-key=q1w2e3&v=1"

	for variable, want := range map[string]string{
		base: `["" "hunter2" "hunter2" "q1w2e3"]`,
		"OPENAI_BASE_URL=https://tok%40en@h.example:443/v1": `["" "tok%40en" "tok@en"]`,
		"HTTPS_PROXY=http://me:hunter2@proxy.example:3128":  `["" "hunter2" "hunter2"]`,
		"https_proxy=me:hun/ter2@proxy.example:3128":        `["" "hun/ter2" "hun/ter2"]`,
		"HTTP_PROXY=http://me:hun ter?2@proxy.example":      `["" "hun ter?2" "hun ter?2"]`,
		"http_proxy=http://token:@proxy.example":            `["" "token" "token"]`,
	} {
		t.Run(variable, func(t *testing.T) {
			got := fmt.Sprintf("%q", mustLoad(t, Flags{}, variable).Secrets)
			compare.Equal(t, "Secrets", got, want)
		})
	}
}
