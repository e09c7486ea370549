package redact

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestRedact(t *testing.T) {
	r := New("abcd", "abcdefgh", "xyz", `q"uo<te`, "sla/shed")

	escaped := []string{"key after an escaped line break", `"a\nsk-0123456789"`, `"a\n[redacted]"`}
	for _, row := range append(compare.Table(t, "redact", 3), escaped) {
		t.Run(row[0], func(t *testing.T) {
			compare.Equal(t, row[1], r.Redact(row[1]), row[2])
		})
	}
}

// Secrets of a file that is read again take nothing more.
func TestAddAgain(t *testing.T) {
	r := New("abcd", `e"fg`)
	want := len(r.forms)
	r.Add(`e"fg`, "abcd")
	compare.Equal(t, "forms", len(r.forms), want)
}
