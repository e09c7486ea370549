package main

import (
	_ "embed"
	"fmt"
	"os"
	"regexp"
	"strings"
)

// table has the faults: name | promise | file, and below the lines that change, as a patch has
// them. A line between two changes of a fault is "...".
//
//go:embed mutants.txt
var table string

// mutant is a fault that TestCompany has to notice.
type mutant struct {
	name    string
	promise string // that it breaks, as internal/command/cli names it
	file    string
	edits   []edit
}

// edit is a text of the file and what takes its place.
type edit struct{ from, to string }

// pattern matches e.from with any number of blanks between its words: gofmt changes these when it
// aligns other lines.
func (e edit) pattern() *regexp.Regexp {
	words := regexp.MustCompile(` +`).ReplaceAllString(regexp.QuoteMeta(e.from), " +")
	return regexp.MustCompile(`(?m)^` + words)
}

func readTable(table string) (all []mutant) {
	for block := range strings.SplitSeq(strings.TrimRight(table, "\n"), "\n\n") {
		head, changes, _ := strings.Cut(block, "\n")
		words := strings.Split(head+" | | ", " | ")
		m := mutant{name: words[0], promise: words[1], file: words[2]}
		for change := range strings.SplitSeq(changes, "\n...\n") {
			var e edit
			for line := range strings.Lines(change + "\n") {
				if line[0] != '+' {
					e.from += line[1:]
				}
				if line[0] != '-' {
					e.to += line[1:]
				}
			}
			m.edits = append(m.edits, e)
		}
		all = append(all, m)
	}
	return all
}

// apply returns the text of the file with the fault.
func (m mutant) apply(root string) (string, error) {
	data, err := os.ReadFile(root + m.file)
	if err != nil {
		return "", err
	}
	text := string(data)
	for _, e := range m.edits {
		found := e.pattern().FindAllStringIndex(text, -1)
		if len(found) != 1 {
			return "", fmt.Errorf("%s has this %d times, and mutants.txt wants it once:\n%s",
				m.file, len(found), e.from)
		}
		text = text[:found[0][0]] + e.to + text[found[0][1]:]
	}
	return text, nil
}
