package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
)

var update = flag.Bool("update", false, "rewrite config/config.schema.json and the goldens")

const (
	schemaFile  = "../../config/config.schema.json"
	exampleFile = "../../config/config.yaml.example"
	policyFile  = "../../config/policy.md.example"
)

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; go test ./internal/config -update writes it", err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")) // a checkout on Windows
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s is not what the code says; go test ./internal/config -update rewrites it (-file +code):\n%s", file, diff)
	}
}

func TestSchemaFile(t *testing.T) {
	golden(t, schemaFile, schema())
}

// TestSchemaAgrees tries every bound and every word of the schema on Load, so
// that an editor and the program say the same about a file.
func TestSchemaAgrees(t *testing.T) {
	try := func(key string, value any, fine bool) {
		t.Helper()
		literal, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		doc := string(literal)
		parts := strings.Split(key, ".")
		for _, part := range slices.Backward(parts) {
			doc = fmt.Sprintf("{%q: %s}", part, doc)
		}
		if key == "policy.system.source" {
			doc = fmt.Sprintf(`{"policy": {"system": {"source": %s, "path": "p.md"}}}`, literal)
		}
		if _, _, err := Load(input(doc)); (err == nil) != fine {
			t.Errorf("%s = %s: %v, the schema says fine = %v", key, literal, err, fine)
		}
	}
	var walk func(path string, s map[string]any)
	walk = func(path string, s map[string]any) {
		if properties, ok := s["properties"].(map[string]any); ok {
			if s["additionalProperties"] != false {
				t.Errorf("%s: additionalProperties is not false", path)
			}
			try(join(path, "no_such_key"), 1, false)
			for name, p := range properties {
				walk(join(path, name), p.(map[string]any))
			}
			return
		}
		if s["description"] == "" || s["description"] == nil {
			t.Errorf("%s has no description", path)
		}
		try(path, nil, true)
		if s["deprecated"] == true {
			try(path, map[string]any{"any": "thing"}, true)
			return
		}
		if _, ok := s["default"]; !ok {
			t.Errorf("%s has no default", path)
		}
		try(path, s["default"], true)
		words, _ := s["enum"].([]any)
		for _, word := range words {
			try(path, word, true)
		}
		if low, ok := s["minimum"].(float64); ok {
			try(path, low, true)
			try(path, low-1, false)
		}
		if high, ok := s["maximum"].(float64); ok {
			try(path, high, true)
			try(path, high+1, false)
		}
		try(path, []any{map[string]any{}}, false) // fits no key
	}
	var root map[string]any
	if err := json.Unmarshal(schema(), &root); err != nil {
		t.Fatal(err)
	}
	walk("", root)
}

func TestKeys(t *testing.T) {
	withEnv := 0
	for _, k := range Keys() {
		if k.Doc == "" {
			t.Errorf("%s has no description", k.Path)
		}
		if (k.Type == "") != (k.Section || k.Ignored != "") {
			t.Errorf("%s: Type = %q, Section = %v, Ignored = %q", k.Path, k.Type, k.Section, k.Ignored)
		}
		if k.Env != "" {
			withEnv++
		}
	}
	// LineMode has no key, and DEBUG has two.
	if want := reflect.TypeFor[variables]().NumField(); withEnv != want {
		t.Errorf("%d keys have a variable, want %d: does a key in the table of variables not exist?", withEnv, want)
	}
	for i, want := range []Key{
		{Path: "openai", Section: true, Doc: "How the OpenAI API is reached."},
		{Path: "openai.api_key_env", Type: "string", Default: "OPENAI_API_KEY"},
	} {
		got := Keys()[i]
		if got.Path != want.Path || got.Type != want.Type || got.Default != want.Default || got.Section != want.Section {
			t.Errorf("Keys()[%d] = %+v, want %+v", i, got, want)
		}
	}
}

