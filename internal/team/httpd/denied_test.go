package httpd

import (
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// deniable are a person with a token and people who sign in. The name of the user is cut.
var deniable = map[string]call.Person{
	"holder":  {ID: "token:alice", Name: "alice"},
	"user":    {ID: "https://id.example/ auth0|42", Name: strings.Repeat("é", 63) + "…"},
	"dotted":  {ID: "https://id.example/ 7", Name: "İbrahim"},
	"long":    {ID: "https://id.example/ " + longSubject + "planner", Name: longName},
	"dn":      {ID: "https://id.example/ uid=\"a\",ou=x, dc=y", Name: "Al"},
	"escaped": {ID: `https://id.example/ CN=Doe\, Jane,OU=x:y`, Name: "Jane"},
	"padded":  {ID: "https://id.example/  auth0|42\t", Name: " Ann  Lee "},
}

// Subjects that begin with longSubject have the same name without --oauth-user.
var (
	longSubject = strings.Repeat("system:", 10)
	longName    = longSubject[:63] + "…"
)

// Entries deny their people in any case and Unicode form. Forms that deny no person are errors,
// which have nothing of the file.
func TestDeniedForms(t *testing.T) {
	for _, row := range compare.Table(t, "denied", 4) {
		name, who, want := row[0], row[1], row[2]
		t.Run(name, func(t *testing.T) {
			file, err := strconv.Unquote(`"` + row[3] + `"`)
			if err != nil {
				t.Fatal(err)
			}

			d := NewDenied()
			if who != "holder" {
				d = NewDenied("https://id.example/")
			}
			got := "denied"
			if err := d.Set(file); err != nil {
				got = strings.Replace(err.Error(), "line 2 is not one name or subject", "wrong", 1)
			}
			compare.Equal(t, "error", got, want)
			if want == "denied" {
				compare.Equal(t, "denied", d.has(deniable[who]), true)
				for _, other := range []call.Person{
					{ID: "token:bo", Name: "bo"},
					{ID: "https://id.example/ " + longSubject + "writer", Name: longName},
				} {
					compare.Equal(t, other.ID+" is denied", d.has(other), false)
				}
			}
		})
	}
}
