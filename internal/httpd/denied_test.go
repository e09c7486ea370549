package httpd

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// holder is a person with a token, and user one who signs in. The name of the user is cut.
var (
	holder = llm.Person{ID: "token:alice", Name: "alice"}
	user   = llm.Person{ID: "https://id.example/ auth0|42", Name: strings.Repeat("é", 63) + "…"}
	padded = llm.Person{ID: "https://id.example/  auth0|42\t", Name: " Ann  Lee "}
)

// deniedForms are files, and whether they deny a person. want is the error; none: the person is denied.
var deniedForms = []struct {
	name, file string
	person     llm.Person
	want       string
}{
	{"name", "alice", holder, none},
	{"case", "ALICE", holder, none},
	{"blanks and a byte order mark", "\ufeff  alice\t", holder, none},
	{"line ends", "x\r\ny\ralice", holder, none},
	{"subject", "auth0|42", user, none},
	{"subject in another case", "AUTH0|42", user, none},
	{"issuer and subject", "https://id.example/ auth0|42", user, none},
	{"long name", strings.Repeat("é", 93), user, none},
	{"long name, decomposed", strings.Repeat("e\u0301", 93), user, none},
	{"subject with blanks around it", "auth0|42", padded, none},
	{"issuer and such a subject", "https://id.example/ auth0|42", padded, none},
	{"name with blanks", "ann  lee", padded, none},

	{"UTF-16", "a\x00l\x00", holder, "not UTF-8 text"},
	{"Latin-1", "Ren\xe9", holder, "not UTF-8 text"},
	{"comment", "x\nalice # left", holder, wrong},
	{"line of comment", "x\n# left", holder, wrong},
	{"list", "x\nalice,bob", holder, wrong},
	{"list with blanks", "x\nalice bob", holder, wrong},
	{"YAML list", "x\n- alice", holder, wrong},
	{"YAML map", "x\ndenied: alice", user, wrong},
	{"JSON", "x\n[\"alice\"]", holder, wrong},
	{"quotes", "x\n'alice'", holder, wrong},
	{"token", "x\nalice:0123456789abcdef", holder, wrong},
	{"no-break space after a name", "x\nalice\u00a0", holder, wrong},
	{"no-break space before a name", "x\n\u00a0alice", holder, wrong},
	{"no-break space in a name", "x\nAnn\u00a0Lee", padded, wrong},
	{"no-break space after a subject", "x\nauth0|42\u00a0", user, wrong},
	{"ideographic space", "x\nauth0|42\u3000", user, wrong},
	{"zero-width space", "x\nali\u200bce", holder, wrong},
	{"zero-width space in a subject", "x\nauth0\u200b|42", user, wrong},
	{"byte order mark in a line", "x\nauth0\ufeff|42", user, wrong},
	{"form feed", "x\nauth0|42\f", user, wrong},
	{"escape", "x\n\x1b[1mauth0|42", user, wrong},
	{"two blanks before a subject", "x\nhttps://id.example/  auth0|42", user, wrong},
	{"tab before a subject", "x\nhttps://id.example/\tauth0|42", user, wrong},
	{"a quote in the name of a holder", "x\nal'ice", holder, wrong},
	{"a filler", "x\nalice\u3164", holder, wrong},
}

const none, wrong = "", "line 2 is not one name or subject"

// Entries deny their people in any case and Unicode form. Forms that deny no person are errors, which
// have nothing of the file.
func TestDeniedForms(t *testing.T) {
	for _, tt := range deniedForms {
		t.Run(tt.name, func(t *testing.T) {
			d := NewDenied(tt.person != holder)

			got := ""
			if err := d.Set([]byte(tt.file)); err != nil {
				got = err.Error()
			}
			compare.Equal(t, "error", got, tt.want)
			if tt.want == none {
				other := llm.Person{ID: "token:bo", Name: "bo"}
				compare.Equal(t, "denied", d.has(tt.person), true)
				compare.Equal(t, "another is denied", d.has(other), false)
			}
		})
	}
}
