// Package budget bounds the calls, tokens and money of people, over all replicas where there is a
// store.
//
//	budget.go        Budget: what a call takes at its start
//	settle.go        what a call has used, at its end
//	quotas.go        the quotas, and their buckets
//	change.go        what a call changes in buckets and in the store, and the reply
//	personlimits.go  limits of single people
//	near.go          who has nearly used up a limit
//	local.go         the buckets of this process
//	store.go         the buckets of Valkey or Redis, which replicas share
//	marks.go         what the store remembers of calls and responses
//	pending.go       what the store has missed while it failed
//	connect.go       the URL of the store, and connections to it
//	hints.go         what to do about errors of the store (hints.txt)
//	check.go         checks of the store: whether it drops keys, and its clock
//	report.go        who has used what of the quotas in the store
//	replies.go       bounds of replies, which a connection checks
//	take.lua         the script that changes the buckets of the store
//
// A quota has a bucket for each person, or one for all people. A bucket refills evenly; its limit
// is what refills in a period. While a call runs, it reserves what its tool usually takes. When the
// call ends, what the API reports counts as used instead. If its process is killed, what the call
// has reserved counts as used from its time limit on. A bucket may owe seven periods.
//
// An example: alice may use 100,000 tokens a day, and a call of answer reserves 60,000.
//
//	   0 s  Take: nothing is used, 60,000 are reserved. A second call passes: 120,000 are reserved.
//	   5 s  Take: a third call is refused, as the calls that run have reserved too much.
//	  30 s  Settle: the first call has used 20,000. 60,000 are reserved, and a third call passes.
//	  40 s  The process of the second call is killed. The third call ends, and has used 90,000.
//	  50 s  110,000 are used, 60,000 are reserved: a fourth call is refused.
//	6 min   The time limit of the second call is over: 170,000 are used. The next call may start
//	        in about 17 h, when 70,000 have refilled.
//	7 min   If the second call ran in the background of the API, another process may read its end:
//	        the call has used 15,000. SettleResponse gives 45,000 back, once in all processes.
//
// Each bucket of the store is also in this process. The store decides whether a call may start.
// While the store fails, the buckets of this process decide, or RefuseWithoutStore refuses the
// call. A call whose person has a limit passes these functions:
//
//	Budget.Take              before the call: counts it, and reserves what its tool usually takes
//	  Store.apply            take.lua changes all buckets of the person, or refuses
//	  Store.postpone         if the reply is lost: the call is given back, once, later
//	Taken.Settle             at its end: what is reserved is freed, what the API reported is used
//	  Store.applyOrPostpone  now, or when the store works again (Store.applyPending)
//	Budget.SettleResponse    in another process, if that reads the end of the response: adds the
//	                         difference between used and reserved
//	Store.Probe              each second: while the store fails, a probe, which writes; while the
//	                         store works, applyPending
package budget

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"hash/crc32"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/expire"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Options configure a Budget.
type Options struct {
	Limits

	Prices    map[string]*call.Price // prices of models, by tool; limits in USD need all of them
	Timeout   time.Duration          // time limit of a call
	Location  *time.Location         // time zone of the times in errors; nil is UTC
	DefaultID string                 // whose quotas a call without the ID of a person has
	NoNames   bool                   // names of people are not sent to the store
	Log       *slog.Logger           // may be nil
	Store     *Store                 // nil: only calls of this process count

	RefuseWithoutStore bool // while the store fails, calls that have a limit are refused
}

// Budget counts what people use. It is safe for concurrent use.
type Budget struct {
	Options
	local        *localBuckets
	personLimits atomic.Pointer[PersonLimits]

	nearMu sync.Mutex // guards nearBuckets
	// nearBuckets has the buckets that are nearly used up, by their keys, as far as calls of this
	// process have shown.
	nearBuckets expire.Map[string, nearBucket]
}

// SetPersonLimits sets the limits of single people from now on.
func (b *Budget) SetPersonLimits(p PersonLimits) { b.personLimits.Store(&p) }

