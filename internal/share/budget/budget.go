// Package budget bounds the calls and tokens of people, over all replicas where there is a store.
//
//	budget.go   Budget: what a call takes, and how that is corrected at its end
//	local.go    the buckets of this process
//	store.go    the buckets of Valkey or Redis, which replicas share
//	replies.go  the connection to it, which bounds replies
//	take.lua    the script that changes those
//
// A limit is a quota: a bucket for each person that refills evenly in its period. What is taken is
// measured in the time in which it refills: a call of 4 an hour takes 15 minutes. A bucket may owe
// one period.
package budget

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Options configure a Budget. A limit of 0 is none.
type Options struct {
	CallsPerHour      int // that one person starts
	TokensPerDay      int // of one person
	TokensPerDayOfAll int // of all people

	User  string // the ID of the person who has none
	Store *Store // nil: the limits are those of this process
}

// Budget counts what people use. It is safe for concurrent use.
type Budget struct {
	Options
	local *local
}

// New returns a Budget.
func New(o Options) *Budget {
	return &Budget{
		Options: o,
		local:   newLocal(time.Now),
	}
}

// typical is how many tokens a call takes before it is sent: a guess, which its end corrects.
const typical = 20_000

// Taken is what a call has taken, until Settle corrects it.
type Taken struct {
	budget *Budget
	person string
	tokens int64
	stored outcome // whether the store has it, too
}

// Take takes a call from what its person may use, and the tokens of a typical call. A lower limit is
// taken whole; the next call may start when one token has refilled. The error is of
// call.KindLimited; then nothing is taken.
func (b *Budget) Take(c *call.Call) (*Taken, error) {
	taken := &Taken{
		budget: b,
		person: c.Person.ID,
		tokens: typical,
	}
	for _, most := range []int{b.TokensPerDay, b.TokensPerDayOfAll} {
		if most > 0 {
			taken.tokens = min(taken.tokens, int64(most))
		}
	}

	buckets := b.buckets(taken.person, 1, taken.tokens, false)
	refused, wait, stored := b.Store.take(buckets) // refused is the number of a bucket, or 0
	taken.stored = stored
	switch {
	case stored != storeDone:
		refused, wait = b.local.take(buckets)
	case refused == 0: // the buckets of this process take it, too: they decide if the store fails
		b.local.take(b.buckets(taken.person, 1, taken.tokens, true))
	}
	if refused == 0 {
		return taken, nil
	}

	c.Limit = buckets[refused-1].limit
	return nil, call.KindLimited.Errorf("limit of %s reached; a call is possible in %d min",
		buckets[refused-1].words, (wait+minute-1)/minute)
}

// Settle corrects what a call has taken when it has ended, by the tokens that it has used. Requests
// whose tokens are unknown count as typical ones. Unless it counts, the call is given back, too.
func (t *Taken) Settle(used call.Used, counts bool) {
	var calls int64
	if counts {
		calls = 1
	}
	tokens := used.Usage.Input + used.Usage.Output + int64(used.Unknown)*t.tokens
	b := t.budget
	correction := b.buckets(t.person, calls-1, tokens-t.tokens, true)
	b.local.take(correction)
	switch t.stored {
	case storeUnsure: // the script may have run: nothing is given back, or taken twice
		correction = b.buckets(t.person, 0, max(0, tokens-t.tokens), true)
	case storeUnused: // the store does not know of the call
		correction = b.buckets(t.person, calls, tokens, true)
	}
	b.Store.take(correction)
}

const minute = 60_000_000 // microseconds

// bucket is one that a call takes from. Times are in microseconds.
type bucket struct {
	limit string // its name for metrics and logs
	words string // that say what it is
	key   string

	period     int64
	need, take int64 // without need nothing is taken; take may be more, and the bucket then owes
}

// buckets returns those from which a person takes calls and tokens. They need one call or token,
// unless these are taken in any case.
func (b *Budget) buckets(id string, calls, tokens int64, anyway bool) (list []bucket) {
	person := fmt.Sprintf("%.16x", sha256.Sum256([]byte(cmp.Or(id, b.User))))
	const day = 24 * 60 * minute
	for _, l := range []struct {
		bucket
		most, n int64 // in the period, and now
	}{
		{bucket{limit: "hour", words: "calls an hour", key: person, period: 60 * minute},
			int64(b.CallsPerHour), calls},
		{bucket{limit: "day", words: "tokens a day", key: person, period: day},
			int64(b.TokensPerDay), tokens},
		{bucket{limit: "all", words: "tokens a day of all people", period: day},
			int64(b.TokensPerDayOfAll), tokens},
	} {
		unit := float64(l.period) / float64(l.most)
		l.take = int64(min(float64(l.n)*unit, float64(2*l.period))) // more makes no difference
		if l.most == 0 || l.take == 0 {
			continue
		}
		l.need = int64(unit)
		if anyway {
			l.need = -4 * l.period // less than any bucket has: it is empty, and owes a period, at most
		}
		l.words = fmt.Sprint(l.most, " ", l.words)
		l.key = l.limit + ":" + l.key
		list = append(list, l.bucket)
	}
	return list
}
