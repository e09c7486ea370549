package redact

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestRedact(t *testing.T) {
	r := New("abcd", "abcdefgh", "xyz", `q"uo<te`)

	for _, tt := range []struct{ name, in, want string }{
		{"nothing", "", ""},
		{"begins with another secret", "abcdefgh abcd", "[redacted] [redacted]"},
		{"too short", "xyz", "xyz"},
		{
			"JSON",
			`{"a":"q\"uo<te","b":"q\"uo\u003cte"}`,
			`{"a":"[redacted]","b":"[redacted]"}`,
		},
		{"key", "key sk-proj-0123_456-789.", "key [redacted]."},
		{
			"key with asterisks",
			"Incorrect API key: sk-tHis*****at",
			"Incorrect API key: [redacted]",
		},
		{"key after an escaped line break", `"a\nsk-0123456789"`, `"a\n[redacted]"`},
		{"part of a word", "task-management-system", "task-management-system"},
		{"word", "sk-learn", "sk-learn"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			compare.Equal(t, tt.in, r.Redact(tt.in), tt.want)
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
