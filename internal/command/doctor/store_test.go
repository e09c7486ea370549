package doctor

import (
	"regexp"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// second matches the difference of equal clocks: a second can begin between two looks.
var second = regexp.MustCompile(`clock 1s (ahead of|behind) that`)

// checkStore wants a text in the checks with a URL of the store, which may stand still for a moment
// on a busy machine, and returns them.
func checkStore(t *testing.T, url, want string) (got string) {
	t.Helper()
	s := &service.Service{Options: service.Options{
		Redactor: redact.New(),
		Getenv: func(name string) string {
			if name == "MCP_STORE_URL" {
				return url
			}
			return ""
		},
	}}
	for range 20 {
		var checks checklist
		checks.addStore(t.Context(), s)
		got = blanks.ReplaceAllString(FormatText(checks), " ")
		got = second.ReplaceAllString(got, "clock 0s ahead of that")
		if strings.Contains(got, want) {
			return got
		}
	}
	t.Errorf("checks %q, want %q", got, want)
	return got
}

// The checks of the store, whose URL is in the table.
func TestStore(t *testing.T) {
	server := redistest.New(t, "maxmemory-policy", "allkeys-lru")
	sentinel := redistest.NewSentinel(t)
	server.Do("ACL", "SETUSER", "mcp", "on", ">secret", "~{openai-responses-mcp}:*", "-@all",
		"+eval", "+evalsha", "+get", "+set", "+del", "+time", "+select")
	server.Do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "-@all", "+get")
	places := strings.NewReplacer("ADDRESS", server.Address, "SENTINEL", sentinel.Address)
	compare.Each(t, "store", 2, func(t *testing.T, row []string) {
		url, want := row[0], row[1]
		got := checkStore(t, places.Replace(url), places.Replace(want))
		compare.Equal(t, "has checks", got != "", url != "")
		compare.Equal(t, "secrets", strings.Count(got, "secret"), 0)
	})

	server.Do("CONFIG", "SET", "maxmemory", "64mb")
	checkStore(t, "redis://"+server.Address, "warn store policy allkeys-lru: drops keys when it is full, and forgets "+
		"what people have used\n -> set its maxmemory-policy to noeviction\n")
	server.Do("CONFIG", "SET", "maxmemory-policy", "noeviction")
	checkStore(t, "redis://"+server.Address, "noeviction: no key is dropped")
}
