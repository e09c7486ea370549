package call

import (
	"os"
	"regexp"
	"testing"
)

// Kinds has each kind that is declared, and each has a label of its own.
func TestKinds(t *testing.T) {
	source, err := os.ReadFile("kind.go")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[string]bool{}
	for _, kind := range Kinds() {
		listed[kind.Label()] = true
	}

	declaration := regexp.MustCompile(`(\w+) += Kind\{"[^"]*", "[^"]*", "(\w+)"`)
	declared := declaration.FindAllStringSubmatch(string(source), -1)
	for _, names := range declared {
		if !listed[names[2]] {
			t.Errorf("%s is not in the list of the function Kinds", names[1])
		}
	}
	if len(declared) != len(listed) {
		t.Errorf("%d kinds are declared, and Kinds has %d labels", len(declared), len(listed))
	}
}
