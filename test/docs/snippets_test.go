package docs_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// kinds are the blocks that the pages may have. What is text is only shown.
var kinds = []string{"sh", "console", "json", "yaml", "toml", "text", "http", "mermaid", "markdown", "powershell"}

// others are pages that another test holds, or that have no say in snippets.
var others = []string{"docs/release.md", "docs/changelog.md", "docs/reference/installation.md"}

var reference = regexp.MustCompile(`\$\{(\w+)\}`)

// Each snippet is read by what will read it: a configuration by the program, a
// client's file by being what setup prints.
func TestSnippets(t *testing.T) {
	for _, p := range pages(t) {
		if slices.Contains(others, p.name) {
			continue
		}
		for _, b := range p.blocks {
			at := fmt.Sprintf("%s:%d", p.name, b.line)
			if !slices.Contains(kinds, b.kind) {
				t.Errorf("%s: a block of kind %q, which nothing checks", at, b.kind)
			}
			switch b.kind {
			case "json":
				checkJSON(t, at, b.text)
			case "yaml":
				checkYAML(t, at, b.text)
			case "toml":
				checkClient(t, at, b.text)
			}
		}
	}
}

// checkJSON: a client's file, or one or more values.
func checkJSON(t *testing.T, at, text string) {
	t.Helper()
	if strings.Contains(text, `"openai-responses": {`) {
		checkClient(t, at, text)
		return
	}
	d := json.NewDecoder(strings.NewReader(text))
	for n := 0; ; n++ {
		var v any
		err := d.Decode(&v)
		if err != nil {
			if n == 0 || err.Error() != "EOF" {
				t.Errorf("%s: %v", at, err)
			}
			return
		}
	}
}

// checkClient: what setup prints for one of the clients, in one of the ways,
// but for the lines in which a page may write a JSON array.
func checkClient(t *testing.T, at, text string) {
	t.Helper()
	for _, c := range clients.All() {
		for _, via := range clients.Ways() {
			for _, goos := range []string{"linux", "windows"} {
				s := clients.Server{Via: via, OS: goos, Binary: "/usr/local/bin/openai-responses-mcp", KeyEnv: "OPENAI_API_KEY", Timeout: 5 * time.Minute}
				if same(c.Snippet(s), text) {
					return
				}
			}
		}
	}
	t.Errorf("%s: setup prints nothing like it:\n%s", at, text)
}

// same compares without white space: pages lay arrays out in one line.
func same(a, b string) bool {
	return strings.Join(strings.Fields(a), "") == strings.Join(strings.Fields(b), "")
}

// checkYAML: a configuration, or a part of one, which the program takes without
// a warning.
func checkYAML(t *testing.T, at, text string) {
	t.Helper()
	var doc map[string]any
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Errorf("%s: %v", at, err)
		return
	}
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var environ []string // what the snippet refers to is set
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		environ = append(environ, m[1]+"=x")
	}
	_, warnings, err := config.Load(config.Input{Flags: config.Flags{Config: file, ConfigSet: true}, Environ: environ, Home: t.TempDir()})
	if err != nil || len(warnings) > 0 {
		t.Errorf("%s: %v %q", at, err, warnings)
	}
}
