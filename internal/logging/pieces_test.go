package logging

import "testing"

// What is left of a key goes, words that are in it by chance stay.
func TestPieces(t *testing.T) {
	redact := Redact("sk-proj-Zq7XbT0wPl94mKfR8uHs", "https://my-site.example/gateway", "team-of-the-platform")
	for _, tt := range []struct{ in, want string }{
		{"the key Zq7XbT0wPl", "the key [redacted]"},
		{`cut: "mKfR8uHs"`, `cut: "[redacted]"`},
		{"Zq7XbT0 is too short", "Zq7XbT0 is too short"},
		{"first Zq7XbT0wPl, then 94mKfR8u", "first [redacted], then [redacted]"},
		{`Zq7Xb\u0054\u0030wPl94`, "[redacted]"},
		{"100%Zq7XbT0wPl94%20", "100%[redacted]%20"},
		{"Zq7X%62T0wPl", "[redacted]"},
		{`{"a":"Zq7XbT0wPl\"}"}`, `{"a":"[redacted]\"}"}`},
		{"sk-proj-Zq********8uHs", "[redacted]"},
		{"it ends in ...8uHs", "it ends in [redacted]"},
		{"it begins with sk-proj-, as all do", "it begins with sk-proj-, as all do"},
		{"https://my-site.example/other of a team-of-the-people", "https://my-site.example/other of a team-of-the-people"}, // addresses and words
		{"**bold** and so on ...", "**bold** and so on ..."},
	} {
		if got := redact(tt.in); got != tt.want {
			t.Errorf("redact(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}
