package config

import (
	"slices"
	"strings"
	"testing"
)

// What is secret in the URLs that the program uses is a secret of the
// configuration, whether the HTTP client can read them or not.
func TestPasswords(t *testing.T) {
	for _, tt := range []struct {
		env  string
		want []string
		not  []string
	}{
		{"OPENAI_BASE_URL=https://me:hunter2@h.example/v1?api-key=q1w2e3&v=1", []string{"me:hunter2", "hunter2", "q1w2e3"}, []string{"1", "v1"}},
		{"OPENAI_BASE_URL=https://tok%40en@h.example/v1", []string{"tok%40en", "tok@en"}, nil},
		{"OPENAI_BASE_URL=https://h.example/@team/v1", nil, []string{"h.example/"}},
		{"HTTPS_PROXY=http://me:hunter2@proxy.example:3128", []string{"hunter2"}, nil},
		{"https_proxy=me:hun/ter2@proxy.example:3128", []string{"hun/ter2"}, nil},
		{"HTTP_PROXY=http://me:hun ter?2@proxy.example", []string{"hun ter?2"}, nil},
		{"ALL_PROXY=socks5://me:hunter2@proxy.example", []string{"hunter2"}, nil},
		{"NO_PROXY=h.example", nil, []string{"h.example"}},
	} {
		got := mustLoad(t, input("", tt.env)).Secrets()
		for _, s := range tt.want {
			if !slices.Contains(got, s) {
				t.Errorf("%s: Secrets() = %q lacks %q", tt.env, got, s)
			}
		}
		for _, s := range tt.not {
			if slices.Contains(got, s) {
				t.Errorf("%s: Secrets() = %q has %q", tt.env, got, s)
			}
		}
	}
}

// A base URL that is none is quoted in the error, without its password.
func TestPasswordOfBrokenURL(t *testing.T) {
	for _, base := range []string{"http://me:hun/ter2@h.example", "me:hunter2@h.example", "http://me:hun ter2@h", "ftp://me:hunter2@h/?k=1", "http://me:hun#ter2@h.example:x"} {
		_, _, err := Load(input("", "OPENAI_BASE_URL="+base))
		if err == nil || strings.Contains(err.Error(), "hun") || strings.Contains(err.Error(), "ter2") {
			t.Errorf("%s: %v", base, err)
		}
	}
}

// A key is known again amid a word and in a shape that nobody expects.
func TestKeyAmidWord(t *testing.T) {
	const key = "0f3c9a77b1de42aa"
	for _, variable := range []string{"MODEL_ANSWER=x" + key, "OPENAI_ORG_ID=" + key, "DEBUG=/tmp/" + key, "SEARCH_MAX_RESULTS=" + key, "ANSWER_EFFORT=" + key} {
		c, warnings, err := Load(input("", variable, "OPENAI_API_KEY="+key))
		said := strings.Join(warnings, "\n")
		if err != nil {
			said += err.Error()
		} else {
			said += string(c.Show("0"))
		}
		if strings.Contains(said, key) {
			t.Errorf("%s: the key is in %s", variable, said)
		}
	}
}

// The key itself in the place of its variable's name is not printed, though it
// could be one. Long names are.
func TestKeyForVariable(t *testing.T) {
	for name, ok := range map[string]bool{
		"gsk_Zq7XbT0wPl94mKfR8uHs": false, "a3f9c01177b1de42": false, "hf_abcdefgh1jklmnopq": false,
		"OPENAI_API_KEY_OF_PROJECT_2026": true, "my_openai_key_2": true, "OPENAIAPIKEY20260001": true,
	} {
		_, _, err := Load(input("openai: {api_key_env: " + name + "}"))
		if (err == nil) != ok || err != nil && strings.Contains(err.Error(), name) {
			t.Errorf("api_key_env: %s: %v, want it taken: %v", name, err, ok)
		}
	}
}
