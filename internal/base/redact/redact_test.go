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

// A file whose secrets change takes no more with each change: the last few are redacted.
func TestSource(t *testing.T) {
	r := New("constant")
	source := r.NewSource()
	for _, secrets := range []string{"first", "second", "third", "fourth", "fifth"} {
		source.Set(secrets)
	}

	got := r.Redact("constant first second third fourth fifth")
	want := "[redacted] first [redacted] [redacted] [redacted] [redacted]"
	compare.Equal(t, "redacted", got, want)
}
