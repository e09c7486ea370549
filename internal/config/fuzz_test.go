package config

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// canary is the API key of the fuzz targets.
const canary = "sk-do-not-print-0123456789"

// FuzzLoad feeds a file and an environment. Whatever they say, the outcome is
// a configuration that holds its own rules, or one line without the key.
func FuzzLoad(f *testing.F) {
	for _, seed := range [][2]string{
		{"", ""},
		{"policy: {max_citations: 4}", "MAX_CITATIONS=5"},
		{"openai: {base_url: 'http://u:p@h/', api_key: x}", "OPENAI_BASE_URL=https://h"},
		{"model_profiles:\n  answer: &a\n    model: m\n  answer_quick:\n    <<: *a\n", "MODEL_ANSWER=x\nDEBUG=0"},
		{"request: &a {extra_body: {b: *a, c: [1, .inf, 0x1, ~]}}", "OPENAI_API_TIMEOUT=99999999999"},
		{"policy: {search_triggers: [a], system: {source: file}}", "=x\nDEBUG=/x\nMCP_LINE_MODE=1"},
		{"\ufeffserver:\r\n  debug: yes\r\n", "ANSWER_EFFORT=none"},
		{"\xff\xfea\x00", "SEARCH_RECENCY_DAYS=-0"},
		{"? [a]\n: {<<: [*b]}\n---\n- \t", "SEARCH_RECENCY_DAYS=1e400"},
		{"responses: {stream: !!bool true}", "MODEL_QUICK=\x00"},
	} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, yaml, environ string) {
		checkLoad(t, input(yaml, append(strings.Split(environ, "\n"), "OPENAI_API_KEY="+canary)...))
	})
}

// FuzzEnvironment sets any of the variables to anything, over a file that sets
// the same keys. A value of blanks is none; another one is in effect, with its
// variable for its origin, or the error names the variable.
func FuzzEnvironment(f *testing.F) {
	table := reflect.TypeFor[variables]()
	for i := range table.NumField() {
		for _, value := range []string{"1", "gpt-5.2", "low", "x y", " 3 ", "-1", "1e3", "0x10", "\x1b[2J\n", "http://u:p@h/v1?api_key=x", canary, "99999999999999999999", "\u202e", "~"} {
			f.Add(uint8(i), value, uint8(i+1), "medium")
		}
	}
	const file = "request: {timeout_ms: 5000, max_retries: 2}\nopenai: {base_url: 'https://h/v1', organization: o}\n" +
		"model_profiles: {answer: {model: m, reasoning_effort: high}, answer_quick: {model: q}}\npolicy: {max_citations: 4}\n"
	f.Fuzz(func(t *testing.T, first uint8, one string, second uint8, two string) {
		names := []string{table.Field(int(first) % table.NumField()).Tag.Get("env"), table.Field(int(second) % table.NumField()).Tag.Get("env")}
		in := input(file, names[0]+"="+one, names[1]+"="+two, "OPENAI_API_KEY="+canary)
		c := checkLoad(t, in)
		vars := variablesOf(in.Environ, "linux")
		for f := range table.Fields() {
			tag := f.Tag
			name, key := tag.Get("env"), tag.Get("key")
			if _, set := vars[name]; c == nil || key == "" || set == (c.Origin(key) == name) {
				continue
			}
			t.Errorf("%s=%q: the origin of %s is %q", name, vars[name], key, c.Origin(key))
		}
		if c == nil {
			_, _, err := Load(in)
			if e, ok := errors.AsType[*Error](err); !ok || !slices.Contains(names, e.Source) {
				t.Errorf("%q: the error %v names none of them", names, err)
			}
		}
	})
}

// checkLoad loads, and wants what is true of every outcome. It returns nil when
// there was an error.
func checkLoad(t *testing.T, in Input) *Config {
	t.Helper()
	c, warnings, err := Load(in)
	for _, w := range warnings {
		checkLine(t, w)
	}
	if err != nil {
		checkLine(t, err.Error())
		return nil
	}
	checkRules(t, c)
	shown := c.Show("0")
	if !json.Valid(shown) {
		t.Errorf("Show() = %s, want JSON", shown)
	}
	if strings.Contains(string(shown), canary) {
		t.Errorf("Show() has the key")
	}
	return c
}

// checkLine wants one short line without the key.
func checkLine(t *testing.T, s string) {
	t.Helper()
	if s == "" || strings.ContainsAny(s, "\n\r\x00\x1b\u009b\u2028") || len(s) > 2000 {
		t.Errorf("not a line for a person: %q", s)
	}
	if strings.Contains(s, canary) {
		t.Errorf("the key is in %q", s)
	}
}

// checkRules wants what Load promises of a configuration.
func checkRules(t *testing.T, c *Config) {
	t.Helper()
	for _, p := range []Profile{c.ModelProfiles.Answer, c.ModelProfiles.AnswerDetailed, c.ModelProfiles.AnswerQuick} {
		if p.Model == "" || p.ReasoningEffort == "" || p.Verbosity == "" {
			t.Errorf("profile %+v is not resolved", p)
		}
	}
	if n := c.Policy.MaxCitations; n < 1 || n > 10 {
		t.Errorf("max_citations = %d", n)
	}
	if c.Timeout() <= 0 || c.Request.MaxRetries < 0 || c.Search.Defaults.RecencyDays < 0 {
		t.Errorf("timeout %v, retries %d, recency %v", c.Timeout(), c.Request.MaxRetries, c.Search.Defaults.RecencyDays)
	}
	if c.Policy.System.Source == "file" && c.Policy.System.Path == "" {
		t.Errorf("source is file, and there is no path")
	}
}

// BenchmarkLoad is what configuration costs a start.
func BenchmarkLoad(b *testing.B) {
	for name, yaml := range map[string]string{
		"none":  "",
		"small": "model_profiles:\n  answer:\n    model: gpt-5.2\npolicy:\n  max_citations: 4\n",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			in := input(yaml, "HOME=/home/u", "OPENAI_API_KEY=k", "MAX_CITATIONS=4")
			for b.Loop() {
				if _, _, err := Load(in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
