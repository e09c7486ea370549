// Package repo_test checks the import graph, that every file has the same version number, and the
// documentation: links resolve, examples load, commands run, and the flags and keys in the text exist.
// internal/config checks the tables of the configuration, internal/clients the page of client setup.
package repo_test

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

const (
	module = "github.com/uchimanajet7/openai-responses-mcp"
	root   = "../.."
)

// files returns the names of files, from the root and with slashes.
func files(t *testing.T, patterns ...string) (all []string) {
	t.Helper()
	for _, pattern := range patterns {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files, error %v", pattern, err)
		}
		all = append(all, names...)
	}
	return all
}

func read(t *testing.T, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// layers matches the packages in docs/architecture.md. Each imports only those further down.
var layers = regexp.MustCompile("(?m)^\\| `((?:cmd|internal)/[^`]+)` ")

// The files of all platforms count, those of tests do not.
func TestImports(t *testing.T) {
	rank := map[string]int{}
	for i, m := range layers.FindAllStringSubmatch(read(t, "docs/architecture.md"), -1) {
		rank[m[1]] = i + 1
	}
	for _, name := range files(t, "cmd/*/*.go", "internal/*/*.go") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		pkg := path.Dir(name)
		if rank[pkg] == 0 {
			t.Errorf("%s: package %s is not in docs/architecture.md", name, pkg)
		}
		for _, spec := range f.Imports {
			p := strings.Trim(spec.Path.Value, `"`)
			to, ours := strings.CutPrefix(p, module+"/")
			switch {
			case p == "github.com/openai/openai-go/v3":
				t.Errorf("%s imports %s, which doubles the binary: use its package responses", name, p)
			case strings.HasPrefix(p, "github.com/openai/openai-go/") && pkg != "internal/llm":
				t.Errorf("%s imports %s: only llm does", name, p)
			case !ours:
			case rank[to] <= rank[pkg]:
				t.Errorf("%s imports %s, which is not below %s", name, to, pkg)
			case to == "internal/config" && pkg != "internal/cli" && pkg != "internal/doctor":
				t.Errorf("%s imports config: only cli and doctor do", name)
			}
		}
	}
}

func TestVersions(t *testing.T) {
	const v = version.Version
	if !regexp.MustCompile(`^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`).MatchString(v) {
		t.Errorf("version.Version = %q, want a semantic version without a v", v)
	}
	// The registry of MCP servers compares the name and the packages of its entry with each package.
	const name = "io.github.uchimanajet7/openai-responses-mcp"
	for _, tt := range []struct{ file, path, want string }{
		{"npm/package.json", "version", v},
		{"npm/package-lock.json", "version", v},
		{"packaging/mcpb/manifest.json", "version", v},
		{"packaging/claude-plugin/.claude-plugin/plugin.json", "version", v},
		{"server.json", "version", v},
		{"server.json", "packages.#", "3"},
		{"server.json", `packages.#(registryType=="npm").identifier`, version.Name},
		{"server.json", `packages.#(registryType=="npm").version`, v},
		{"server.json", `packages.#(registryType=="oci").identifier`, "ghcr.io/uchimanajet7/openai-responses-mcp:" + v},
		{"server.json", `packages.#(registryType=="oci").version`, ""},
		{"server.json", `packages.#(registryType=="mcpb").identifier`, "https://" + module + "/releases/download/v" + v + "/openai-responses-mcp_" + v + ".mcpb"},
		{"server.json", `packages.#(registryType=="mcpb").version`, v},
		{"server.json", "name", name},
		{"npm/package.json", "mcpName", name},
	} {
		if got := gjson.Get(read(t, tt.file), tt.path).String(); got != tt.want {
			t.Errorf("%s of %s is %q, want %q", tt.path, tt.file, got, tt.want)
		}
	}
	for _, tt := range []struct{ file, want string }{
		{"Dockerfile", fmt.Sprintf("image.version=%q", v)},
		{"Dockerfile", fmt.Sprintf("server.name=%q", name)},
		{"docs/changelog.md", "\n## v" + v + " — "},
		{"docs/reference/installation.md", "VERSION=" + v},
	} {
		if !strings.Contains(read(t, tt.file), tt.want) {
			t.Errorf("%s does not contain %q", tt.file, tt.want)
		}
	}
	// Documents and manifests name the package or the image with its version.
	named := regexp.MustCompile(`openai-responses-mcp[@:](\d+\.\d+\.\d+[-0-9A-Za-z.]*)`)
	for _, file := range files(t, "README*.md", "docs/reference/*.md", "config/*.yaml", "config/kubernetes/*.yaml", "packaging/claude-plugin/.claude-plugin/*.json") {
		for _, m := range named.FindAllStringSubmatch(read(t, file), -1) {
			if m[1] != v {
				t.Errorf("%s names %s, want version %s", file, m[0], v)
			}
		}
	}
}
