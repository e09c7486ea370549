// Package budget bounds the calls, tokens and money of people, over all replicas where there is a
// store.
//
//	budget.go   Budget: what a call takes, and how that is corrected at its end
//	quotas.go   the quotas: what they count, and in what period
//	people.go   limits of single people
//	near.go     who has nearly used a limit up
//	local.go    the buckets of this process
//	store.go    the buckets of Valkey or Redis, which replicas share
//	hints.go    what to do about errors of the store, which hints.txt has
//	check.go    checks of the store: whether it drops keys, and its clock
//	report.go   who has used what of the quotas in the store
//	replies.go  the connection to the store, which bounds replies
//	take.lua    the script that changes the buckets of the store
//
// A limit is a quota: a bucket for each person that refills evenly in its period. While a call
// runs, what its tool usually takes is reserved; at its end it uses what the API says. A call that
// has not ended by its time limit, because its process was killed, uses what is reserved. A bucket
// may owe seven periods.
//
// An example: alice may use 100,000 tokens a day, and a call of answer reserves 60,000.
//
//	   0 s  Take: nothing is used, 60,000 are reserved. A second call passes: 120,000 are reserved.
//	   5 s  Take: a third call is refused, as calls that run are in the way.
//	  30 s  Settle: the first call has used 20,000. 60,000 are reserved, and a third call passes.
//	  40 s  The process of the second call is killed. The third one ends, and has used 90,000.
//	  50 s  110,000 are used, 60,000 are reserved: a fourth call is refused.
//	6 min   The time limit of the second call is over: 170,000 are used. The next call may start
//	        in about 17 h, when 70,000 have refilled.
//	7 min   If the second call ran in the background of the API, another process may read its end:
//	        it has used 15,000. SettleResponse gives 45,000 back, once in all processes.
package budget

