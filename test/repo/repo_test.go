// Package repo_test checks the import graph, that every file has the same version number, and the
// documentation: links resolve, examples load, commands run, and the flags, keys and functions in
// the text exist. internal/base/config checks the tables of the configuration,
// internal/command/clients the page of client setup.
//
//	repo_test.go      imports, versions and members of manifests
//	plugin_test.go    the skill, the entry of a catalog, and files that manifests link to
//	docs_test.go      links, runbooks of alerts, examples, flags and keys
//	spec_test.go      numbers and names in the specification and other pages
//	commands_test.go  the commands of the documentation
//	tour_test.go      the functions that the guided tour names
package repo_test

import (
	"flag"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	module = "github.com/uchimanajet7/openai-responses-mcp"
	root   = "../.."
)

// files returns the names of files, from the root and with slashes.
func files(t *testing.T, patterns ...string) []string {
	t.Helper()
	var all []string
	for _, pattern := range patterns {
		names, err := fs.Glob(os.DirFS(root), pattern)
		if err != nil || len(names) == 0 {
			t.Fatalf("%s: no files (%v)", pattern, err)
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

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(root, name), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// folders returns those of all packages of the program, from the root.
var folders = sync.OnceValues(func() ([]string, error) {
	listed, err := exec.Command("go", "list", module+"/cmd/...", module+"/internal/...").Output()
	return strings.Fields(strings.ReplaceAll(string(listed), module+"/", "")), err
})

// sources returns the Go files of a package, or of all with "".
func sources(t *testing.T, pkg string) (all []string) {
	t.Helper()
	listed, err := folders()
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range listed {
		if pkg == "" || pkg == path.Base(folder) {
			all = append(all, files(t, folder+"/*.go")...)
		}
	}

	if len(all) == 0 {
		t.Fatalf("there is no package %s", pkg)
	}
	return all
}

// readAll returns the text of the files of a package together, or that of all with "".
func readAll(t *testing.T, pkg string) (all string) {
	t.Helper()
	for _, name := range sources(t, pkg) {
		all += read(t, name)
	}
	return all
}

// layers matches the layers in docs/architecture.md, and the others that each may import.
var layers = regexp.MustCompile("(?m)^\\| `(?:cmd|internal)/([^/`]+)` \\| [^|]+ \\| (.*)\\|$")

// The files of all platforms count, those of tests do not.
func TestImports(t *testing.T) {
	page := read(t, "docs/architecture.md")
	others := map[string]string{}
	for _, m := range layers.FindAllStringSubmatch(page, -1) {
		others[m[1]] = m[2]
	}

	for _, name := range sources(t, "") {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		t.Run(name, func(t *testing.T) {
			pkg := path.Dir(name)
			list, line := page, "\n| `"+pkg+"` | "
			if strings.Count(pkg, "/") > 1 { // else it is a layer
				list, line = read(t, path.Dir(pkg)+"/doc.go"), "\n//\t"+path.Base(pkg)+" "
			}
			if !strings.Contains(list, line) {
				t.Errorf("docs/architecture.md or the comment of its layer does not list %s", pkg)
			}

			f, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.ImportsOnly)
			if err != nil {
				t.Fatal(err)
			}
			for _, spec := range f.Imports {
				checkImport(t, others, pkg, strings.Trim(spec.Path.Value, `"`))
			}
		})
	}
}

// layer returns the folder of cmd or internal that a package is in.
func layer(pkg string) string {
	_, folder, _ := strings.Cut(pkg, "/")
	folder, _, _ = strings.Cut(folder, "/")
	return folder
}

// checkImport checks one import of package pkg, whose layer may import others.
func checkImport(t *testing.T, others map[string]string, pkg, imported string) {
	t.Helper()
	const sdk = "github.com/openai/openai-go/v3"
	ours, internal := strings.CutPrefix(imported, module+"/")
	from, to := layer(pkg), layer(ours)
	makes := slices.Contains([]string{"cli", "service", "doctor"}, path.Base(pkg))
	made := slices.Contains([]string{"internal/base/config", "internal/openai/llm"}, ours)

	switch {
	case imported == sdk:
		t.Errorf("it imports %s, which doubles the binary: use its package responses", sdk)
	case strings.HasPrefix(imported, sdk+"/") && pkg != "internal/openai/llm":
		t.Errorf("it imports %s: only llm does", imported)
	case internal && from != to && !strings.Contains(others[from], "`"+to+"`"):
		t.Errorf("it imports %s: %s may import %s", ours, from, others[from])
	case made && !makes:
		t.Errorf("it imports %s: only cli, doctor and service do", ours)
	}
}

var update = flag.Bool("update", false, "write versions, descriptions and profiles into manifests and pages")

// The error of a call names its kind, for metrics, logs and advice. The exceptions are causes and
// states of such errors, and an error of the protocol.
func TestErrorKinds(t *testing.T) {
	exceptions := []string{"TunnelError", "ProxyError", "QueuedError", "RootsError", "ErrRunning", "ErrStateUnknown",
		"unknownTool"}
	const named = `(?m)^func \((?:\w+ )?\*?(\w+)\) `

	for _, pkg := range []string{"call", "llm", "answer", "tasks", "server"} {
		for _, name := range sources(t, pkg) {
			if strings.HasSuffix(name, "_test.go") {
				continue
			}
			source := read(t, name)
			kinds := find(named+`ErrorKind\(\)`, source)
			errs := find(named+`Error\(\) string`, source)
			if pkg != "call" && pkg != "llm" { // where all are causes of an Error
				errs = append(errs, find(`(?m)^\s*(\S+).*(?:errors\.New|fmt\.Errorf)\(`, source)...)
			}

			for _, err := range errs {
				t.Run(name+" "+err, func(t *testing.T) {
					if !slices.Contains(kinds, err) && !slices.Contains(exceptions, err) {
						t.Error("it names no kind")
					}
				})
			}
		}
	}
}

// The version comes from internal/base/version, the description from plugin.json. -update writes
// the values that have a plain path.
func TestVersions(t *testing.T) {
	values := strings.NewReplacer(
		"NUMBER", version.Version,
		"PROGRAM", version.Name,
		"DESCRIPTION", gjson.Get(read(t, "plugin.json"), "description").String(),
	)
	for _, row := range compare.Table(t, "versions", 3) {
		file, path, want := row[0], row[1], values.Replace(row[2])
		t.Run(file+" "+path, func(t *testing.T) {
			text := read(t, file)
			if path == "" {
				compare.Contains(t, "text", text, want)
				return
			}

			if *update && !strings.ContainsAny(path, "#@") {
				text, _ = sjson.Set(text, path, want) // such paths are valid
				write(t, file, text)
			}
			compare.Equal(t, "value", gjson.Get(text, path).String(), want)
		})
	}
}

// The linker ignores a variable that does not exist.
func TestLinkerVariable(t *testing.T) {
	set := regexp.MustCompile(`-X ` + module + `/(\S+)\.(\w+)=`)
	for _, file := range []string{"Dockerfile", ".goreleaser.yaml", "docs/release.md"} {
		t.Run(file, func(t *testing.T) {
			m := set.FindStringSubmatch(read(t, file))
			if m == nil {
				t.Fatal("it sets no variable of the program")
			}

			pkg, name := m[1], m[2]
			source := ""
			for _, file := range files(t, pkg+"/*.go") {
				source += read(t, file)
			}
			compare.Contains(t, "package "+pkg, source, "\nvar "+name+" string\n")
		})
	}
}

// Documents and manifests name the package or the image with its version.
func TestNamedVersions(t *testing.T) {
	named := regexp.MustCompile(`(openai-responses-mcp[@:]|\bVERSION=)\d+\.\d+\.\d+[-0-9A-Za-z.]*`)
	for _, file := range files(t, "README*.md", "SECURITY.md", "docs/reference/*.md", "skills/*/SKILL.md", "config/*.yaml",
		"config/kubernetes/*.yaml", "*.json", ".claude-plugin/*.json") {
		t.Run(file, func(t *testing.T) {
			got := read(t, file)
			want := named.ReplaceAllString(got, "${1}"+version.Version)
			if *update {
				write(t, file, want)
				return
			}

			compare.Equal(t, "versions", got, want)
		})
	}
}
