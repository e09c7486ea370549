package budget

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// What a file has, or what is wrong with it. An error has nothing of a line.
func TestParsePersonLimits(t *testing.T) {
	lines := strings.NewReplacer(" / ", "\n", "CR", "\r", "BOM", "\ufeff", "NUL", "\x00", "BYTE", "\xff")
	for _, row := range compare.Table(t, "people-file", 2) {
		t.Run(row[0], func(t *testing.T) {
			people, err := ParsePersonLimits(lines.Replace(row[0]))
			got := fmt.Sprint(map[string]map[string]float64(people))
			if err != nil {
				got = err.Error()
				compare.Equal(t, "the error has a token", strings.Contains(got, "secret"), false)
			}
			want := strings.Replace(row[1], "SETTINGS", strings.Join(personSettings(), ", "), 1)
			compare.Equal(t, "people", got, want)
		})
	}
}

// A call that ends after its limit frees what it has reserved: the limit may come again. It does
// not say that the limit is nearly used up.
func TestEndedLimit(t *testing.T) {
	o := Options{Limits: Limits{TokensPerDay: 60_000}}
	replica := newReplica(t, "redis://"+redistest.New(t).Address, o)
	for name, b := range map[string]*Budget{"with a store": replica.Budget, "without": New(o)} {
		running, err := take(b, "token:alice")
		compare.Equal(t, name+": error", err, "")
		b.SetPersonLimits(PersonLimits{"token:alice": {"tokens_per_day": 0}})
		c := reading(55_000)
		running.Settle(c, End{})
		compare.Equal(t, name+": near a limit", c.NearLimit, "")
		compare.Equal(t, name+": people near a limit", b.NearLimitCounts(), map[string]int{})
		b.SetPersonLimits(nil)
		_, err = take(b, "token:alice")
		compare.Equal(t, name+": error of the next call", err, "")
	}
}

// The limits of a person replace those of all, and are in force from the next call on. A name that
// is not of a token selects nothing.
func TestPersonLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{CallsPerHour: 3, TokensPerDayOfAll: 1_000_000}})
		people, err := ParsePersonLimits("alice calls_per_hour=1\nbob calls_per_hour=0 tokens_per_day=50000\n" +
			"https://issuer.example 7 calls_per_hour=5")
		compare.Equal(t, "error", err, nil)
		b.SetPersonLimits(people)
		passed := func(id, name string) (n int) {
			for range 10 {
				taken, err := takeCall(b, &call.Call{Person: call.Person{ID: id, Name: name}})
				if err != "" {
					return n
				}
				settle(taken, 6000)
				n++
			}
			return n
		}
		compare.Equal(t, "alice", passed("token:alice", "alice"), 1)
		compare.Equal(t, "bob, by tokens", passed("token:bob", "bob"), 9)
		compare.Equal(t, "who signs in", passed("https://issuer.example 7", "carol"), 5)
		compare.Equal(t, "who calls themselves bob", passed("https://issuer.example 8", "bob"), 3)

		b.SetPersonLimits(nil)
		compare.Equal(t, "alice without a limit of their own", passed("token:alice", "alice"), 2)
	})
}