// New returns a Budget.
func New(o Options) *Budget {
	o.Location = cmp.Or(o.Location, time.UTC)
	b := &Budget{
		Options:     o,
		local:       newLocalBuckets(time.Now),
		nearBuckets: expire.Map[string, nearBucket]{Expired: nearBucket.isExpired},
	}
	b.SetPersonLimits(nil)
	return b
}

// questionTokens returns a guess of the tokens in the input of a call: a token for four bytes, and
// at least 10,000. countUsed needs it for requests whose usage the API has not reported.
func questionTokens(c *call.Call) int64 {
	bytes := 0
	for _, message := range c.RequestInput {
		bytes += len(message)
	}
	return max(10_000, int64(bytes)/4)
}

// refusedByStore is the RefusedBy of a call that is refused because the store fails.
const refusedByStore = "store"

// usualSearches is how many searches a call usually makes.
const usualSearches = 3

// Taken is what a call has taken from its quotas, until Settle replaces it by what the call has
// used.
type Taken struct {
	budget      *Budget
	person      call.Person
	tool        string
	callName    string // random, by which the store remembers the call
	untilMinute int64  // minute since 1970 at whose end reserved units count as used
	inStore     bool   // the store has taken the call, too
	reserved    amount
	buckets     []bucket // those of the limits in force at the start
	nearWords   nearWords
}

// Take counts a call for its person, and reserves what the tool usually takes. It sets Reservation
// and NearLimit of c. If a quota has no unit free, Take changes nothing, sets RefusedBy of c, and
// returns an error of call.KindLimited. With RefuseWithoutStore, Take also refuses while the store
// fails.
func (b *Budget) Take(c *call.Call) (*Taken, error) {
	taken := &Taken{
		budget:      b,
		person:      c.Person,
		tool:        c.Tool,
		callName:    rand.Text(),
		untilMinute: b.local.minute() + b.reservedMinutes(),
		reserved:    b.reservation(c.Tool),
		buckets:     b.buckets(c.Person),
		nearWords:   nearWords{},
	}
	start := callChange{
		use:     amount{unitCalls: 1},
		reserve: taken.reserved,
		need:    1,
	}

	changes := start.inBuckets(taken.buckets)
	r := taken.takeInStore(changes)
	taken.inStore = r.outcome == made
	switch {
	case taken.inStore: // the local buckets take the call, too: they decide if the store fails
		c.Reservation = b.reservationHash(c.Tool, taken.buckets)
		start.need = 0
		b.local.apply(taken.untilMinute, start.inBuckets(taken.buckets))
	case r.outcome == refusedByBucket: // by the store: the local buckets do not take the call
	case b.RefuseWithoutStore && len(changes) > 0:
		c.RefusedBy = refusedByStore
		return nil, call.KindLimited.Errorf("the store of the limits fails; ask again in a minute")
	default: // notRun or unsure: no store, or it fails. No mark refuses, as callName is new
		r = b.local.apply(taken.untilMinute, changes)
	}

	if r.outcome == made {
		b.noteNear(taken.nearWords, c.Person, changes, r.shares)
		c.NearLimit = taken.nearWords.of(taken.buckets)
		return taken, nil
	}
	refusing := changes[r.refusingBucket-1]
	c.RefusedBy = refusing.Name
	// A limit that refuses is nearly used up. This process may not know: it may have started after the
	// calls that have used it.
	share := r.used * 1000 / refusing.limitUnits
	b.noteNear(taken.nearWords, c.Person, []bucketChange{refusing}, []int64{share})
	return nil, b.refusal(refusing.bucket, r)
}

// reservedMinutes returns how many minutes the units of a call are reserved: its time limit, but at
// most a day, and one more. The store drops reservations more than two days ahead.
func (b *Budget) reservedMinutes() int64 {
	return int64(min(b.Timeout, 24*time.Hour)/time.Minute) + 1
}

