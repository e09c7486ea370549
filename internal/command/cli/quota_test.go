package cli

import (
	"fmt"
	"log/slog"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// usedStore returns the URL of a store where people have used something: alice the most, who has a
// token and runs a call, and then two people who are called bob. 22 others, without names, have
// asked once.
func usedStore(t *testing.T) string {
	server := redistest.New(t)
	store := budget.NewStore(budget.StoreOptions{
		Log:     slog.New(slog.DiscardHandler),
		Timeout: time.Minute, // a busy machine may let the server stand still
	})
	url := "redis://" + server.Address
	_, err := store.SetURL(url)
	if err != nil {
		t.Fatal(err)
	}
	b := budget.New(budget.Options{
		Limits: budget.Limits{
			CallsPerHour:      10,
			TokensPerDay:      200_000,
			TokensPerDayOfAll: 1_000_000,
			USDPerDay:         2,
		},
		Prices: map[string]*call.Price{"answer_quick": {Input: 2, Output: 10}},
		Store:  store,
	})
	take := func(id, name string) *budget.Taken {
		taken, err := b.Take(&call.Call{Tool: "answer_quick", Person: call.Person{ID: id, Name: name}})
		if err != nil {
			t.Fatal(err)
		}
		return taken
	}
	use := func(id, name string, tokens int64) {
		c := &call.Call{}
		c.Usage.Input = tokens
		take(id, name).Settle(c, budget.End{})
	}

	use("token:alice", "alice", 190_000)
	take("token:alice", "alice")
	use("token:bob", "bob", 150_000)
	use("https://issuer.example 7", "bob", 130_000)
	use("https://issuer.example 8", "\x1b[31mred", 120_000)
	for i := range 30 { // their calls fail, and count nothing
		take(fmt.Sprint("token:failed", i), "failed").Settle(&call.Call{}, budget.End{NotCounted: true})
	}
	// Its reservation stays when another process has read the end.
	ended := &call.Call{Tool: "answer_quick", Person: call.Person{ID: "token:dave", Name: "dave"}}
	_, err = b.Take(ended) // sets its Reservation
	if err != nil {
		t.Fatal(err)
	}
	ended.Usage.Input = 4000
	b.SettleResponse(ended, "resp_1")
	b.NoNames = true
	for i := range 22 {
		use(fmt.Sprint("token:p", i), fmt.Sprint("p", i), 1)
	}
	return url
}

// An interrupt is no failure of the store.
func TestQuotaInterrupted(t *testing.T) {
	env := []string{"MCP_STORE_URL=redis://127.0.0.1:9"}
	for _, args := range []string{"quota", "quota reset alice"} {
		code, _, stderr := run(ended(t), env, nil, strings.Fields(args)...)
		checkExit(t, code, exitInterrupted)
		compare.Equal(t, "stderr", stderr, "")
	}
}

// What the command says about a store, one call after the other.
func TestQuota(t *testing.T) {
	env := []string{"MCP_STORE_URL=" + usedStore(t)}
	const when = ` +\d{4}-\d\d-\d\d \d\d:\d\d`
	values := strings.NewReplacer(
		"HEADS", "NAME +LIMIT +USED +RUNNING +LEFT +WHOLE AGAIN \\(Asia/Tokyo\\)\n",
		"WHEN", when,
		"ALICE", `alice +10 calls an hour +2 +0 +8`+when+"\n"+
			`alice +200000 tokens a day +(190000|1899\d\d) +10000 +\d\d?`+when+"\n"+
			`alice +2.00 USD a day +0.3[78]\d* +0.028 +1.59`+when+"\n",
		"BOB", `bob +10 calls an hour +1 +0 +9`+when+"\n"+
			`bob +200000 tokens a day +(150000|1499\d\d) +0 +500\d\d`+when+"\n"+
			`bob +2.00 USD a day +0.(3|29\d+) +0 +1.70`+when+"\n",
	)

	for _, tt := range compare.Rows[struct {
		Args string
		Code int
		Want string
	}](t, "quota") {
		t.Run(tt.Args, func(t *testing.T) {
			code, stdout, stderr := run(t.Context(), env, nil, strings.Fields(strings.ReplaceAll(tt.Args, "ESC", "\x1b"))...)
			checkExit(t, code, tt.Code)
			got := stdout + stderr
			want := values.Replace(tt.Want)
			if !regexp.MustCompile("^(.*error: )?" + want).MatchString(got) {
				t.Errorf("it says\n%s\nwant\n%s", got, want)
			}
			compare.Equal(t, "escapes", strings.Contains(got, "\x1b"), false)
			if tt.Args == "quota" {
				people := map[string]bool{}
				for line := range strings.Lines(stdout) {
					people[strings.Fields(line)[0]] = true
				}
				compare.Equal(t, "people, and the names of all and of columns", len(people) <= 22, true)
			}
		})
	}
}
