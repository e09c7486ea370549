// Package budget bounds the calls and tokens of people, over all replicas where there is a store.
//
//	budget.go   Budget: what a call takes, and how that is corrected at its end
//	local.go    the buckets of this process
//	store.go    the buckets of Valkey or Redis, which replicas share
//	hints.go    what to do about its errors, which hints.txt has
//	check.go    checks of the store: whether it drops keys, and its clock
//	replies.go  the connection to it, which bounds replies
//	take.lua    the script that changes those
//
// A limit is a quota: a bucket for each person that refills evenly in its period. While a call runs,
// the tokens that its tool usually takes are reserved; at its end it uses what the API says. A call that
// has not ended by its time limit, because its process was killed, uses what is reserved. A bucket may owe seven periods.
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

	Timeout  time.Duration  // of a call
	Location *time.Location // of the times in errors; nil: UTC
	User     string         // the ID of the person who has none
	Store    *Store         // nil: the limits are those of this process
	Refuse   bool           // calls that have a limit while the store fails
}

// Budget counts what people use. It is safe for concurrent use.
type Budget struct {
	Options
	local *local
}

// New returns a Budget.
func New(o Options) *Budget {
	o.Location = cmp.Or(o.Location, time.UTC)
	if o.Refuse && o.Store != nil {
		o.Store.meanwhile = "calls that have a limit are refused"
	}
	return &Budget{
		Options: o,
		local:   newLocal(time.Now),
	}
}

// unbegun is how many tokens a request counts of which nothing is known, and of which neither a search
// nor text has come: those of a question.
const unbegun = 10_000

// Taken is what a call has taken, until Settle corrects it.
type Taken struct {
	budget *Budget
	person string
	tokens int64 // that are reserved
	local  int64 // the minute until which they are, in this process
	store  int64 // and in the store
	stored outcome
}

// Take takes a call from what its person may use, and reserves the tokens that its tool usually takes.
// One token must be free. The error is of call.KindLimited; then nothing is taken, unless a store that
// has not answered takes the call.
func (b *Budget) Take(c *call.Call) (*Taken, error) {
	taken := &Taken{
		budget: b,
		person: c.Person.ID,
		tokens: call.TokensOf(c.Tool),
	}
	ask := change{
		calls:   1,
		reserve: taken.tokens,
		minute:  -int64(min(b.Timeout, 24*time.Hour)/time.Minute) - 1,
	}
	buckets := b.buckets(taken.person, ask)
	r, stored := b.Store.take(buckets)
	taken.stored = stored
	taken.store = r.minute
	switch {
	case b.Refuse && stored != storeDone && len(buckets) > 0:
		c.Limit = "store"
		return nil, call.KindLimited.Errorf("the store of the limits fails; ask again in a minute")
	case stored != storeDone:
		r = b.local.take(buckets)
		taken.local = r.minute
	case r.refused == 0: // the buckets of this process take it, too: they decide if the store fails
		ask.anyway = true
		taken.local = b.local.take(b.buckets(taken.person, ask)).minute
	}
	if r.refused == 0 {
		return taken, nil
	}

	refused := buckets[r.refused-1]
	c.Limit = refused.name
	return nil, b.refusal(refused, r)
}

// refusal is the error of a bucket that refuses a call.
func (b *Budget) refusal(refused bucket, r reply) error {
	if r.wait == 0 {
		return call.KindLimited.Errorf("limit of %d %s: %d are used, and calls that are running may "+
			"take the rest; ask again in a minute", refused.limit, refused.words, r.used)
	}
	wait := time.Duration(r.wait) * time.Microsecond
	at := time.Now().Add(wait + time.Minute - 1).In(b.Location)
	format := "15:04"
	if wait > 12*time.Hour {
		format = time.DateOnly + " 15:04"
	}
	minutes := int64((wait + time.Minute - 1) / time.Minute)
	in := fmt.Sprintf("%d min", minutes)
	if minutes >= 60 {
		in = fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return call.KindLimited.Errorf("used %d of %d %s; the next call at %s (%s), in %s",
		r.used, refused.limit, refused.words, at.Format(format), b.Location, in)
}

// Settle notes what a call has used when it has ended, and frees what it had reserved. It returns how
// many of the tokens are a guess: those of requests of which the API has told nothing. Unless it
// counts, the call is given back, too.
func (t *Taken) Settle(used call.Used, counts bool) (guessed int64) {
	guessed = int64(used.Unknown-used.Begun)*unbegun + int64(used.Begun)*t.tokens
	end := change{
		tokens:  used.Usage.Input + used.Usage.Output + guessed,
		reserve: -t.tokens,
		minute:  t.local,
		anyway:  true,
	}
	if !counts {
		end.calls = -1
	}
	b := t.budget
	b.local.take(b.buckets(t.person, end))

	end.minute = t.store
	switch t.stored {
	case storeDone:
		b.Store.settle(b.buckets(t.person, end))
		return guessed
	case storeUnsure: // the script may have run: nothing is given back, or taken twice
		end = change{tokens: max(0, end.tokens-t.tokens), minute: -1, anyway: true}
	case storeUnused: // the store does not know of the call
		end = change{tokens: end.tokens, calls: end.calls + 1, minute: -1, anyway: true}
	}
	b.Store.take(b.buckets(t.person, end))
	return guessed
}

const minute = 60_000_000 // microseconds

// change is what a call changes in the buckets of its person.
type change struct {
	calls, tokens int64 // that are used
	reserve       int64 // tokens, negative at the end of a call
	minute        int64 // until which they are reserved; see take.lua
	anyway        bool  // also if too few are free
}

// bucket is a change of one.
type bucket struct {
	name  string // of the limit, for metrics and logs
	words string // what the units are
	key   string

	period, limit              int64 // microseconds, and units in that time
	need, use, reserve, minute int64 // see take.lua
}

// reply is that of take.lua.
type reply struct{ refused, wait, used, minute int64 }

// buckets returns those that a change is about.
func (b *Budget) buckets(id string, c change) (list []bucket) {
	person := fmt.Sprintf("%.16x", sha256.Sum256([]byte(cmp.Or(id, b.User))))
	const day = 24 * 60 * minute
	for _, l := range []bucket{
		{
			name: "hour", words: "calls an hour", key: person,
			period: 60 * minute, limit: int64(b.CallsPerHour),
			use: c.calls,
		},
		{
			name: "day", words: "tokens a day", key: person,
			period: day, limit: int64(b.TokensPerDay),
			use: c.tokens, reserve: c.reserve,
		},
		{
			name: "all", words: "tokens a day of all people",
			period: day, limit: int64(b.TokensPerDayOfAll),
			use: c.tokens, reserve: c.reserve,
		},
	} {
		if l.limit == 0 || l.use == 0 && l.reserve == 0 {
			continue
		}
		l.need = 1
		if c.anyway {
			l.need = -1 << 50 // less than any bucket has
		}
		l.minute = c.minute
		l.key = l.name + ":" + l.key
		list = append(list, l)
	}
	return list
}