import (
	"cmp"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Options configure a Budget.
type Options struct {
	Limits

	Prices   map[string]*call.Price // of the models, by tool; limits in USD need all
	Timeout  time.Duration          // of a call
	Location *time.Location         // of the times in errors; nil: UTC
	User     string                 // the ID of the person who has none
	NoNames  bool                   // the store gets no names of people
	Log      *slog.Logger           // nil: discard
	Store    *Store                 // nil: the limits are those of this process
	Refuse   bool                   // calls that have a limit while the store fails
}

// Budget counts what people use. It is safe for concurrent use.
type Budget struct {
	Options
	local  *local
	near   *near
	people atomic.Pointer[People]
}

// SetPeople sets the limits of single people from now on.
func (b *Budget) SetPeople(p People) { b.people.Store(&p) }

// New returns a Budget.
func New(o Options) *Budget {
	o.Location = cmp.Or(o.Location, time.UTC)
	if o.Refuse && o.Store != nil {
		o.Store.meanwhile = "calls that have a limit are refused"
	}
	b := &Budget{
		Options: o,
		local:   newLocal(time.Now),
		near:    newNear(),
	}
	b.SetPeople(nil)
	return b
}

// unbegun is how many tokens a request counts of which nothing is known, and of which neither a
// search nor text has come: those of a question.
const unbegun = 10_000

// ofStore is what refuses a call while the store fails.
const ofStore = "store"

// usualSearches are those of a call of which nothing else is known.
const usualSearches = 3

// Taken is what a call has taken, until Settle corrects it.
type Taken struct {
	Response string // of the API, whose end other processes may read (SettleResponse); "": none
	Left     bool   // who reads the end of the response counts a call that the store does not have

	budget   *Budget
	person   call.Person
	tool     string
	reserved amount

	localUntil int64 // the minute until which the local buckets reserve that; 0: they do not
	storeUntil int64 // the minute until which the store does; 0: it does not
	stored     bool  // the store has the call
}

// Take takes a call from what its person may use, and reserves what its tool usually takes. One
// unit of each limit must be free. The error is of call.KindLimited; then nothing is taken.
func (b *Budget) Take(c *call.Call) (*Taken, error) {
	taken := &Taken{
		budget:   b,
		person:   c.Person,
		tool:     c.Tool,
		reserved: b.reserved(c.Tool),
	}
	ask := change{
		use:     amount{calls: 1},
		reserve: taken.reserved,
		minute:  -int64(min(b.Timeout, 24*time.Hour)/time.Minute) - 1,
	}

	changes := b.changes(taken.person, ask)
	inStore := changes
	name := rand.Text() // tells later if a store that has not answered has taken the call
	if len(changes) > 0 {
		inStore = append([]bucketChange{startOf(name)}, changes...)
	}
	r, o := b.Store.apply(inStore)
	taken.stored = o == storeDone
	taken.storeUntil = r.minute
	c.Unreserved = !taken.stored
	if o == storeUnsure { // what it may have taken is given back, and the call is as one without the store
		b.Store.giveBack(name, b.changes(taken.person, change{
			use:     amount{calls: -1},
			reserve: taken.reserved.times(-1),
			minute:  ask.minute,
			anyway:  true,
		}))
	}

	switch {
	case taken.stored:
		changes = inStore   // whose numbers r has
		if r.refused == 0 { // the buckets of this process take it, too: they decide if the store fails
			ask.anyway = true
			taken.localUntil = b.local.apply(b.changes(taken.person, ask)).minute
		}
	case b.Refuse && len(changes) > 0:
		c.RefusedBy = ofStore
		return nil, call.KindLimited.Errorf("the store of the limits fails; ask again in a minute")
	default:
		r = b.local.apply(changes)
		taken.localUntil = r.minute
	}

	if r.refused == 0 {
		c.NearLimit = b.note(c.Person, changes, r)
		return taken, nil
	}
	refused := changes[r.refused-1]
	c.RefusedBy = refused.Name
	return nil, b.refusal(refused, r)
}

// refusal is the error of a bucket that refuses a call.
func (b *Budget) refusal(refused bucketChange, r reply) error {
	used, limit := refused.unit.format(r.used), refused.unit.format(refused.limit)
	if r.wait == 0 {
		return call.KindLimited.Errorf("limit of %s %s: %s are used, and calls that are running may "+
			"take the rest; ask again in a minute", limit, refused.words(), used)
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
	return call.KindLimited.Errorf("used %s of %s %s; the next call at %s (%s), in %s",
		used, limit, refused.words(), at.Format(format), b.Location, in)
}

// Settle notes what a call has used when it has ended, and frees what it had reserved. Unless it
// counts, the call is given back, too. It sets Guessed and NearLimit. If another process has
// settled the Response, first is false, and what is reserved counts as used.
func (t *Taken) Settle(c *call.Call, counts bool) (first bool) {
	b := t.budget
	end := change{
		use:     b.used(t.tool, c),
		reserve: t.reserved.times(-1),
		anyway:  true,
	}
	if !counts {
		end.use[calls] = -1
	}
	changes := b.changes(t.person, t.endHere(end))
	r := b.local.apply(changes)

	store := b.storeOf(t.person)
	apply := store.apply
	if t.stored || t.Response != "" { // if it fails now, it gets the end later
		apply = store.applyOrKeep
	}
	inStore := b.changes(t.person, t.endInStore(end))
	storeReply, o := apply(inStore)
	if o == storeDone {
		changes, r = inStore, storeReply
	}
	c.NearLimit = cmp.Or(b.note(t.person, changes, r), c.NearLimit)
	return storeReply.refused == 0 // else another process has settled the response
}

// endHere returns the end of a call in the local buckets. If they have reserved nothing for it, the
// limit is younger than the call.
func (t *Taken) endHere(end change) change {
	end.minute = t.localUntil
	if t.localUntil == 0 {
		end.reserve = amount{}
	}
	return end
}

// endInStore returns the end of a call in the store. A call that the store does not have is taken,
// too, unless it is Left.
func (t *Taken) endInStore(end change) change {
	end.minute = t.storeUntil
	end.settles = t.Response
	switch {
	case t.stored:
		return end
	case t.Left: // SettleResponse takes the call
		return change{}
	}
	end.use[calls]++
	end.minute = noMinute
	end.reserve = amount{}
	return end
}

// SettleResponse notes what a response has used whose call another process runs, or ran: what that
// process has reserved counts as used, unless the call is Unreserved. c has the person, the tool
// and what the API says; Guessed is set.
//
// All replicas of a store remember the response for two days: first is false if it was settled
// before, and nothing is noted. While the store fails first is false, too, and the end is noted
// later. It is always false without a store, and for a person without a limit, for whom the store
// is not asked: the process that ran the call may have noted its end.
func (b *Budget) SettleResponse(c *call.Call, response string) (first bool) {
	store := b.storeOf(c.Person)
	if store == nil {
		return false
	}
	use := b.used(c.Tool, c)
	end := change{
		use:     use.plus(b.reserved(c.Tool).times(-1)),
		minute:  noMinute,
		anyway:  true,
		settles: response,
	}
	if c.Unreserved {
		end.use = use
		end.use[calls] = 1
	}
	inStore := b.changes(c.Person, end)
	r, o := store.applyOrKeep(inStore)
	if o != storeDone || r.refused != 0 {
		return false
	}
	b.note(c.Person, inStore, r)

	end.use = use // the local buckets have nothing reserved for it
	end.settles = ""
	b.local.apply(b.changes(c.Person, end))
	return true
}

// storeOf returns the store, or nil if there is none, or no limit for a person.
func (b *Budget) storeOf(p call.Person) *Store {
	all := change{use: oneOfEach()}
	if len(b.changes(p, all)) == 0 {
		return nil
	}
	return b.Store
}

// used is what a call has used, as the API says. It sets Guessed, of requests of which the API has
// told nothing.
func (b *Budget) used(tool string, c *call.Call) amount {
	guess := b.usual(tool, unbegun, 0).times(c.Unreported - c.Begun).
		plus(b.reserved(tool).times(c.Begun))
	c.Guessed = guess[tokens]
	return guess.plus(amount{
		tokens: c.Usage.Input + c.Usage.Output,
		usd:    b.cost(tool, c.Usage, c.Searches),
	})
}

// reserved is what a call of a tool usually takes.
func (b *Budget) reserved(tool string) amount {
	return b.usual(tool, call.TokensOf(tool), usualSearches)
}

// usual is a number of tokens and searches of a tool, where nothing else is known: a tenth of the
// tokens is output.
func (b *Budget) usual(tool string, n int64, searches int) amount {
	usage := call.Usage{
		Input:  n - n/10,
		Output: n / 10,
	}
	return amount{
		tokens: n,
		usd:    b.cost(tool, usage, searches),
	}
}

// cost returns what a tool's model costs, in millionths of a USD; without a price 0.
func (b *Budget) cost(tool string, usage call.Usage, searches int) int64 {
	price := b.Prices[tool]
	if price == nil {
		return 0
	}
	return millionths(price.Cost(usage, searches))
}
