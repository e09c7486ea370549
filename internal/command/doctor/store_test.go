package doctor

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// second matches the difference of equal clocks: a second can begin between two looks.
var second = regexp.MustCompile(`clock 1s (ahead of|behind) that`)

// storeChecks are the checks with a URL of the store.
func storeChecks(t *testing.T, url string) string {
	t.Helper()
	s := &service.Service{
		Redactor: redact.New(),
		Getenv: func(name string) string {
			if name == "MCP_STORE_URL" {
				return url
			}
			return ""
		},
	}
	var checks checklist
	checks.addStore(t.Context(), s)
	return blanks.ReplaceAllString(FormatText(checks), " ")
}

// The checks of the store. ADDRESS is that of a server that works, and SENTINEL of a Sentinel.
func TestStore(t *testing.T) {
	server := redistest.New(t, "maxmemory-policy", "allkeys-lru")
	sentinel := redistest.NewSentinel(t)
	server.Do("ACL", "SETUSER", "mcp", "on", ">secret", "~{openai-responses-mcp}:*", "-@all",
		"+eval", "+evalsha", "+get", "+set", "+del", "+time", "+select")
	server.Do("ACL", "SETUSER", "reader", "on", ">secret", "~*", "-@all", "+get")
	places := strings.NewReplacer("ADDRESS", server.Address, "SENTINEL", sentinel.Address)
	for _, tt := range []struct{ url, want string }{
		{"", ""},
		{"redis://ADDRESS", "ok store ADDRESS, database 0: runs the script of the limits\n" +
			"ok store clock 0s ahead of that of this machine\n" +
			"ok store policy allkeys-lru: no key is dropped\n"},
		{"valkey://mcp:secret@ADDRESS/3?prefix=team-a", "ok store ADDRESS, database 3, prefix team-a: " +
			"runs the script of the limits\nok store clock 0s ahead of that of this machine\n"},
		{"redis://mcp:secret2@ADDRESS", "fail store ADDRESS, database 0: WRONGPASS invalid " +
			"username-password pair or user is disabled.\n -> correct the user and the password of the URL\n"},
		{"redis://reader:secret@ADDRESS", " -> give the account its rights: ~{openai-responses-mcp}:* +eval"},
		{"redis://mcp:secret@SENTINEL", " -> this is a Sentinel: name the primary"},
		{"redis://:secret@127.0.0.1:1", " -> see whether the store runs, and"},
		{"redis://secret@ADDRESS", " -> correct MCP_STORE_URL, or the file"},
	} {
		t.Run(tt.url, func(t *testing.T) {
			got := storeChecks(t, places.Replace(tt.url))
			got = second.ReplaceAllString(got, "clock 0s ahead of that")
			compare.Contains(t, "checks", got, places.Replace(tt.want))
			compare.Equal(t, "has checks", got != "", tt.url != "")
			compare.Equal(t, "secrets", strings.Count(got, "secret"), 0)
		})
	}

	server.Do("CONFIG", "SET", "maxmemory", "64mb")
	got := storeChecks(t, "redis://"+server.Address)
	compare.Contains(t, "checks", got, "warn store policy allkeys-lru: drops keys when it is full, and forgets "+
		"what people have used\n -> set its maxmemory-policy to noeviction\n")
}

func TestClock(t *testing.T) {
	testRows(t, []row{
		{"the same", clockCheck(0), "ok: 0s ahead of that of this machine"},
		{"a minute ahead", clockCheck(time.Minute), "ok: 1m0s ahead of that of this machine"},
		{"more", clockCheck(61 * time.Second), "warn: 1m1s ahead of that of this machine"},
		{"behind", clockCheck(-2 * time.Hour), "warn: 2h0m0s behind that of this machine"},
	})
}
