package cite

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	check(t, table(t, "clean"), Clean)
}

// An answer of 20 KB with 60 markers.
func BenchmarkClean(b *testing.B) {
	const marker = "\ue200cite\ue202turn0search0\ue202turn1view2\ue201"
	text := strings.Repeat(strings.Repeat("It is dry and warm. ", 15)+marker+"\n\n", 60)
	for b.Loop() {
		Clean(text)
	}
}
