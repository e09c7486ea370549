package cite

import (
	"os"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestClean(t *testing.T) {
	check(t, "clean", Clean)
}

// An answer without markers stays as it is, byte for byte.
func TestCleanLongAnswer(t *testing.T) {
	long, err := os.ReadFile("testdata/long.md")
	if err != nil {
		t.Fatal(err)
	}
	compare.Equal(t, "answer", Clean(string(long)), string(long))
}

// A literal of several markers counts once at a place: a hostile text has millions of them.
func TestLiteralsIn(t *testing.T) {
	compare.Equal(t, "literals", literalsIn("\ue200 [cite"), []int{0, 4})
}

// An answer of 20 KB with 60 markers.
func BenchmarkClean(b *testing.B) {
	const marker = "\ue200cite\ue202turn0search0\ue202turn1view2\ue201"
	text := strings.Repeat(strings.Repeat("It is dry and warm. ", 15)+marker+"\n\n", 60)
	for b.Loop() {
		Clean(text)
	}
}
