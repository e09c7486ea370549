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
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var update = flag.Bool("update", false, "rewrite the schema, the reference page and testdata")

const (
	exampleFile   = "../../../config/config.yaml.example"
	referenceFile = "../../../docs/reference/config-reference.md"
	schemaID      = "https://raw.githubusercontent.com/uchimanajet7/openai-responses-mcp/" +
		"main/config/config.schema.json"
)

// read returns the text of a file. A checkout on Windows may have other line ends.
func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return strings.ReplaceAll(string(content), "\r\n", "\n")
}

// golden compares got with a file, or writes the file with -update.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		err := os.WriteFile(file, []byte(got), 0o644)
		if err != nil {
			t.Fatal(err)
		}
	}

	compare.Equal(t, file+" (-update rewrites it)", got, read(t, file))
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
		"description": "config.yaml of openai-responses-mcp. ` +
		`Every key is optional, and null stands for its default.",
		"type": "object",
		"additionalProperties": false
	}`)
	set := func(key string, description map[string]any) {
		path := "properties." + strings.ReplaceAll(key, ".", ".properties.")
		doc, _ = sjson.SetBytes(doc, path, description) // the paths are valid
	}

	for _, f := range newLoader(nil).fields {
		switch {
		case f.from == "search":
			set(f.key, map[string]any{
				"description": f.Tag.Get("doc"),
				"$ref":        "#/properties/search",
			})
		case !strings.HasPrefix(f.from, "search."):
			set(f.key, describe(f))
		}
	}

	for _, key := range slices.Sorted(maps.Keys(ignoredKeys)) {
		set(key, map[string]any{
			"description": "Ignored: " + ignoredKeys[key] + ".",
			"deprecated":  true,
		})
	}

	var b bytes.Buffer
	err := json.Indent(&b, doc, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "../../../config/config.schema.json", b.String()+"\n")
}

// describe returns the JSON Schema of a key.
func describe(f field) map[string]any {
	description := map[string]any{"description": f.Tag.Get("doc")}
	if name := variable(f); name != "" {
		description["description"] = f.Tag.Get("doc") + " Environment: " + name + "."
	}

	types := map[string]string{
		"bool":    "boolean",
		"int":     "integer",
		"float64": "number",
		"string":  "string",
		"slice":   "array",
		"map":     "object",
		"struct":  "object",
	}
	words := f.Tag.Get("enum")
	if words == "" {
		description["type"] = []string{types[f.Type.Kind().String()], "null"}
	} else {
		list := `["` + strings.ReplaceAll(words, "|", `", "`) + `", null]`
		// YAML reads true and false as booleans.
		booleans := strings.NewReplacer(`"true"`, "true", `"false"`, "false")
		description["enum"] = json.RawMessage(booleans.Replace(list))
	}
	if f.isSection() {
		description["additionalProperties"] = false
		return description
	}

	pattern := f.Tag.Get("pattern")
	if pattern != "" {
		description["pattern"] = pattern
	}

	bounds := description
	switch f.Tag.Get("format") {
	case "0 or":
		bounds = map[string]any{}
		description["anyOf"] = []any{map[string]any{"const": 0}, bounds}
	case "headers":
		description["propertyNames"] = map[string]any{"pattern": headerName().String()}
		scalars := []string{"string", "number", "boolean", "null"}
		description["additionalProperties"] = map[string]any{"type": scalars}
	case "prices":
		numbers := map[string]any{}
		for i, name := range priceNames {
			var types any = "number"
			if i >= 2 { // not required
				types = []string{"number", "null"}
			}
			numbers[name] = map[string]any{"type": types, "minimum": 0, "maximum": 1e6}
		}
		description["additionalProperties"] = map[string]any{
			"type":                 "object",
			"properties":           numbers,
			"required":             priceNames[:2],
			"additionalProperties": false,
		}
	case "hosts":
		description["items"] = map[string]any{"type": "string", "minLength": 1}
	}

	for _, bound := range []string{"min", "max"} {
		if limit := f.Tag.Get(bound); limit != "" {
			bounds[bound+"imum"] = json.Number(limit)
		}
	}
	if f.from == "" {
		description["default"] = effective(f)
	}
	return description
}

