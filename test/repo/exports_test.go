package repo_test

import (
	"go/ast"
	"path"
	"regexp"
	"slices"
	"testing"
)

// spare are packages and files that export more than the program uses:
// fakeapi serves the tests too, and no tool of the server offers functions to
// the model yet. The items of a conversation are as the API has them.
var spare = []string{"internal/fakeapi", "internal/llm/tool.go", "internal/llm/item.go"}

// uses are the names of other packages that the program's files use: llm.Usage.
func uses(all []source) map[string]bool {
	found := map[string]bool{}
	for _, s := range all {
		if s.test || isTool(s.pkg) {
			continue
		}
		ast.Inspect(s.ast, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				if x, ok := sel.X.(*ast.Ident); ok {
					found[x.Name+"."+sel.Sel.Name] = true
				}
			}
			return true
		})
	}
	return found
}

// mentioned are the types that exported declarations of a package give or take,
// and the errors that their comments name, as pointers.
func mentioned(all []exported) map[string]bool {
	found := map[string]bool{}
	for _, e := range all {
		for _, m := range regexp.MustCompile(`\*([A-Z]\w*)`).FindAllStringSubmatch(e.text, -1) {
			found[e.pkg+"."+m[1]] = true
		}
		n := ast.Node(e.typ)
		if e.fun != nil {
			n = e.fun.Type
		} else if _, ok := e.typ.(*ast.StructType); ok || e.typ == nil {
			continue // its fields speak for it
		}
		ast.Inspect(n, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				found[e.pkg+"."+id.Name] = true
			}
			return true
		})
	}
	return found
}

// What a package exports another one uses, in the program itself. What only
// tests use belongs to them.
func TestExportsAreUsed(t *testing.T) {
	used, all := uses(sources(t)), surface(sources(t))
	types := mentioned(all)
	for _, e := range all {
		method := e.fun != nil && e.fun.Recv != nil
		if e.field || e.enum || method || slices.Contains(spare, e.pkg) || slices.Contains(spare, e.file.name) {
			continue
		}
		if !used[path.Base(e.pkg)+"."+e.name] && !types[e.pkg+"."+e.name] {
			t.Errorf("%s: no other package uses %s", e.at(e.node), e.name)
		}
	}
}
