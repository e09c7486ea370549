package main

import (
	"go/parser"
	"go/token"
	"maps"
	"os"
	"regexp"
	"testing"
)

// Each fault can be put into the file of today, which is then still Go. Each promise has a fault
// that breaks it.
func TestTable(t *testing.T) {
	promises, err := os.ReadFile("../../internal/command/cli/company_promises_test.go")
	if err != nil {
		t.Fatal(err)
	}
	unbroken := map[string]bool{}
	name := regexp.MustCompile(`(?m)^\t\{"(\w+)", "`)
	for _, match := range name.FindAllSubmatch(promises, -1) {
		unbroken[string(match[1])] = true
	}
	known := maps.Clone(unbroken)

	for _, m := range readTable(table) {
		t.Run(m.name, func(t *testing.T) {
			text, err := m.apply("../../")
			if err == nil {
				_, err = parser.ParseFile(token.NewFileSet(), m.file, text, parser.SkipObjectResolution)
			}
			if err != nil {
				t.Error(err)
			}
			if !known[m.promise] {
				t.Errorf("there is no promise %q", m.promise)
			}
			delete(unbroken, m.promise)
		})
	}
	if len(known) == 0 || len(unbroken) > 0 {
		t.Errorf("of %d promises these have no fault: %v", len(known), unbroken)
	}
}