// TestReference generates the tables between the marks of the page.
func TestReference(t *testing.T) {
	tables := map[string]string{
		"keys":    "",
		"ignored": "| Key | Why |\n|---|---|\n",
	}
	section := ""
	const head = "\n| Key | Default | Meaning | Variable, flag |\n|---|---|---|---|\n"

	for _, f := range newLoader(nil).fields {
		// The profiles have the same keys, and variables of their own for the model.
		repeats := strings.HasPrefix(f.key, "model_profiles.answer_")
		switch {
		case strings.HasPrefix(f.from, "search."):
		case f.key == "prices":
			tables["keys"] += "\n### prices\n" + head + keyRow(f)
		case f.from == "search":
			if !repeats {
				tables["keys"] += fmt.Sprintf("| `%s` | as `search` | %s |  |\n", f.key, f.Tag.Get("doc"))
			}
		case f.isSection():
			section = f.key
			title := fmt.Sprintf("\n### %s\n\n%s\n", f.key, f.Tag.Get("doc"))
			tables["keys"] = strings.TrimSuffix(tables["keys"], head) + title + head
		case f.key != join(section, f.Tag.Get("yaml")):
			t.Errorf("%s is listed under %s", f.key, section)
		case !repeats || f.Tag.Get("yaml") == "model":
			tables["keys"] += keyRow(f)
		}
	}

	for _, key := range slices.Sorted(maps.Keys(ignoredKeys)) {
		tables["ignored"] += fmt.Sprintf("| `%s` | %s |\n", key, ignoredKeys[key])
	}

	want := read(t, referenceFile)
	for name, table := range tables {
		mark := "<!-- generated: " + name + " -->\n"
		before, rest, _ := strings.Cut(want, mark)
		_, after, found := strings.Cut(rest, "\n<!-- end -->\n")
		if !found {
			t.Fatalf("%s has no place for %s", referenceFile, name)
		}

		want = before + mark + "\n" + strings.TrimSpace(table) + "\n\n<!-- end -->\n" + after
	}
	golden(t, referenceFile, want)
}

// keyRow returns the row of a key. Each of the Limits has a flag with its name.
func keyRow(f field) string {
	flags := map[string]string{
		"model_profiles.answer.model": "--model",
		"server.debug":                "--debug",
		"server.debug_file":           "--debug",
	}
	for limit := range reflect.TypeFor[Limits]().Fields() {
		key := limit.Tag.Get("yaml")
		flags["server."+key] = "--" + strings.ReplaceAll(key, "_", "-")
	}
	doc := f.Tag.Get("doc")
	if f.Tag.Get("enum")+f.Tag.Get("max") != "" {
		doc += " Allowed: " + describeAllowed(f) + "."
	}

	also := strings.Fields(variable(f) + " " + flags[f.key])
	for i, name := range also {
		also[i] = "`" + name + "`"
	}

	value, _ := json.Marshal(effective(f)) // the page shows it
	shown := "`" + strings.Trim(string(value), `"`) + "`"
	if f.from != "" {
		shown = "as `" + f.from + "`"
	}
	return fmt.Sprintf("| `%s` | %s | %s | %s |\n", f.key, shown, doc, strings.Join(also, ", "))
}

