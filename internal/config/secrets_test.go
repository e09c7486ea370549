package config

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestHeaders(t *testing.T) {
	c, warnings, err := Load(write(t, `openai:
  headers:
    api-key: ${AZURE_KEY}
    X-Team: "Token ${TEAM}"
    X-Missing: ${NOT_THERE}
    X-None: null
    X-Title: My reports
    X-Count: 5
`), []string{"AZURE_KEY=azure-secret", "TEAM= team-secret ", "OPENAI_API_KEY=sk-of-another-service"})
	want := []any{
		map[string]string{"api-key": "azure-secret", "X-Team": "Token team-secret", "X-Title": "My reports", "X-Count": "5"},
		[]string{"NOT_THERE", "TEAM"},
		[]string{file + ":2: openai.headers: NOT_THERE is not set: X-Missing is not sent"},
	}
	if diff := cmp.Diff(want, []any{c.SentHeaders, c.HeaderVariables, warnings}); diff != "" || err != nil {
		t.Errorf("Load(): %v, headers, variables and warnings (-want +got):\n%s", err, diff)
	}
	for _, secret := range []string{"sk-of-another-service", "team-secret", "azure-secret"} {
		if !slices.Contains(c.Secrets, secret) {
			t.Errorf("Secrets = %q lacks %q", c.Secrets, secret)
		}
		if shown := string(c.Show("1")) + fmt.Sprintf("%v %+v %#v", c, *c, *c); strings.Contains(shown, secret) {
			t.Errorf("%s is shown:\n%s", secret, shown)
		}
	}
}

// A header with a credential keeps the API key back, even if its variable is not set.
func TestKey(t *testing.T) {
	const key = "OPENAI_API_KEY=sk-key"
	for _, tt := range []struct {
		openai   string
		environ  []string
		variable string
		key      string
		set      bool
	}{
		{"{}", nil, "OPENAI_API_KEY", "", false},
		{"{}", []string{"OPENAI_API_KEY= sk-key "}, "OPENAI_API_KEY", "sk-key", true},
		{"{api_key_env: MY_KEY}", []string{key, "MY_KEY=mine"}, "MY_KEY", "mine", true},
		{"{headers: {X-Team: '${TEAM}'}}", []string{key, "TEAM=t"}, "OPENAI_API_KEY", "sk-key", true},
		{"{headers: {X-Team: '${TEAM}'}}", []string{"TEAM=t"}, "OPENAI_API_KEY", "", false},
		{"{headers: {API-Key: '${AZURE}'}}", []string{"AZURE=a"}, "AZURE", "", true},
		{"{headers: {API-Key: '${AZURE}'}}", []string{key, "AZURE=a"}, "AZURE", "", true},
		{"{headers: {API-Key: '${AZURE}'}}", []string{key}, "AZURE", "", false},
		{"{headers: {authorization: 'Bearer ${TOKEN}', api-key: '${AZURE}'}}", []string{"TOKEN=t"}, "TOKEN", "", true},
	} {
		c, _, err := Load(write(t, "openai: "+tt.openai), tt.environ)
		if err != nil {
			t.Fatal(err)
		}
		if c.KeyEnv != tt.variable || c.APIKey != tt.key || c.KeySet != tt.set {
			t.Errorf("%s with %q: %q, %q, %v, want %q, %q, %v", tt.openai, tt.environ, c.KeyEnv, c.APIKey, c.KeySet, tt.variable, tt.key, tt.set)
		}
	}
}

// The passwords in the URLs that the program uses are secrets, even if net/http cannot parse one.
func TestPasswords(t *testing.T) {
	for variable, want := range map[string][]string{
		"OPENAI_BASE_URL=https://me:hunter2@h.example/v1?api-key=q1w2e3&v=1": {"hunter2", "q1w2e3"},
		"OPENAI_BASE_URL=https://tok%40en@h.example/v1":                      {"tok%40en", "tok@en"},
		"HTTPS_PROXY=http://me:hunter2@proxy.example:3128":                   {"hunter2"},
		"https_proxy=me:hun/ter2@proxy.example:3128":                         {"hun/ter2"},
		"HTTP_PROXY=http://me:hun ter?2@proxy.example":                       {"hun ter?2"},
	} {
		got := mustLoad(t, Flags{}, variable).Secrets
		got = slices.Compact(slices.DeleteFunc(got, func(s string) bool { return s == "" }))
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: Secrets (-want +got):\n%s", variable, diff)
		}
	}
}
