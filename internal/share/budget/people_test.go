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
			people, err := ParsePersonLimits([]byte(lines.Replace(row[0])))
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

// A call that began without a limit, or with others, frees nothing of one that has come since, and
// gives nothing back.
func TestYoungLimit(t *testing.T) {
	for _, tt := range []struct {
		name    string
		old     Limits
		setting string
		limit   float64
		used    int64 // tokens of a call that begins and ends meanwhile
		tokens  int64 // of the call without a limit
		end     End
		want    string
	}{
		{"tokens", Limits{}, "tokens_per_day", 100_000, 70_000, 40_000, End{},
			"used 110000 of 100000 tokens a day; "},
		{"calls", Limits{}, "calls_per_hour", 1, 0, 0, End{NotCounted: true}, "used 1 of 1 calls an hour; "},
		{"calls beside tokens", Limits{TokensPerDay: 1_000_000}, "calls_per_hour", 1, 0, 0,
			End{NotCounted: true}, "used 1 of 1 calls an hour; "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b := New(Options{Limits: tt.old})
				running, _ := take(b, "token:alice")
				b.SetPersonLimits(PersonLimits{"token:alice": {tt.setting: tt.limit}})
				other, err := take(b, "token:alice")
				compare.Equal(t, "error", err, "")
				settle(other, tt.used)
				running.Settle(reading(tt.tokens), tt.end)
				_, err = take(b, "token:alice")
				compare.Contains(t, "error", err, tt.want)
			})
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

// What a call has reserved stays so if another one ends that began without the limit.
func TestReservedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{CallsPerHour: 100}})
		running, _ := take(b, "token:alice")
		b.SetPersonLimits(PersonLimits{"token:alice": {"tokens_per_day": 10_000}})
		_, err := take(b, "token:alice")
		compare.Equal(t, "error", err, "")
		running.Settle(reading(0), End{})
		_, err = take(b, "token:alice")
		compare.Contains(t, "error", err, "calls that are running")
	})
}

// The limits of a person replace those of all, and are in force from the next call on. A name that
// is not of a token selects nothing.
func TestPersonLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{CallsPerHour: 3, TokensPerDayOfAll: 1_000_000}})
		people, err := ParsePersonLimits([]byte("alice calls_per_hour=1\nbob calls_per_hour=0 tokens_per_day=50000\n" +
			"https://issuer.example 7 calls_per_hour=5"))
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
