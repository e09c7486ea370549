package repo_test

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// decided matches a line of the section "Where it is decided" of doc.go: what is decided, the
// package, and its functions. Words in parentheses explain.
var decided = regexp.MustCompile(`(?m)^//\t\S.*?  +(\w+) +(\S.*)$`)

// The guided tour of doc.go names functions and methods that exist.
func TestTour(t *testing.T) {
	text := read(t, "cmd/openai-responses-mcp/doc.go")
	_, section, _ := strings.Cut(text, "# Where it is decided")
	rows := decided.FindAllStringSubmatch(section, -1)
	all := len(find(`(?m)^//\t(\S.*)$`, section))
	if len(rows) < 10 || len(rows) < all {
		t.Fatalf("%d of %d rows of the section can be read, want all, and at least 10", len(rows), all)
	}
	for _, m := range rows {
		pkg, functions := m[1], m[2]
		t.Run(pkg+" "+functions, func(t *testing.T) {
			exists := find(declaration, readAll(t, pkg))
			for name := range strings.SplitSeq(functions, ", ") {
				if !slices.Contains(exists, strings.Replace(name, ".", "", 1)) {
					t.Errorf("package %s declares no %s", pkg, name)
				}
			}
		})
	}
}

// A package comment that lists the files of its package lists all of them. Those of one system have
// the name of another file, and _*.
func TestFileLists(t *testing.T) {
	packages := map[string][]string{}
	for _, name := range sources(t, "") {
		if !strings.HasSuffix(name, "_test.go") {
			packages[path.Dir(name)] = append(packages[path.Dir(name)], name)
		}
	}
	lists := 0
	for dir, files := range packages {
		text := ""
		for _, name := range files {
			comment, _, _ := strings.Cut(read(t, name), "\npackage ")
			text += comment
		}
		if !strings.Contains(text, ".go  ") {
			continue
		}
		lists++
		for _, name := range files {
			base, _, ofSystem := strings.Cut(path.Base(name), "_")
			if !strings.Contains(text, path.Base(name)) && !(ofSystem && strings.Contains(text, base+"_*")) {
				t.Errorf("the package comment of %s does not list %s", dir, path.Base(name))
			}
		}
	}
	if lists < 10 {
		t.Errorf("%d packages list their files, want at least 10", lists)
	}
}

// declaration matches a function, a method with its type, or a type.
const declaration = `(?m)^(?:func |type |func \((?:\w+ )?\*?(\w+)\) )(\w+)`