// takeInStore takes a call in the store. The outcome is notRun if there is no store or no limit, or
// the store fails. It is unsure if the reply does not come or does not tell: the store may have
// taken the call, which is given back later. After both outcomes Take decides without the store.
func (t *Taken) takeInStore(changes []bucketChange) reply {
	if len(changes) == 0 {
		return reply{outcome: notRun}
	}
	store := t.budget.Store
	r := store.apply(storeChange{
		marks:   []mark{t.budget.startMark(t.callName)},
		minutes: t.budget.reservedMinutes(),
		buckets: changes,
	})

	if r.outcome == unsure {
		back := callChange{
			use:     amount{unitCalls: -1},
			reserve: t.reserved.times(-1),
		}
		store.postpone(storeChange{
			marks:   []mark{closeMark(callKey(t.callName))},
			buckets: back.inBuckets(t.buckets),
		})
	}
	return r
}

// refusal returns the error of a call that a bucket refuses.
func (b *Budget) refusal(refusing bucket, r reply) error {
	used, limit := refusing.unit.format(r.used), refusing.unit.format(refusing.limitUnits)
	if r.waitMicros == 0 {
		return call.KindLimited.Errorf("limit of %s %s: %s are used, and calls that are running may "+
			"take the rest; ask again in a minute", limit, refusing.unitWords(), used)
	}
	wait := time.Duration(r.waitMicros) * time.Microsecond
	at := time.Now().Add(wait + time.Minute - 1).In(b.Location)
	format := "15:04"
	if wait > 12*time.Hour {
		format = time.DateOnly + " 15:04"
	}
	return call.KindLimited.Errorf("used %s of %s %s; the next call at %s (%s), in %s",
		used, limit, refusing.unitWords(), at.Format(format), text.Zone(at), text.Minutes(wait))
}

// storeOf returns the store. It is nil if there is none, or if the person has no limit.
func (b *Budget) storeOf(p call.Person) *Store {
	if len(b.buckets(p)) == 0 {
		return nil
	}
	return b.Store
}

// countUsed returns what a call has used: what the API has reported, and a guess for each request
// whose usage the API has not reported. For a request that had not begun its work, the guess is
// questionTokens. For one that had, it is the reservation of the tool, or questionTokens if these
// are more. countUsed sets GuessedTokens of c.
func (b *Budget) countUsed(tool string, c *call.Call) amount {
	question := questionTokens(c)
	ofOneNotBegun := b.amountOf(tool, question, 0)
	ofOneBegun := b.amountOf(tool, max(question, call.UsualTokensOf(tool)), usualSearches)
	guess := ofOneNotBegun.times(c.UnreportedRequests - c.UnreportedBegun).
		plus(ofOneBegun.times(c.UnreportedBegun))
	c.GuessedTokens = guess[unitTokens]
	return guess.plus(amount{
		unitTokens: c.Usage.Input + c.Usage.Output,
		unitUSD:    b.cost(tool, c.Usage, c.Searches),
	})
}

// reservation returns what a call of a tool usually takes.
func (b *Budget) reservation(tool string) amount {
	return b.amountOf(tool, call.UsualTokensOf(tool), usualSearches)
}

// reservationHash returns a hash of what is reserved for a call of a tool in buckets; never 0.
func (b *Budget) reservationHash(tool string, buckets []bucket) uint16 {
	reserved := b.reservation(tool)
	h := crc32.NewIEEE()
	for _, bk := range buckets {
		fmt.Fprintln(h, bk.Name, reserved[bk.unit])
	}
	return uint16(h.Sum32()) | 1
}

// amountOf returns n tokens, a tenth of them output, and what these tokens and the searches cost in
// the model of a tool.
func (b *Budget) amountOf(tool string, n int64, searches int) amount {
	usage := call.Usage{
		Input:  n - n/10,
		Output: n / 10,
	}
	return amount{
		unitTokens: n,
		unitUSD:    b.cost(tool, usage, searches),
	}
}

// cost returns the cost in the model of a tool, in millionths of a USD; 0 if no price is known.
func (b *Budget) cost(tool string, usage call.Usage, searches int) int64 {
	price := b.Prices[tool]
	if price == nil {
		return 0
	}
	return millionths(price.Cost(usage, searches))
}
