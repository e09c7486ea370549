package repo_test

import (
	"go/ast"
	"go/parser"
	"go/token"
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

// declared returns the functions, methods (Type.Method) and types of a package.
func declared(t *testing.T, pkg string) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, name := range files(t, "internal/"+pkg+"/*.go") {
		f, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				names[receiver(d)+d.Name.Name] = true
			case *ast.GenDecl:
				for _, spec := range d.Specs {
					if s, ok := spec.(*ast.TypeSpec); ok {
						names[s.Name.Name] = true
					}
				}
			}
		}
	}
	return names
}

// receiver returns the type of a method and a dot, or "" for a function.
func receiver(d *ast.FuncDecl) string {
	if d.Recv == nil {
		return ""
	}
	of := d.Recv.List[0].Type
	if pointer, ok := of.(*ast.StarExpr); ok {
		of = pointer.X
	}
	if name, ok := of.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}
