package repo_test

import (
	"path"
	"strings"
	"testing"
)

// The package comment stands where a reader looks first: in the file named
// after the package, or in doc.go of a command.
func TestPackageComments(t *testing.T) {
	at := map[string][]string{}
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.ast.Doc != nil {
			at[s.pkg] = append(at[s.pkg], path.Base(s.name))
		} else if _, ok := at[s.pkg]; !ok {
			at[s.pkg] = nil
		}
	}
	for pkg, names := range at {
		want := path.Base(pkg) + ".go"
		if strings.HasPrefix(pkg, "cmd/") || isTool(pkg) {
			want = oneOf(names, "doc.go", "main.go")
		}
		if len(names) != 1 || names[0] != want {
			t.Errorf("package %s has its comment in %v, want it in %s alone", pkg, names, want)
		}
	}
}

// oneOf is names[0] when it is one of the allowed, else the first of those.
func oneOf(names []string, allowed ...string) string {
	for _, a := range allowed {
		if len(names) > 0 && names[0] == a {
			return a
		}
	}
	return allowed[0]
}
