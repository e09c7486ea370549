package budget

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Limits are the limits of the quotas. 0 is no limit.
type Limits struct {
	CallsPerHour      int     // calls that one person starts
	TokensPerDay      int     // tokens of one person
	TokensPerDayOfAll int     // tokens of all people together
	USDPerDay         float64 // cost of one person
	USDPerDayOfAll    float64 // cost of all people together
}

// Quota is one of the Limits with its names and what it counts.
type Quota struct {
	Name    string  // name in metrics and logs, and in the store
	Setting string  // name in the configuration
	Limit   float64 // calls, tokens or USD; 0 is no limit

	unit  unit
	ofAll bool // one bucket for all people, not one for each person
}

// Quotas returns the quotas, also those without a limit.
func (l Limits) Quotas() []Quota {
	return []Quota{
		{"hour", "calls_per_hour", float64(l.CallsPerHour), unitCalls, false},
		{"day", "tokens_per_day", float64(l.TokensPerDay), unitTokens, false},
		{"all", "tokens_per_day_of_all", float64(l.TokensPerDayOfAll), unitTokens, true},
		{"usd", "usd_per_day", l.USDPerDay, unitUSD, false},
		{"usd_all", "usd_per_day_of_all", l.USDPerDayOfAll, unitUSD, true},
	}
}

// quotas returns the quotas of all people together, or those of each person. They have no limits.
func quotas(ofAll bool) []Quota {
	return slices.DeleteFunc(Limits{}.Quotas(), func(q Quota) bool { return q.ofAll != ofAll })
}

// HaveUSD reports whether there is a limit in USD.
func (l Limits) HaveUSD() bool { return l.USDPerDay > 0 || l.USDPerDayOfAll > 0 }

// unitWords returns words for the units of a quota in its period, such as "tokens a day".
func (q Quota) unitWords() string {
	words := unitTable[q.unit].words
	if q.ofAll {
		words += " of all people"
	}
	return words
}

const minuteMicros = 60_000_000 // microseconds

// unit is what a quota counts.
type unit int

const (
	unitCalls unit = iota
	unitTokens
	unitUSD // millionths of a USD
	nUnits  = int(iota)
)

const dayMicros = 24 * 60 * minuteMicros

// unitTable has the words for each unit in its period, and this period, in microseconds.
var unitTable = [nUnits]struct {
	words        string
	periodMicros int64
}{
	unitCalls:  {"calls an hour", 60 * minuteMicros},
	unitTokens: {"tokens a day", dayMicros},
	unitUSD:    {"USD a day", dayMicros},
}

// format formats a number of units; millionths of a USD become USD.
func (u unit) format(n int64) string {
	switch {
	case u != unitUSD:
		return strconv.FormatInt(n, 10)
	case n < 1e6:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 2, 64)
}

// MaxLimit is the highest limit in calls or tokens. A float64, a number in the script and one in
// JSON hold it exactly.
const MaxLimit = 1e15 - 1

// MaxUSD is the highest limit in USD.
const MaxUSD = 1e6

// millionths returns an amount of USD in millionths, rounded.
func millionths(usd float64) int64 { return int64(math.Round(usd * 1e6)) }

// amount is how much calls take of each unit.
type amount [nUnits]int64

func (a amount) plus(more amount) amount {
	for u := range a {
		a[u] += more[u]
	}
	return a
}

func (a amount) times(n int) amount {
	for u := range a {
		a[u] *= int64(n)
	}
	return a
}

// callChange is what a call changes in the buckets of its person and of all people.
type callChange struct {
	use         amount // negative if units are given back
	reserve     amount // negative at the end of a call
	untilMinute int64  // since 1970, until which units are reserved; negative: see minutesFromNow
	force       bool   // no quota refuses, even if too little is free; endMark still may
	responseID  string // the response that the change settles, refused if it was settled; "": none
}

// minutesFromNow returns the untilMinute of a change that reserves units for a time from now on:
// the minutes and one more, below 0, such as -6 for 5 minutes. take.lua subtracts it from the
// minute on its own clock, and replies with the result. A change that reserves nothing has
// minutesFromNow(0), because a reply with the minute 0 is not valid.
func minutesFromNow(d time.Duration) int64 { return -int64(d/time.Minute) - 1 }

// minuteAt returns the minute since 1970 that untilMinute is at the minute now.
func minuteAt(now, untilMinute int64) int64 {
	if untilMinute < 0 { // of minutesFromNow
		return now - untilMinute
	}
	return untilMinute
}

// bucketChange is what a change does to one bucket, whose content is a bucketState.
type bucketChange struct {
	Quota              // the zero value: see isOfNoQuota
	periodMicros int64 // in which the limit refills, in microseconds
	key          string
	personName   string // name of the person; "" if the store does not get it

	limitUnits int64 // units in a period

	// Units that must be free, that are used, and that are reserved until a minute (take.lua).
	need, use, reserve, untilMinute int64

	limitEnded bool // while the call ran: the bucket is corrected, and no limit is nearly used up
}

// isOfNoQuota reports whether the bucket is a mark (see onceMark), or that of probe.
func (b bucketChange) isOfNoQuota() bool { return b.Quota == Quota{} }

// reply is the result of changes, which numbers their buckets from 1 on: either one has refused
// them, or all are changed.
type reply struct {
	refusedBucket int64 // number of the bucket that refuses for the longest time; 0 if none does
	waitMicros    int64 // microseconds until it refuses no more; 0: running calls are in the way
	used          int64 // used units of the bucket that refuses

	changedAtMinute int64 // minute since 1970 in which the bucket that refuses was last changed

	// If no bucket refuses:
	ofPerson    mostUsed // the most used bucket of the person
	ofAllPeople mostUsed // that of all people

	// untilMinute is the minute since 1970 until which the last change reserves units. Marks have a
	// minute of their own, and come before the other changes.
	untilMinute int64
}

