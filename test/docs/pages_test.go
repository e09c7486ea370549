// Package docs_test holds the documentation to the program: every command of
// the pages that a reader follows is run, every snippet is read by what will
// read it, and every key, variable, flag and link that a page names exists.
package docs_test

import (
	"flag"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

var update = flag.Bool("update", false, "rewrite the generated parts of the documentation")

// page is a Markdown file, named by its slash-separated path from the root.
type page struct {
	name   string
	text   string
	blocks []block
}

// block is a fenced block; its lines have lost the indentation of the fence.
type block struct {
	kind string // what stands behind the fence: sh, json, ...
	text string
	line int // of the fence
}

// pages reads the documentation: what lies at the root, and docs.
func pages(t *testing.T) []page {
	t.Helper()
	tree := os.DirFS(root)
	names, err := fs.Glob(tree, "*.md")
	if err != nil {
		t.Fatal(err)
	}
	err = fs.WalkDir(tree, "docs", func(name string, _ fs.DirEntry, err error) error {
		if err == nil && path.Ext(name) == ".md" {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var all []page
	for _, name := range names {
		all = append(all, read(t, name))
	}
	if len(all) < 10 {
		t.Fatalf("found %d pages, the search is broken", len(all))
	}
	return all
}

func read(t *testing.T, name string) page {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	p := page{name: name, text: string(b)}
	p.blocks = fenced(t, p)
	return p
}

// fenced cuts the blocks out of a page.
func fenced(t *testing.T, p page) []block {
	t.Helper()
	var all []block
	var open *block
	indent := ""
	for n, line := range strings.Split(p.text, "\n") {
		rest := strings.TrimLeft(line, " ")
		switch {
		case open == nil && strings.HasPrefix(rest, "```"):
			indent = line[:len(line)-len(rest)]
			open = &block{kind: strings.TrimSpace(rest[3:]), line: n + 1}
		case open != nil && strings.TrimSpace(line) == "```":
			all = append(all, *open)
			open = nil
		case open != nil:
			open.text += strings.TrimPrefix(line, indent) + "\n"
		}
	}
	if open != nil {
		t.Errorf("%s:%d: the block is never closed", p.name, open.line)
	}
	return all
}

// prose is the page without its blocks.
func (p page) prose() string {
	var b strings.Builder
	in := false
	for line := range strings.SplitSeq(p.text, "\n") {
		if strings.HasPrefix(strings.TrimLeft(line, " "), "```") {
			in = !in
			line = ""
		}
		if !in {
			b.WriteString(line)
		}
		b.WriteString("\n")
	}
	return b.String()
}
