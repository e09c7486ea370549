// Package repo_test checks the import graph and that every file has the same
// version number.
package repo_test

import (
	"encoding/json"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

const (
	module = "github.com/uchimanajet7/openai-responses-mcp"
	root   = "../.."
)

// layers is the order of the packages: each imports only later ones. It is the
// order of the table in docs/architecture.md.
var layers = []string{
	"cmd/openai-responses-mcp",
	"internal/cli",
	"internal/doctor",
	"internal/httpd",
	"internal/config",
	"internal/server",
	"internal/answer",
	"internal/policy",
	"internal/llm",
	"internal/stdio",
	"internal/clients",
	"internal/fakeapi",
	"internal/logging",
	"internal/text",
	"internal/jsonx",
	"internal/version",
}

// The files of all platforms count, those of tests do not.
func TestImports(t *testing.T) {
	seen := 0
	for _, pattern := range []string{"cmd/*/*.go", "internal/*/*.go", "internal/*/*/*.go"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			seen++
			checkImports(t, name)
		}
	}
	if seen == 0 {
		t.Fatal("found no Go files")
	}
}

func checkImports(t *testing.T, name string) {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	rel, err := filepath.Rel(root, name)
	if err != nil {
		t.Fatal(err)
	}
	pkg := path.Dir(filepath.ToSlash(rel))
	from := slices.Index(layers, pkg)
	if from < 0 {
		t.Errorf("%s: package %s is not in the list of layers", rel, pkg)
	}
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		to, ours := strings.CutPrefix(p, module+"/")
		switch {
		case p == "github.com/openai/openai-go/v3":
			t.Errorf("%s imports %s, which doubles the binary: use its package responses", rel, p)
		case strings.HasPrefix(p, "github.com/openai/openai-go/") && pkg != "internal/llm":
			t.Errorf("%s imports %s: only llm does", rel, p)
		case !ours:
		case slices.Index(layers, to) <= from:
			t.Errorf("%s imports %s, which is not below %s", rel, to, pkg)
		case to == "internal/config" && pkg != "internal/cli" && pkg != "internal/doctor":
			t.Errorf("%s imports config: only cli and doctor do", rel)
		}
	}
}

func TestVersions(t *testing.T) {
	const (
		name = "io.github.uchimanajet7/openai-responses-mcp"
		v    = version.Version
	)
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(v) {
		t.Errorf("version.Version = %q, want a semantic version without a v", v)
	}
	for _, name := range []string{"npm/package.json", "npm/package-lock.json", "packaging/mcpb/manifest.json", "packaging/claude-plugin/.claude-plugin/plugin.json", "server.json"} {
		var doc struct{ Version string }
		decode(t, name, &doc)
		if doc.Version != v {
			t.Errorf("%s has version %q, want %q", name, doc.Version, v)
		}
	}
	for name, want := range map[string]string{
		"Dockerfile":                     `org.opencontainers.image.version="` + v + `"`,
		"docs/changelog.md":              "\n## v" + v + " — ",
		"docs/reference/installation.md": "VERSION=" + v,
	} {
		if !strings.Contains(read(t, name), want) {
			t.Errorf("%s does not contain %q", name, want)
		}
	}

	// Documents and manifests name the package or the image with its version.
	named := regexp.MustCompile(`openai-responses-mcp[@:](\d+\.\d+\.\d+[-0-9A-Za-z.]*)`)
	for _, pattern := range []string{"README*.md", "docs/reference/*.md", "config/*.yaml", "config/kubernetes/*.yaml", "packaging/claude-plugin/.claude-plugin/*.json"} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: %v (%v)", pattern, files, err)
		}
		for _, file := range files {
			b, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range named.FindAllStringSubmatch(string(b), -1) {
				if m[1] != v {
					t.Errorf("%s names %s, want version %s", file, m[0], v)
				}
			}
		}
	}

	// The registry of MCP servers compares its entry with each package.
	type pack struct{ RegistryType, Identifier, Version string }
	var entry struct {
		Name, Title, Description string
		Packages                 []pack
	}
	decode(t, "server.json", &entry)
	want := []pack{
		{"npm", version.Name, v},
		{"oci", "ghcr.io/uchimanajet7/openai-responses-mcp:" + v, ""},
		{"mcpb", "https://" + module + "/releases/download/v" + v + "/openai-responses-mcp_" + v + ".mcpb", v},
	}
	if diff := cmp.Diff(want, entry.Packages); diff != "" {
		t.Errorf("packages of server.json (-want +got):\n%s", diff)
	}
	var npm struct{ McpName string }
	decode(t, "npm/package.json", &npm)
	if entry.Name != name || npm.McpName != name || !strings.Contains(read(t, "Dockerfile"), `server.name="`+name+`"`) {
		t.Errorf("server.json, npm/package.json and Dockerfile must name the server %s", name)
	}
	if len(entry.Title) > 100 || len(entry.Description) > 100 {
		t.Errorf("title and description of server.json have more than 100 bytes")
	}
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func decode(t *testing.T, name string, v any) {
	t.Helper()
	if err := json.Unmarshal([]byte(read(t, name)), v); err != nil {
		t.Fatalf("reading %s: %v", name, err)
	}
}
