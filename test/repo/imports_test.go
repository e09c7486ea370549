package repo_test

import (
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// packages is the order of the layers: a package imports only those after it.
var packages = []string{
	"cmd/openai-responses-mcp",
	"internal/cli",
	"internal/config",
	"internal/policy",
	"internal/stdio",
	"internal/server",
	"internal/answer",
	"internal/llm",
	"internal/doctor",
	"internal/clients",
	"internal/fakeapi",
	"internal/logging",
	"internal/version",
	"internal/unescaped",
}

// isTool reports a package that is run while developing and releasing and is no
// part of the program.
func isTool(pkg string) bool {
	return strings.HasPrefix(pkg, "test/") || strings.HasPrefix(pkg, "packaging/")
}

// vague names say nothing about what is in a package.
var vague = []string{"util", "utils", "common", "helper", "helpers", "types", "misc", "base", "shared"}

// arrow is an import of from, which is a folder here; to is one too, or the
// path of a package of somebody else. The standard library makes no arrows.
type arrow struct{ from, to string }

func arrows(t *testing.T, s source) []arrow {
	t.Helper()
	var all []arrow
	for _, spec := range s.ast.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(p, "/")
		if strings.Contains(first, ".") {
			all = append(all, arrow{s.pkg, strings.TrimPrefix(p, module+"/")})
		}
	}
	return all
}

// The import graph is written down, so that a new arrow is a decision and not
// an accident: `go test ./test/repo -update` after the decision.
func TestImportGraph(t *testing.T) {
	const golden = "testdata/imports.txt"
	var lines []string
	for _, s := range sources(t) {
		if s.test || isTool(s.pkg) {
			continue
		}
		for _, a := range arrows(t, s) {
			lines = append(lines, a.from+" -> "+a.to)
		}
	}
	slices.Sort(lines)
	got := strings.Join(slices.Compact(lines), "\n") + "\n"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the import graph is not that of %s (-want +got):\n%s", golden, diff)
	}
}

func TestImportsGoDown(t *testing.T) {
	for _, s := range sources(t) {
		if s.test || isTool(s.pkg) {
			continue
		}
		from := slices.Index(packages, s.pkg)
		if from < 0 {
			t.Errorf("%s: package %s has no place in the layers", s.name, s.pkg)
			continue
		}
		for _, a := range arrows(t, s) {
			to := slices.Index(packages, a.to)
			switch {
			case strings.HasPrefix(a.to, "internal/") && to <= from:
				t.Errorf("%s imports %s, which is not below it", s.name, a.to)
			case a.to == "internal/config" && s.pkg != "internal/cli":
				t.Errorf("%s imports config: only cli may, the others take plain values", s.name)
			}
		}
	}
}

func TestPackageNames(t *testing.T) {
	for _, s := range sources(t) {
		name := strings.TrimSuffix(s.ast.Name.Name, "_test")
		if slices.Contains(vague, name) {
			t.Errorf("%s: package %s has a name that says nothing", s.name, name)
		}
		if strings.HasPrefix(s.pkg, "internal/") && name != path.Base(s.pkg) {
			t.Errorf("%s: package %s is not named like its folder", s.name, name)
		}
	}
}
