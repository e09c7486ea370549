package config

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	flags := write(t, `openai:
  headers:
    api-key: ${AZURE_KEY}
    X-Team: "Token ${TEAM}"
    X-Missing: ${NOT_THERE}
    X-None: null
    X-Title: My reports
    X-Count: 5
`)
	environ := []string{
		"AZURE_KEY=azure-secret",
		"TEAM= team-secret ",
		"OPENAI_API_KEY=sk-of-another-service",
	}
	wantHeaders := map[string]string{
		"api-key": "azure-secret",
		"X-Team":  "Token team-secret",
		"X-Title": "My reports",
		"X-Count": "5",
	}
	wantVariables := []string{"NOT_THERE", "TEAM"}
	wantWarnings := []string{
		file + ":2: openai.headers: NOT_THERE is not set: X-Missing is not sent",
	}

	c, warnings, err := Load(flags, environ)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantHeaders, c.SentHeaders); diff != "" {
		t.Errorf("SentHeaders (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantVariables, c.HeaderVariables); diff != "" {
		t.Errorf("HeaderVariables (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(wantWarnings, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}

	shown := string(c.Show("1")) + fmt.Sprintf("%v %+v %#v", c, *c, *c)
	for _, secret := range []string{"sk-of-another-service", "team-secret", "azure-secret"} {
		if !slices.Contains(c.Secrets, secret) {
			t.Errorf("Secrets = %q, want %q in it", c.Secrets, secret)
		}
		if strings.Contains(shown, secret) {
			t.Errorf("%s is shown:\n%s", secret, shown)
		}
	}
}

// Whole words of a name tell that a header has a credential, which cannot be literal.
func TestLiteralHeaders(t *testing.T) {
	for name, allowed := range map[string]bool{
		"x-portkey-provider": true,
		"X-Monkey":           true,
		"X-Tokenizer":        true,
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

// A short value is a secret only where it is a key.
func TestShortValues(t *testing.T) {
	for header, want := range map[string]bool{
		"x-portkey-provider: '${V}'": false,
		"x-portkey-api-key: '${V}'":  true,
		"X-Forward: 'Bearer ${V}'":   true,
	} {
		t.Run(header, func(t *testing.T) {
			flags := write(t, "openai: {headers: {"+header+"}}")
			got := slices.Contains(mustLoad(t, flags, "V=openai").Secrets, "openai")
			if got != want {
				t.Errorf("the value is a secret: %t, want %t", got, want)
			}
		})
	}
}

// A header with a credential replaces the API key, even if its variable is not set.
func TestKey(t *testing.T) {
	const team = "{headers: {X-Team: '${TEAM}'}}"
	const azure = "{headers: {API-Key: '${AZURE}'}}"
	const both = "{headers: {authorization: 'Bearer ${TOKEN}', api-key: '${AZURE}'}}"
	const key = "OPENAI_API_KEY=sk-key"
	for _, tt := range []struct {
		name     string
		openai   string
		environ  []string
		variable string
		key      string
		set      bool
	}{
		{"no key", "{}", nil, "OPENAI_API_KEY", "", false},
		{"key", "{}", []string{"OPENAI_API_KEY= sk-key "}, "OPENAI_API_KEY", "sk-key", true},
		{"other variable", "{api_key_env: MINE}", []string{key, "MINE=m"}, "MINE", "m", true},
		{"header", team, []string{key, "TEAM=t"}, "OPENAI_API_KEY", "sk-key", true},
		{"header and no key", team, []string{"TEAM=t"}, "OPENAI_API_KEY", "", false},
		{"api-key", azure, []string{"AZURE=a"}, "AZURE", "", true},
		{"api-key and key", azure, []string{key, "AZURE=a"}, "AZURE", "", true},
		{"api-key that is not set", azure, []string{key}, "AZURE", "", false},
		{"authorization before api-key", both, []string{"TOKEN=t"}, "TOKEN", "", true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, err := Load(write(t, "openai: "+tt.openai), tt.environ)
			if err != nil {
				t.Fatal(err)
			}
			if c.KeyEnv != tt.variable {
				t.Errorf("KeyEnv = %q, want %q", c.KeyEnv, tt.variable)
			}
			if c.APIKey != tt.key {
				t.Errorf("APIKey = %q, want %q", c.APIKey, tt.key)
			}
			if c.KeySet != tt.set {
				t.Errorf("KeySet = %t, want %t", c.KeySet, tt.set)
			}
		})
	}
}

// The file of the key is read. One without a key is no error of the configuration.
func TestKeyFile(t *testing.T) {
	for _, tt := range []struct {
		name    string
		content string
		key     string
		problem string
	}{
		{"key", "sk-key", "sk-key", ""},
		{"blanks around it", "\ufeff\n sk-key\r\n", "sk-key", ""},
		{"empty", " \n", "", "reading the key: key is empty"},
		{"two lines", "sk-key\nsk-other", "", "reading the key: key has more than a key in it"},
		{"UTF-16", "\xff\xfes\x00k\x00", "", "reading the key: key has more than a key in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := write(t, "openai: {api_key_env: MINE}")
			if err := os.WriteFile("key", []byte(tt.content), 0o600); err != nil {
				t.Fatal(err)
			}
			c := mustLoad(t, flags, "MINE_FILE=key", "OPENAI_API_KEY=sk-unused")
			problem := ""
			if c.KeyErr != nil {
				problem = c.KeyErr.Error()
			}
			if problem != tt.problem {
				t.Errorf("KeyErr = %q, want %q", problem, tt.problem)
			}
			if c.APIKey != tt.key {
				t.Errorf("APIKey = %q, want %q", c.APIKey, tt.key)
			}
			if want := tt.key != ""; c.KeySet != want {
				t.Errorf("KeySet = %t, want %t", c.KeySet, want)
			}
			if c.KeyEnv != "MINE_FILE" {
				t.Errorf("KeyEnv = %q, want MINE_FILE", c.KeyEnv)
			}
			isSecret := slices.Contains(c.Secrets, tt.key)
			if tt.key != "" && !isSecret {
				t.Errorf("Secrets = %q, want the key in it", c.Secrets)
			}
		})
	}

	t.Run("home", func(t *testing.T) {
		c := mustLoad(t, write(t, "openai: {}"), "OPENAI_API_KEY_FILE=~/no/such/file")
		if want := filepath.Join("/home/u", "no/such/file"); c.KeyFile != want {
			t.Errorf("KeyFile = %q, want %q", c.KeyFile, want)
		}
		if !errors.Is(c.KeyErr, fs.ErrNotExist) {
			t.Errorf("KeyErr = %v, want %v", c.KeyErr, fs.ErrNotExist)
		}
	})
	t.Run("header in its place", func(t *testing.T) {
		flags := write(t, "openai: {headers: {api-key: '${AZURE}'}}")
		c := mustLoad(t, flags, "OPENAI_API_KEY_FILE=no/such/file", "AZURE=azure")
		if c.KeyEnv != "AZURE" || !c.KeySet || c.KeyErr != nil || c.KeyFile != "" {
			t.Errorf("KeyEnv = %q, KeySet = %t, KeyErr = %v, KeyFile = %q",
				c.KeyEnv, c.KeySet, c.KeyErr, c.KeyFile)
		}
	})
	t.Run("both", func(t *testing.T) {
		environ := []string{"OPENAI_API_KEY=sk-key", "OPENAI_API_KEY_FILE=f"}
		_, _, err := Load(write(t, "openai: {}"), environ)
		const want = "OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set"
		if err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("Load(): %v, want %s", err, want)
		}
	})
}

// The passwords in the URLs that the program uses are secrets, even if net/http cannot parse one.
func TestPasswords(t *testing.T) {
	for _, tt := range []struct {
		name, variable string
		want           []string
	}{
		{
			"password and query",
			"OPENAI_BASE_URL=https://me:hunter2@h.example/v1?api-key=q1w2e3&v=1",
			[]string{"hunter2", "q1w2e3"},
		},
		{
			"encoded user",
			"OPENAI_BASE_URL=https://tok%40en@h.example/v1",
			[]string{"tok%40en", "tok@en"},
		},
		{
			"proxy",
			"HTTPS_PROXY=http://me:hunter2@proxy.example:3128",
			[]string{"hunter2"},
		},
		{
			"no scheme",
			"https_proxy=me:hun/ter2@proxy.example:3128",
			[]string{"hun/ter2"},
		},
		{
			"characters that are not encoded",
			"HTTP_PROXY=http://me:hun ter?2@proxy.example",
			[]string{"hun ter?2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := slices.Compact(mustLoad(t, Flags{}, tt.variable).Secrets)
			got = slices.DeleteFunc(got, func(s string) bool { return s == "" })
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("Secrets (-want +got):\n%s", diff)
			}
		})
	}
}
