package budget

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"strconv"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Limits are those of the quotas. 0 is none.
type Limits struct {
	CallsPerHour      int     // that one person starts
	TokensPerDay      int     // of one person
	TokensPerDayOfAll int     // of all people
	USDPerDay         float64 // of one person
	USDPerDayOfAll    float64 // of all people
}

// Quota is what one of the Limits counts.
type Quota struct {
	Name    string  // in metrics and logs, when it refuses a call
	Setting string  // in the configuration
	Limit   float64 // in calls, tokens or USD; 0: none

	unit  unit
	ofAll bool // of all people, not of one
}

// All returns the quotas, also those without a limit.
func (l Limits) All() []Quota {
	return []Quota{
		{"hour", "calls_per_hour", float64(l.CallsPerHour), calls, false},
		{"day", "tokens_per_day", float64(l.TokensPerDay), tokens, false},
		{"all", "tokens_per_day_of_all", float64(l.TokensPerDayOfAll), tokens, true},
		{"usd", "usd_per_day", l.USDPerDay, usd, false},
		{"usd_all", "usd_per_day_of_all", l.USDPerDayOfAll, usd, true},
	}
}

// HaveUSD reports whether there is a limit in USD.
func (l Limits) HaveUSD() bool { return l.USDPerDay > 0 || l.USDPerDayOfAll > 0 }

// words are those for the units in a period.
func (q Quota) words() string {
	words := units[q.unit].words
	if q.ofAll {
		words += " of all people"
	}
	return words
}

// period is the time in which a bucket refills, in microseconds.
func (q Quota) period() int64 { return units[q.unit].period }

const oneMinute = 60_000_000 // microseconds

// unit is what a quota counts.
type unit int

const (
	calls unit = iota
	tokens
	usd     // millionths
	settled // of no quota: whether the end of a response is settled, see endOf
	started // of no quota: whether the store has taken a call, see startOf
	nUnits  = int(iota)
)

const oneDay = 24 * 60 * oneMinute

// units has the words of a unit in its period, and the period, in microseconds.
var units = [nUnits]struct {
	words  string
	period int64
}{
	calls:   {"calls an hour", 60 * oneMinute},
	tokens:  {"tokens a day", oneDay},
	usd:     {"USD a day", oneDay},
	settled: {"", onceParts * 2 * oneDay}, // one part refills in two days
	started: {"", onceParts * 60 * oneMinute},
}

// format returns a number of units in words.
func (u unit) format(n int64) string {
	switch {
	case u != usd:
		return strconv.FormatInt(n, 10)
	case n < 1e6:
		return strconv.FormatFloat(float64(n)/1e6, 'f', -1, 64)
	}
	return strconv.FormatFloat(float64(n)/1e6, 'f', 2, 64)
}

// maxLimit bounds limits: eight times as much is an int64.
const maxLimit = 1e18

// MaxUSD is the highest limit in USD.
const MaxUSD = 1e6

// millionths rounds an amount of USD.
func millionths(usd float64) int64 { return int64(math.Round(usd * 1e6)) }

// amount is how much calls take, by unit.
type amount [nUnits]int64

// oneOfEach is one of each unit.
func oneOfEach() (a amount) {
	for u := range a {
		a[u] = 1
	}
	return a
}

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

// change is what a call changes in the buckets of its person.
type change struct {
	use     amount // negative: given back
	reserve amount // negative at the end of a call
	minute  int64  // since 1970, until which it is reserved; if negative, so many minutes from now
	anyway  bool   // also if too little is free
	settles string // the response whose end it is; the change is refused if that was settled before
}

// noMinute is the minute of a change that reserves nothing. As any, it must not be 0: it is the
// next one.
const noMinute = -1

// bucketChange is what a change does to one bucket, whose content is a state.
type bucketChange struct {
	Quota
	key  string
	name string // of the person; "": it is not stored

	limit                      int64 // units in a period
	need, use, reserve, minute int64 // see take.lua
}

// reply says whether a bucket has refused a change.
type reply struct {
	refused int64 // the number of the bucket that refuses for the longest time, from 1 on; 0: none does
	wait    int64 // microseconds until that bucket refuses no more; 0: calls that run are in the way
	used    int64 // units of that bucket

	// minute is until when units are reserved; or when the bucket that refuses was last changed.
	minute int64

	ofPerson share // if no bucket refuses: of the fullest bucket of the person
	ofAll    share // of the fullest bucket of all people
}

// share is what a bucket has used of its limit: 16 times the thousandths, and the number of the
// bucket from 1 on; 0: there is none.
type share int64

func (s share) thousandths() int64 { return int64(s) / 16 }

// bucket returns the number of the bucket.
func (s share) bucket() int64 { return int64(s) % 16 }

// onceParts are the units of a bucket that remembers something. A few of them are less than a
// thousandth, so that no reply names this bucket as the fullest.
const onceParts = 10_000

// What is used of the bucket of a start tells who was first, for an hour: in that one part refills.
const (
	byCall     = 2
	byGiveBack = 1 // of a call that may have been taken
)

// once returns a bucket that refuses the second change: it must be full. The r is no hexadecimal
// digit, so that take.lua keeps no index of it.
func once(of unit, kind, name string) bucketChange {
	return bucketChange{
		Quota:  Quota{unit: of},
		key:    kind + ":r" + idOf(name),
		limit:  onceParts,
		need:   onceParts,
		use:    1,
		minute: noMinute,
	}
}

// endOf returns a bucket that remembers the end of a response for two days. Ids of responses last
// for 25 hours at most.
func endOf(response string) bucketChange { return once(settled, "end", response) }

// startOf returns a bucket that remembers for two hours that the store has taken a call, by a random
// name.
func startOf(call string) bucketChange {
	start := once(started, "call", call)
	start.use = byCall
	return start
}

// name is that of a person in the store.
func (b *Budget) name(p call.Person) string {
	switch {
	case b.NoNames:
		return ""
	case p.ID == "":
		return b.User
	}
	return p.Name
}

// idOf returns the pseudonym of a person or a response in the store.
func idOf(name string) string {
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(name)))
}

// InForce returns the names of what may refuse the calls of a person.
func (b *Budget) InForce(p call.Person) (names []string) {
	for _, c := range b.changes(p, change{use: oneOfEach()}) {
		names = append(names, c.Name)
	}
	if b.Refuse && names != nil {
		names = append(names, ofStore)
	}
	return names
}

// changes returns what a change does to each bucket that it is about.
func (b *Budget) changes(person call.Person, c change) (list []bucketChange) {
	if c.settles != "" {
		list = append(list, endOf(c.settles))
	}
	id := idOf(cmp.Or(person.ID, b.User))
	own := (*b.people.Load())[person.ID]
	for _, q := range b.Limits.All() {
		limit, replaced := own[q.Setting]
		if replaced {
			q.Limit = limit
		}
		of := bucketChange{
			Quota:   q,
			key:     q.Name + ":",
			limit:   int64(min(q.Limit, maxLimit)),
			need:    1,
			use:     c.use[q.unit],
			reserve: c.reserve[q.unit],
			minute:  c.minute,
		}

		if q.Limit == 0 || of.use == 0 && of.reserve == 0 {
			continue
		}
		if q.unit == usd {
			of.limit = max(millionths(q.Limit), 1)
		}
		if !q.ofAll {
			of.key += id
			of.name = b.name(person)
		}
		if c.anyway {
			of.need = -1 << 50 // less than any bucket has
		}
		list = append(list, of)
	}
	return list
}
