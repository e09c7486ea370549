package config

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/sjson"
)

var update = flag.Bool("update", false, "rewrite the schema, the reference page and testdata")

const (
	exampleFile   = "../../config/config.yaml.example"
	referenceFile = "../../docs/reference/config-reference.md"
	schemaID      = "https://raw.githubusercontent.com/uchimanajet7/openai-responses-mcp/main/config/config.schema.json"
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
		t.Errorf("%s is out of date; go test ./internal/config -update rewrites it (-file +code):\n%s", file, diff)
	}
}

// variable returns the variable of a key, or "".
func variable(f field) string {
	if f.key == "server.debug_file" {
		return "DEBUG"
	}
	return f.variable
}

// TestSchema generates the JSON Schema (draft 2020-12) of the file.
func TestSchema(t *testing.T) {
	doc := []byte(`{
		"$schema": "https://json-schema.org/draft/2020-12/schema",
		"$id": "` + schemaID + `",
		"title": "openai-responses-mcp configuration",
		"description": "config.yaml of openai-responses-mcp. Every key is optional, and null stands for its default.",
		"type": "object",
		"additionalProperties": false
	}`)
	set := func(path string, v any) { doc, _ = sjson.SetBytes(doc, path, v) }
	kinds := map[reflect.Kind]string{reflect.Bool: "boolean", reflect.Int: "integer", reflect.Float64: "number", reflect.String: "string", reflect.Slice: "array", reflect.Map: "object"}
	place := func(key string) string { return "properties." + strings.ReplaceAll(key, ".", ".properties.") + "." }
	for _, f := range fields(field{value: reflect.ValueOf(defaults()).Elem()}) {
		tag, at := f.Tag, place(f.key)
		doc := tag.Get("doc")
		if name := variable(f); name != "" {
			doc += " Environment: " + name + "."
		}
		set(at+"description", doc)
		if f.section() {
			set(at+"type", []string{"object", "null"})
			set(at+"additionalProperties", false)
			continue
		}
		if words := tag.Get("enum"); words != "" {
			list := `["` + strings.ReplaceAll(words, "|", `", "`) + `", null]`
			// YAML reads true and false as booleans.
			set(at+"enum", json.RawMessage(strings.NewReplacer(`"true"`, "true", `"false"`, "false").Replace(list)))
		} else {
			set(at+"type", []string{kinds[f.Type.Kind()], "null"})
		}
		if p := formats[tag.Get("format")].pattern; p != nil {
			set(at+"pattern", p.String())
		}
		for _, bound := range []string{"min", "max"} {
			if limit := tag.Get(bound); limit != "" {
				set(at+bound+"imum", json.Number(limit))
			}
		}
		switch tag.Get("format") {
		case "headers":
			set(at+"propertyNames.pattern", headerName.String())
			set(at+"additionalProperties.type", []string{"string", "number", "boolean", "null"})
		case "hosts":
			set(at+"items.type", "string")
			set(at+"items.minLength", 1)
		}
		set(at+"default", effective(f))
	}
	for _, key := range slices.Sorted(maps.Keys(ignored)) {
		at := place(key)
		set(at+"description", "Ignored: "+ignored[key]+".")
		set(at+"deprecated", true)
	}
	var b bytes.Buffer
	err := json.Indent(&b, doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../config/config.schema.json", append(b.Bytes(), '\n'))
}

// TestReference generates the tables between the marks of the page.
func TestReference(t *testing.T) {
	parts := map[string]string{"variables": "| Variable | Key |\n|---|---|\n", "ignored": "| Key | Why |\n|---|---|\n"}
	flags := map[string]string{"model_profiles.answer.model": "--model", "server.debug": "--debug", "server.debug_file": "--debug"}
	table := false
	for _, f := range fields(field{value: reflect.ValueOf(defaults()).Elem()}) {
		doc, name := f.Tag.Get("doc"), variable(f)
		if f.section() {
			parts["keys"] += fmt.Sprintf("\n### %s\n\n%s\n", f.key, doc)
			table = false
			continue
		}
		if !table {
			parts["keys"] += "\n| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n"
			table = true
		}
		also := strings.Join(strings.Fields(flags[f.key]+" "+name), "`, `")
		if also != "" {
			doc += " Also `" + also + "`."
		}
		value, _ := json.Marshal(effective(f)) // the page shows it
		parts["keys"] += fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", f.key, strings.Trim(string(value), `"`), allowed(f), doc)
		if name != "" {
			parts["variables"] += fmt.Sprintf("| `%s` | `%s` |\n", name, f.key)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(ignored)) {
		parts["ignored"] += fmt.Sprintf("| `%s` | %s |\n", key, ignored[key])
	}
	page, err := os.ReadFile(referenceFile)
	if err != nil {
		t.Fatal(err)
	}
	want := string(page)
	for part, text := range parts {
		before, rest, ok := strings.Cut(want, "<!-- generated: "+part+" -->\n")
		_, after, closed := strings.Cut(rest, "<!-- end -->\n")
		if !ok || !closed {
			t.Fatalf("%s has no place for %s", referenceFile, part)
		}
		want = before + "<!-- generated: " + part + " -->\n\n" + strings.TrimPrefix(text, "\n") + "\n<!-- end -->\n" + after
	}
	golden(t, referenceFile, []byte(want))
}

// TestShow loads something from every layer, and a secret wherever there can be one.
func TestShow(t *testing.T) {
	got := mustLoad(t, Flags{Config: new("testdata/show.yaml"), Model: new("gpt-6")},
		"OPENAI_API_KEY=sk-hunter2-the-key", "MAX_CITATIONS=5", "DEBUG=/tmp/d.log", "TEAM_TOKEN=hunter2-team", "MCP_LINE_MODE=1", "PATH=/bin", "MODEL_QUICK=").Show("9.9.9")
	if bytes.Contains(got, []byte("hunter2")) {
		t.Errorf("Show() has a secret:\n%s", got)
	}
	golden(t, "testdata/show.json", got)
}

// FuzzLoad loads a file. Load never panics, and the result is a configuration with whole profiles, or
// problems that name their source and do not contain the API key.
func FuzzLoad(f *testing.F) {
	const key = "sk-do-not-print-0123456789"
	path := filepath.Join(f.TempDir(), "config.yaml")
	for _, seed := range []string{
		"",
		"policy: {max_citations: 4}",
		"openai: {base_url: 'http://u:p@h/', api_key: x}",
		"model_profiles:\n  answer: &a\n    model: m\n  answer_quick:\n    <<: *a\n",
		"request: &a {extra_body: {b: *a, c: [1, .inf, 0x1, ~]}}",
		"policy: {search_triggers: [a], system: {source: file}}",
		"\ufeffserver:\r\n  debug: yes\r\n",
		"? [a]\n: {<<: [*b]}\n---\n- \t",
		"openai: {headers: {a: b, c: '${D}'}}",
		"search: {defaults: {domains: [a, null, {}]}}",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, yaml string) {
		if err := os.WriteFile(path, []byte(yaml), 0o600); err != nil {
			t.Fatal(err)
		}
		c, lines, err := Load(Flags{Config: &path}, []string{"OPENAI_API_KEY=" + key})
		if err != nil {
			lines = append(lines, strings.Split(err.Error(), "\n")...)
		}
		for _, line := range lines {
			if !strings.HasPrefix(line, path+":") || strings.Contains(line, key) || strings.ContainsAny(line, "\r\x00\x1b\u2028") {
				t.Errorf("not a line with a source: %q", line)
			}
		}
		if err != nil {
			return
		}
		for _, p := range []Profile{c.ModelProfiles.Answer, c.ModelProfiles.AnswerDetailed, c.ModelProfiles.AnswerQuick} {
			if p.Model == "" || p.ReasoningEffort == "" || p.Verbosity == "" {
				t.Errorf("profile %+v is not resolved", p)
			}
		}
		if shown := c.Show("0"); !json.Valid(shown) || bytes.Contains(shown, []byte(key)) {
			t.Errorf("Show() = %s", shown)
		}
	})
}
