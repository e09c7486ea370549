package repo_test

import (
	"regexp"
	"strings"
	"testing"
)

// decided matches a line of the section "Where it is decided" of doc.go: what is decided, the package,
// and its functions. Words in parentheses explain.
var decided = regexp.MustCompile(`(?m)^//\t\S.*?  +(\w+) +(\S.*)$`)

// The guided tour of doc.go names functions and methods that exist.
func TestTour(t *testing.T) {
	const file = "cmd/openai-responses-mcp/doc.go"
	_, section, found := strings.Cut(read(t, file), "# Where it is decided")
	if !found {
		t.Fatalf("%s has no section %q", file, "Where it is decided")
	}

	rows := decided.FindAllStringSubmatch(section, -1)
	if len(rows) < 10 {
		t.Fatalf("%d rows can be read, want at least 10", len(rows))
	}
	for _, m := range rows {
		pkg, functions := m[1], m[2]
		t.Run(pkg+" "+functions, func(t *testing.T) {
			exists := declared(t, pkg)
			for name := range strings.SplitSeq(functions, ", ") {
				if !exists[name] {
					t.Errorf("package %s declares no %s", pkg, name)
				}
			}
		})
	}
}

// declaration matches a function, a method with its type, or a type.
var declaration = regexp.MustCompile(`(?m)^(?:func |type |func \((?:\w+ )?\*?(\w+)\) )(\w+)`)

// declared returns the functions, methods (Type.Method) and types of a package.
func declared(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, file := range files(t, "internal/"+pkg+"/*.go") {
		for _, m := range declaration.FindAllStringSubmatch(read(t, file), -1) {
			names[strings.TrimPrefix(m[1]+"."+m[2], ".")] = true
		}
	}
	return names
}
