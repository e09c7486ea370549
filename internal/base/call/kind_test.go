package call

import "testing"

// Each kind has a label of its own.
func TestKinds(t *testing.T) {
	seen := map[string]bool{}
	for _, kind := range Kinds() {
		if seen[kind.Label()] {
			t.Errorf("two kinds have the label %s", kind.Label())
		}
		seen[kind.Label()] = true
	}
}
