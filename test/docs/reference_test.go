package docs_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// The tables between these marks are made from the program:
// `go test ./test/docs -update` writes them.
const (
	begin = "<!-- generated: %s -->\n"
	end   = "<!-- end -->\n"
)

func TestGenerated(t *testing.T) {
	for _, g := range []struct {
		page, name string
		text       string
	}{
		{"docs/reference/config-reference.md", "keys", keys()},
		{"docs/reference/config-reference.md", "variables", variables()},
		{"docs/reference/config-reference.md", "ignored", ignored()},
		{"docs/reference/client-setup.md", "clients", clientFiles()},
		{"docs/reference/client-setup.md", "snippets", snippets()},
	} {
		generated(t, g.page, g.name, g.text)
	}
}

func generated(t *testing.T, name, part, want string) {
	t.Helper()
	p := read(t, name)
	before, rest, ok := strings.Cut(p.text, fmt.Sprintf(begin, part))
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Errorf("%s has no place for %s", name, part)
		return
	}
	want = "\n" + want + "\n"
	if *update && got != want {
		text := before + fmt.Sprintf(begin, part) + want + end + after
		if err := os.WriteFile(filepath.Join(root, filepath.FromSlash(name)), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got = want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: %s is out of date, go test ./test/docs -update (-want +got):\n%s", name, part, diff)
	}
}

// keys lists the configuration, a section after the other.
func keys() string {
	var b strings.Builder
	open := false
	for _, k := range config.Keys() {
		switch {
		case k.Ignored != "":
		case k.Section:
			if open {
				b.WriteString("\n")
			}
			fmt.Fprintf(&b, "### %s\n\n%s\n", k.Path, k.Doc)
			open = false
		default:
			if !open {
				b.WriteString("\n| Key | Default | Allowed | Meaning |\n|---|---|---|---|\n")
			}
			open = true
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", k.Path, quoted(k.Default), cell(k.Allowed), cell(k.Doc+setBy(k)))
		}
	}
	return b.String()
}

func setBy(k config.Key) string {
	var list []string
	for _, name := range []string{k.Flag, k.Env} {
		if name != "" {
			list = append(list, "`"+name+"`")
		}
	}
	if len(list) == 0 {
		return ""
	}
	return " Also " + strings.Join(list, ", ") + "."
}

// variables lists the environment in the order of the keys.
func variables() string {
	var b strings.Builder
	b.WriteString("| Variable | Key |\n|---|---|\n")
	for _, k := range config.Keys() {
		if k.Env != "" {
			fmt.Fprintf(&b, "| `%s` | `%s` |\n", k.Env, k.Path)
		}
	}
	return b.String()
}

func ignored() string {
	var b strings.Builder
	b.WriteString("| Key | Why |\n|---|---|\n")
	for _, k := range config.Keys() {
		if k.Ignored != "" {
			fmt.Fprintf(&b, "| `%s` | %s |\n", k.Path, cell(k.Ignored))
		}
	}
	return b.String()
}

func clientFiles() string {
	var b strings.Builder
	b.WriteString("| Client | `setup` | Linux | macOS | Windows |\n|---|---|---|---|---|\n")
	for _, c := range clients.All() {
		fmt.Fprintf(&b, "| %s | `%s` |", c.Name, c.ID)
		for _, goos := range []string{"linux", "darwin", "windows"} {
			fmt.Fprintf(&b, " %s |", quoted(c.File(goos)))
		}
		b.WriteString("\n")
	}
	return b.String()
}

// snippets shows each client as setup prints it on Linux.
func snippets() string {
	var b strings.Builder
	for i, c := range clients.All() {
		s := clients.Server{Via: clients.ViaNPX, OS: "linux", KeyEnv: "OPENAI_API_KEY", Timeout: 5 * time.Minute}
		kind := "json"
		if c.ID == "codex" {
			kind = "toml"
		}
		if i > 0 {
			b.WriteString("\n")
		}
		fmt.Fprintf(&b, "### %s\n\n```%s\n%s```\n\n", c.Name, kind, c.Snippet(s))
		// What follows the client's own notes holds for every client.
		shared := len(sharedNotes(s))
		notes := c.Notes(s)
		for _, n := range notes[:len(notes)-shared] {
			fmt.Fprintf(&b, "- %s\n", n)
		}
	}
	return b.String()
}

// sharedNotes are the notes that all clients end in.
func sharedNotes(s clients.Server) []string {
	all := clients.All()
	list := all[0].Notes(s)
	for _, c := range all[1:] {
		notes, n := c.Notes(s), 0
		for n < len(list) && n < len(notes) && list[len(list)-1-n] == notes[len(notes)-1-n] {
			n++
		}
		list = list[len(list)-n:]
	}
	return list
}

func quoted(s string) string { return "`" + s + "`" }

// cell keeps a text in its cell.
func cell(s string) string { return strings.ReplaceAll(s, "|", `\|`) }