// mostUsed is a bucket that has a larger part of its limit used than others. The zero value is
// none.
type mostUsed struct {
	thousandths int64 // of the limit
	bucket      int64 // the number of the bucket
}

// more returns the more used of two buckets.
func (u mostUsed) more(v mostUsed) mostUsed {
	if v.thousandths >= max(u.thousandths, 1) {
		return v
	}
	return u
}

// onceLimit is the limit of a mark, in units. At most nine of them are used, which is less than a
// thousandth, so that no reply names a mark as the most used bucket.
const onceLimit = 10_000

// What uses the bucket of startMark. Replies round up, so for the first hour 2 used units say that
// the store has taken the call, and 1 that giveBackLater was first.
const (
	usedByCall     = 2
	usedByGiveBack = 1
	usedByEnd      = 7
)

// onceMark returns a change of a mark: a bucket of no quota by which the store remembers an event.
// The change uses one unit, which refills in the time refill. It is refused, and with it all
// changes that are sent with it, unless all units are free: so it succeeds once. These are the
// marks:
//
//	mark          key             needs    uses   so it succeeds
//	startMark     call:NAME       10,000   2      once: the store takes the call
//	settledMark   call:NAME        9,998   7      once in 7 hours: the end of the call
//	giveBackLater call:NAME       10,000   1      if the store has not taken the call, which it
//	                                              then refuses to take
//	              back:NAME       10,000   1      once in an hour: the call is given back
//	forgetMark    call:NAME            0   -9     always: nothing is used, and the key is deleted
//	endMark       end:RESPONSE    10,000   1      once in two days: the response is settled
//
// A unit of endMark refills in two days, and one of any other mark in an hour. Keys have the
// pseudonyms of names, behind an r, which is no hexadecimal digit: so take.lua keeps no index of
// them.
func onceMark(refill time.Duration, kind, name string) bucketChange {
	return bucketChange{
		periodMicros: onceLimit * refill.Microseconds(),
		key:          kind + ":r" + pseudonym(name),
		limitUnits:   onceLimit,
		need:         onceLimit,
		use:          1,
		untilMinute:  minutesFromNow(0),
	}
}

// endMark returns the change of the mark of a response. A sealed id lasts for at most an hour
// beyond the time limit of calls, which is far less than two days.
func endMark(response string) bucketChange {
	return onceMark(48*time.Hour, "end", response)
}

// startMark returns the change of the mark of a call at its start. name is the random name of the
// call.
func startMark(name string) bucketChange {
	start := onceMark(time.Hour, "call", name)
	start.use = usedByCall
	return start
}

// settledMark returns the change of that mark at the end of the call. An end without a reply is
// sent again, and refused if the store has it: for seven hours, or for five if startMark was gone.
func settledMark(name string) bucketChange {
	settled := startMark(name)
	settled.need -= usedByCall
	settled.use = usedByEnd
	return settled
}

// forgetMark returns the change that deletes the key of startMark, for when the store has replied
// to the start and to the end of the call: neither can come again.
func forgetMark(name string) bucketChange {
	forgotten := startMark(name)
	forgotten.need = 0
	forgotten.use = -usedByCall - usedByEnd
	return forgotten
}

// storedName returns the name of a person as the store gets it; "" if it does not.
func (b *Budget) storedName(p call.Person) string {
	switch {
	case b.NoNames:
		return ""
	case p.ID == "":
		return b.DefaultID
	}
	return p.Name
}

// pseudonym returns the pseudonym of a person, a call or a response in the store.
func pseudonym(name string) string {
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(name)))
}

// QuotaNames returns the values that RefusedBy may have for calls of a person: the names of the
// quotas with a limit, and with RefuseWithoutStore that of a failing store. It returns nil if the
// person has no limit.
func (b *Budget) QuotaNames(p call.Person) (names []string) {
	each := callChange{}
	for u := range each.use {
		each.use[u] = 1
	}
	for _, c := range b.bucketChanges(p, each) {
		names = append(names, c.Name)
	}
	if b.RefuseWithoutStore && names != nil {
		names = append(names, refusedByStore)
	}
	return names
}

// with returns what a change does to the bucket of a quota.
func (b bucketChange) with(c callChange) bucketChange {
	b.need = 1
	if c.force {
		b.need = -1 << 50 // below the free units of any usual bucket, which may be negative
	}
	b.use = c.use[b.unit]
	b.reserve = c.reserve[b.unit]
	b.untilMinute = c.untilMinute
	return b
}

// bucketChanges returns what a change does to each bucket that it affects. With a responseID the
// first one is endMark. Quotas without a limit are left out.
func (b *Budget) bucketChanges(person call.Person, c callChange) (list []bucketChange) {
	if c.responseID != "" {
		list = append(list, endMark(c.responseID))
	}
	id := pseudonym(cmp.Or(person.ID, b.DefaultID))
	personLimits := (*b.personLimits.Load())[person.ID]
	for _, q := range b.Limits.Quotas() {
		limit, replaced := personLimits[q.Setting]
		if replaced {
			q.Limit = limit
		}
		bc := bucketChange{
			Quota:        q,
			periodMicros: unitTable[q.unit].periodMicros,
			key:          q.Name + ":",
			limitUnits:   int64(min(q.Limit, MaxLimit)),
		}.with(c)

		if q.Limit == 0 || bc.use == 0 && bc.reserve == 0 {
			continue
		}
		if q.unit == unitUSD {
			bc.limitUnits = max(millionths(q.Limit), 1)
		}
		if !q.ofAll {
			bc.key += id
			bc.personName = b.storedName(person)
		}
		list = append(list, bc)
	}
	return list
}
