// Package repo_test holds the repository to its own rules: what may import
// what, no state outside of values, what a file must not contain, and one
// version number everywhere. It reads the tree as text and syntax and needs
// neither the network nor git.
package repo_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const (
	module = "github.com/uchimanajet7/openai-responses-mcp"
	root   = "../.."
)

var update = flag.Bool("update", false, "rewrite testdata/imports.txt")

// skipped are folders that are built or installed, never committed.
var skipped = map[string]bool{".git": true, "node_modules": true, "dist": true, "bin": true}

// file is a file of the repository, named by its slash-separated path from
// the root.
type file struct {
	name string
	text string
}

// files reads every text file of the repository.
func files(t *testing.T) []file {
	t.Helper()
	var all []file
	err := fs.WalkDir(os.DirFS(root), ".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && skipped[d.Name()]:
			return fs.SkipDir
		case d.IsDir() || !d.Type().IsRegular() || ignored(d.Name()):
			return nil
		}
		b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if !bytes.ContainsRune(b, 0) { // binaries hold no rules
			all = append(all, file{name, string(b)})
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 10 {
		t.Fatalf("found %d files below %s, the walk is broken", len(all), root)
	}
	return all
}

// ignored repeats what .gitignore says of single files.
func ignored(base string) bool {
	return strings.HasSuffix(base, ".test") || strings.HasSuffix(base, ".prof")
}

// source is one parsed Go file.
type source struct {
	file
	pkg  string // its folder, "internal/llm"
	test bool
	fset *token.FileSet
	ast  *ast.File
}

// at names a place in the source for an error message.
func (s source) at(n ast.Node) string {
	return s.fset.Position(n.Pos()).String()
}

// sources parses every Go file, for all platforms alike.
func sources(t *testing.T) []source {
	t.Helper()
	var all []source
	for _, f := range files(t) {
		if !strings.HasSuffix(f.name, ".go") || strings.Contains(f.name, "testdata/") {
			continue
		}
		fset := token.NewFileSet()
		tree, err := parser.ParseFile(fset, f.name, f.text, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, source{f, path.Dir(f.name), strings.HasSuffix(f.name, "_test.go"), fset, tree})
	}
	return all
}