// The example has every key, and its values are the defaults. The members of a section that is null
// there are in comments.
func TestExample(t *testing.T) {
	example := read(t, exampleFile)
	for i, tool := range call.Tools[1:] { // its profile is like that of the tool before it
		last := call.Tools[i]
		profile := regexp.MustCompile(`  ` + last.Name + ":\n(?:    .*\n)+").FindString(example)
		next := strings.NewReplacer(last.Name, tool.Name, last.Variable, tool.Variable,
			"effort: "+last.Effort, "effort: "+tool.Effort,
			"verbosity: "+last.Verbosity, "verbosity: "+tool.Verbosity,
			", --model", "", "      # ANSWER_EFFORT", "", "             # ANSWER_VERBOSITY", "").Replace(profile)
		if !strings.Contains(example, "\n  "+tool.Name+":\n") {
			example = strings.Replace(example, profile, profile+next, 1)
		}
	}
	golden(t, exampleFile, example)
	if !strings.HasPrefix(example, "# yaml-language-server: $schema="+schemaID+"\n") {
		t.Errorf("the first line of %s does not name %s", exampleFile, schemaID)
	}

	c := mustLoad(t, Flags{Config: new(exampleFile)})
	derived := cmpopts.IgnoreFields(Config{}, "Derived")
	compare.Equal(t, "the example", c, mustLoad(t, Flags{}), derived)

	whole := regexp.MustCompile(`(?m)^  #  (\w+:)`).ReplaceAllString(example, "    $1")
	var doc map[string]any
	err := yaml.Unmarshal([]byte(strings.ReplaceAll(whole, ": null\n", ":\n")), &doc)
	if err != nil {
		t.Fatal(err)
	}
	raw, _ := json.Marshal(doc) // the result of the test depends on it

	for _, key := range c.SettingKeys {
		t.Run(key, func(t *testing.T) {
			if !gjson.GetBytes(raw, key).Exists() || !strings.Contains(example, c.byKey[key].variable) {
				t.Errorf("%s lacks it, or its variable", exampleFile)
			}
		})
	}
}

// TestShow loads something from every layer, and a secret wherever there can be one.
func TestShow(t *testing.T) {
	flags := Flags{Config: new("testdata/show.yaml"), Model: new("gpt-6")}
	environ := []string{
		"OPENAI_API_KEY=sk-hunter2-the-key",
		"TEAM_TOKEN=hunter2-team",
		"MAX_CITATIONS=5",
		"DEBUG=/tmp/d.log",
		"MCP_LINE_MODE=1",
		"PATH=/bin",
		"MODEL_QUICK=",
	}

	c, warnings, err := Load(flags, environ)
	if err != nil {
		t.Fatal(err)
	}
	got := string(c.Show("9.9.9", nil, warnings...))
	if strings.Contains(got, "hunter2") {
		t.Errorf("Show() has a secret:\n%s", got)
	}
	got = strings.ReplaceAll(got, `testdata\\p.md`, "testdata/p.md") // on Windows
	golden(t, "testdata/show.json", got)
}

// FuzzLoad loads a file. Load never panics. The result is a configuration that can be shown, or
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
		"\x00\x01\x02",
		"openai: {headers: {a: b, c: '${D}'}}",
		"search: {defaults: {domains: [a, null, {}]}}",
	} {
		f.Add(seed)
	}
	problem := regexp.MustCompile(`^` + regexp.QuoteMeta(path) + `:[^\r\n\x00\x1b\x{2028}]*$`)

	f.Fuzz(func(t *testing.T, yaml string) {
		err := os.WriteFile(path, []byte(yaml), 0o600)
		if err != nil {
			t.Fatal(err)
		}

		c, lines, err := Load(Flags{Config: &path}, []string{"OPENAI_API_KEY=" + key})

		shown := "{}"
		if err != nil {
			lines = append(lines, strings.Split(err.Error(), "\n")...)
		} else {
			shown = string(c.Show("0", nil))
		}

		if !gjson.Valid(shown) {
			t.Errorf("Show() = %s, want JSON", shown)
		}

		for _, line := range lines {
			if !problem.MatchString(line) {
				t.Errorf("%q is not a line that begins with its source", line)
			}
		}
		if strings.Contains(fmt.Sprint(lines, shown), key) {
			t.Errorf("the key is in %q or in %s", lines, shown)
		}
	})
}

// Windows PowerShell writes files in UTF-16.
func TestUTF16(t *testing.T) {
	for name, data := range map[string]string{
		"little endian": "\xff\xfes\x00k\x00\r\x00\n\x00",
		"big endian":    "\xfe\xff\x00s\x00k",
	} {
		path := filepath.Join(t.TempDir(), "key")
		err := os.WriteFile(path, []byte(data), 0o600)
		if err != nil {
			t.Fatal(err)
		}
		c := mustLoad(t, Flags{}, "OPENAI_API_KEY_FILE="+path)
		compare.Equal(t, name, c.APIKey, "sk")
	}
}