// TestExample loads the example: the defaults, plus the two profiles that it
// says differ, and every key there is.
func TestExample(t *testing.T) {
	data, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(data), "\n")
	if want := "# yaml-language-server: $schema=" + schemaID; strings.TrimSpace(first) != want {
		t.Errorf("first line = %q, want %q", first, want)
	}
	want := defaults()
	want.ModelProfiles.AnswerDetailed = Profile{Model: "gpt-5.2", ReasoningEffort: "high", Verbosity: "high"}
	want.ModelProfiles.AnswerQuick = Profile{Model: "gpt-5.2", ReasoningEffort: "low", Verbosity: "low"}
	want.OpenAI.Headers = map[string]string{}
	want.Request.ExtraBody = map[string]any{}
	want.Search.Defaults.Domains = []string{}
	if diff := cmp.Diff(want, mustLoad(t, input(string(data))), exported); diff != "" {
		t.Errorf("example (-want +got):\n%s", diff)
	}

	var doc map[string]any
	if err := yaml.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, k := range Keys() {
		at := any(doc)
		for name := range strings.SplitSeq(k.Path, ".") {
			section, _ := at.(map[string]any)
			value, ok := section[name]
			if !ok && k.Ignored == "" {
				t.Errorf("the example has no %s", k.Path)
			}
			at = value
		}
		if k.Env != "" && !strings.Contains(string(data), k.Env) {
			t.Errorf("the example does not name %s", k.Env)
		}
	}
}

func TestPolicyExample(t *testing.T) {
	data, err := os.ReadFile(policyFile)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.TrimSpace(data)) < 200 {
		t.Errorf("%s is no example", policyFile)
	}
}

// TestShow holds --show-config to a golden with something from every source
// and a secret in every place that can have one.
func TestShow(t *testing.T) {
	in := input(`
openai:
  base_url: "https://user:hunter2@gw.example/v1?api-version=1&api_key=hunter2"
  project: p
  headers: {X-Team: "Token ${TEAM_TOKEN}"}
request:
  extra_body: {service_tier: flex, prompt_cache_key: k, max_output_tokens: 9, metadata: {client_secret: hunter2, list: [sk-hunter2hunter2]}}
responses: {stream: false}
model_profiles: {answer_quick: {verbosity: low}}
policy: {system: {source: file, path: p.md, merge: append}}
search: {defaults: {domains: [a.example, "<b>&c"]}, user_location: {country: JP}}
`, "OPENAI_API_KEY=sk-hunter2-the-key", "MAX_CITATIONS=5", "DEBUG=/tmp/d.log", "TEAM_TOKEN=hunter2-team", "MCP_LINE_MODE=1", "PATH=/bin", "MODEL_QUICK=")
	in.Flags.Model = "gpt-6"
	c := mustLoad(t, in)
	got := c.Show("9.9.9")
	if bytes.Contains(got, []byte("hunter2")) {
		t.Errorf("Show() has a secret:\n%s", got)
	}
	if text := fmt.Sprintf("%+v %#v", c, *c); strings.Contains(text, c.APIKey()) {
		t.Errorf("fmt prints the key: %s", text)
	}
	golden(t, "testdata/show.json", got)
	if again := mustLoad(t, in).Show("9.9.9"); !bytes.Equal(got, again) {
		t.Errorf("Show() differs from one time to the next")
	}
}

func TestShowDefaults(t *testing.T) {
	golden(t, "testdata/show-defaults.json", mustLoad(t, Input{GOOS: "linux"}).Show("9.9.9"))
}

func TestRedact(t *testing.T) {
	for in, want := range map[string]string{
		"sk-abcdef1":                "[redacted]",
		"a sk-proj-a_b-c1234 b":     "a [redacted] b",
		"sk-1, sk-abcdefg":          "sk-1, [redacted]",
		"task-management ask-later": "task-management ask-later",
		"sk-":                       "sk-",
		"":                          "",
	} {
		if got := redact(in); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
	for in, want := range map[string]string{
		"https://api.openai.com/v1":      "https://api.openai.com/v1",
		"https://u:p@h:1/v1?a=1&token=2": "https://[redacted]@h:1/v1?a=1&token=[redacted]",
		"http://u:p@@h":                  "http://[redacted]@h",
		"u:p@h/x":                        "[redacted]@h/x",
		"https://h/v1@2?sig=a#f":         "https://h/v1@2?sig=[redacted]#f",
		"https://h?key":                  "https://h?key",
	} {
		if got := redactURL(in); got != want {
			t.Errorf("redactURL(%q) = %q, want %q", in, got, want)
		}
	}
}
