package config

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestYAMLFine lists unusual files that all set max_citations to 4.
func TestYAMLFine(t *testing.T) {
	for name, yaml := range map[string]string{
		"block":            "policy:\n  max_citations: 4\n",
		"flow":             "{policy: {max_citations: 4}}",
		"JSON":             `{"policy": {"max_citations": 4}}`,
		"CRLF":             "policy:\r\n  max_citations: 4\r\n",
		"BOM":              "\ufeffpolicy: {max_citations: 4}",
		"document markers": "%YAML 1.1\n---\npolicy: {max_citations: 4}\n...\n",
		"hexadecimal":      "policy: {max_citations: 0x4}",
		"nulls":            "request: null\nserver:\nsearch: ~\nopenai: {base_url: null, project: }\npolicy: {max_citations: 4, system: {path: null}}\nmodel_profiles: {answer: {model: null}}",
		"quoted key":       "'policy': {\"max_citations\": 4}",
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(4, mustLoad(t, input(yaml)).Policy.MaxCitations); diff != "" {
				t.Errorf("Load(%q) (-want +got):\n%s", yaml, diff)
			}
		})
	}
}

// TestYAMLNothing lists files without keys.
func TestYAMLNothing(t *testing.T) {
	for _, yaml := range []string{"", "\n\n", "{}", "# only\n# comments\n", "\ufeff", "null", "~", "---\n", "policy:\nserver: {}\n"} {
		c := mustLoad(t, input(yaml))
		if c.Policy.MaxCitations != 3 || c.File != "/etc/c/config.yaml" {
			t.Errorf("Load(%q): max_citations = %d, File() = %q", yaml, c.Policy.MaxCitations, c.File)
		}
	}
}

func TestBooleans(t *testing.T) {
	for word, want := range map[string]bool{
		"true": true, "True": true, "TRUE": true, "yes": true, "on": true, "!!bool true": true,
		"false": false, "no": false, "off": false,
	} {
		if c := mustLoad(t, input("server: {debug: "+word+"}")); c.Server.Debug != want {
			t.Errorf("debug: %s = %v, want %v", word, c.Server.Debug, want)
		}
	}
}

func TestIgnoredKeys(t *testing.T) {
	_, warnings, err := Load(input(`openai:
  model: {default: gpt-4, profiles: [1, {deep: ~}]}
responses: {json_mode: true}
policy:
  search_triggers: ["today"]
  prefer_search_when_unsure: true
  require_dates_iso: yes
  system: {path: p.md}
server: {transport: stdio}
`))
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"2: openai.model: ignored: models are set in model_profiles",
		"3: responses.json_mode: ignored: the output format is fixed",
		"5: policy.search_triggers: ignored: the model decides when to search",
		"6: policy.prefer_search_when_unsure: ignored: the model decides when to search",
		"7: policy.require_dates_iso: ignored: dates are always in ISO format",
		"9: server.transport: ignored: flags choose the transport",
		"8: policy.system.path: not used while policy.system.source is builtin",
	}
	for i := range want {
		want[i] = "/etc/c/config.yaml:" + want[i]
	}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// TestExtraBody checks that what YAML says arrives as the same JSON.
func TestExtraBody(t *testing.T) {
	c := mustLoad(t, input(`request:
  extra_body:
    service_tier: flex
    max_output_tokens: 4096
    temperature: 0.5
    big: 12345678901234567890
    hex: 0x10
    yes: on
    none: null
    5: five
    nested: &n {a: [1, two, true, [], {}]}
    again: {<<: *n, b: *n}
`))
	got, err := json.Marshal(c.Request.ExtraBody)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"5":"five","again":{"a":[1,"two",true,[],{}],"b":{"a":[1,"two",true,[],{}]}},"big":12345678901234567890,"hex":16,"max_output_tokens":4096,"nested":{"a":[1,"two",true,[],{}]},"none":null,"service_tier":"flex","temperature":0.5,"yes":"on"}`
	if string(got) != want {
		t.Errorf("extra_body = %s\nwant %s", got, want)
	}
}

// TestBombs loads files that expand without bound.
func TestBombs(t *testing.T) {
	var doubling, merging strings.Builder
	doubling.WriteString("request:\n  extra_body:\n    a0: &a0 [x, x]\n")
	merging.WriteString("request:\n  extra_body:\n    a0: &a0 {}\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&doubling, "    a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
		fmt.Fprintf(&merging, "    a%d: &a%d {<<: [*a%d, *a%d]}\n", i, i, i-1, i-1)
	}
	for name, yaml := range map[string]string{
		"doubling":            doubling.String(),
		"doubling merges":     merging.String(),
		"list within itself":  "request: {extra_body: {a: &a [*a, *a]}}",
		"body within itself":  "request: {extra_body: &a {b: *a, c: *a}}",
		"deeper than allowed": strings.Repeat("[", 100_000),
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := Load(input(yaml))
			if err == nil {
				t.Fatal("fine, want an error")
			}
			if s := err.Error(); len(s) > 300 || !strings.HasPrefix(s, "/etc/c/config.yaml:") {
				t.Errorf("Load() = %s", s)
			}
		})
	}
}
