package main

import (
	_ "embed"
	"fmt"
	"os"
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
		n := strings.Count("\n"+text, "\n"+e.from)
		if n != 1 {
			return "", fmt.Errorf("%s has this %d times:\n%s", m.file, n, e.from)
		}
		text = strings.Replace("\n"+text, "\n"+e.from, "\n"+e.to, 1)[1:]
	}
	return text, nil
}
