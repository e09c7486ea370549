package redact

import (
	"testing"
)

func TestRedact(t *testing.T) {
	r := New("abcd", "abcdefgh", "xyz", `q"uo<te`)
	for in, want := range map[string]string{
		"":                                     "",
		"abcdefgh abcd":                        "[redacted] [redacted]",
		"xyz":                                  "xyz", // too short
		`{"a":"q\"uo<te","b":"q\"uo\u003cte"}`: `{"a":"[redacted]","b":"[redacted]"}`,
		"https://h/?k=q%22uo%3Cte":             "https://h/?k=[redacted]",
		"key sk-proj-0123_456-789.":            "key [redacted].",
		"Incorrect API key: sk-tHis*****at":    "Incorrect API key: [redacted]",
		`"a\nsk-0123456789"`:                   `"a\n[redacted]"`,
		"task-management-system":               "task-management-system",
		"sk-learn":                             "sk-learn",
	} {
		if got := r.Redact(in); got != want {
			t.Errorf("Redact(%q) = %q, want %q", in, got, want)
		}
	}
	var none *Redactor
	if got := none.Redact("sk-0123456789 abcd"); got != "[redacted] abcd" {
		t.Errorf("Redact of a nil Redactor = %q", got)
	}
}
