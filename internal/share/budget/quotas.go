package budget

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"math"
	"slices"
	"strconv"

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

	unit   unit
	period refillPeriod
	ofAll  bool // one bucket for all people, not one for each person; its Name ends in all
}

// maxUsedPeriods is how many limits a bucket may have used: it may owe seven periods. take.lua has
// the same number.
const maxUsedPeriods = 8

// Quotas returns the quotas, also those without a limit. There may be eight at most: a reply of
// take.lua has a number for each, and one more (replyConn).
//
// The names are in keys of the store, metrics and errors, so they do not change: "all" is the name
// for the tokens of all people.
func (l Limits) Quotas() []Quota {
	return []Quota{
		{"hour", "calls_per_hour", float64(l.CallsPerHour), unitCalls, anHour, false},
		{"day", "tokens_per_day", float64(l.TokensPerDay), unitTokens, aDay, false},
		{"all", "tokens_per_day_of_all", float64(l.TokensPerDayOfAll), unitTokens, aDay, true},
		{"usd", "usd_per_day", l.USDPerDay, unitUSD, aDay, false},
		{"usd_all", "usd_per_day_of_all", l.USDPerDayOfAll, unitUSD, aDay, true},
	}
}

// personQuotas returns the quotas of each person, without their limits.
func personQuotas() []Quota { return quotas(false) }

// quotas returns the quotas of all people together, or those of each person, without their limits.
func quotas(ofAll bool) []Quota {
	return slices.DeleteFunc(Limits{}.Quotas(), func(q Quota) bool { return q.ofAll != ofAll })
}

// HaveUSD reports whether there is a limit in USD.
func (l Limits) HaveUSD() bool {
	for _, q := range l.Quotas() {
		if q.InUSD() && q.Limit > 0 {
			return true
		}
	}
	return false
}

// unitWords returns words for the units of a quota in its period, such as "tokens a day".
func (q Quota) unitWords() string {
	words := unitNames[q.unit] + " " + q.period.words
	if q.ofAll {
		words += " of all people"
	}
	return words
}

// InUSD reports whether the quota counts money.
func (q Quota) InUSD() bool { return q.unit == unitUSD }

// Usage returns the usage of the quota's flag. As package pflag wants it, the name of the value is in
// backquotes.
func (q Quota) Usage() string {
	people, value, prices := "one person", "`N` "+unitNames[q.unit], ""
	if q.ofAll {
		people = "all people"
	}
	if q.InUSD() {
		value = "`USD`"
		prices = "; needs prices in the configuration"
	}
	return fmt.Sprintf("limit for %s: %s in %s, at first all at once; 0: no limit%s",
		people, value, q.period.length, prices)
}

// indexKey returns the key of the index of people (see take.lua). The keys of the quota's buckets
// begin with it.
func (q Quota) indexKey() string { return q.Name + ":" }

// refillPeriod is the time in which a limit refills.
type refillPeriod struct {
	words  string // such as a day
	length string
	micros int64 // microseconds
}

const minuteMicros = 60_000_000 // microseconds

var (
	anHour = refillPeriod{"an hour", "an hour", 60 * minuteMicros}
	aDay   = refillPeriod{"a day", "24 hours", 24 * 60 * minuteMicros}
)

// unit is what a quota counts.
type unit int

const (
	unitCalls unit = iota
	unitTokens
	unitUSD // millionths of a USD
	nUnits  = int(iota)
)

// unitNames has the name of each unit.
var unitNames = [nUnits]string{
	unitCalls:  "calls",
	unitTokens: "tokens",
	unitUSD:    "USD",
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

// millionths returns an amount of USD in millionths, rounded, and 1<<61 at most: sums of what a
// faulty server reports do not overflow.
func millionths(usd float64) int64 { return int64(min(math.Round(usd*1e6), 1<<61)) }

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

// bucket is the bucket of a person, or of all people, for a quota. Its content is a bucketState.
type bucket struct {
	Quota
	key        string
	personName string // "" if the store does not get it
	limitUnits int64  // units in a period

	limitEnded bool // the limit ended while the call ran: noteNear leaves the corrected bucket out
}

// storedName returns the name of a person as the store gets it; "" if the store gets none.
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

// RefusedByValues returns the values that RefusedBy may have for calls of a person: the names of
// the quotas with a limit and, with RefuseWithoutStore, refusedByStore. It returns nil if the
// person has no limit.
func (b *Budget) RefusedByValues(p call.Person) (names []string) {
	for _, bk := range b.buckets(p) {
		names = append(names, bk.Name)
	}
	if b.RefuseWithoutStore && names != nil {
		names = append(names, refusedByStore)
	}
	return names
}

// buckets returns the buckets of a person and of all people for the quotas that have a limit.
func (b *Budget) buckets(person call.Person) (list []bucket) {
	id := pseudonym(cmp.Or(person.ID, b.DefaultID))
	personLimits := (*b.personLimits.Load())[person.ID]
	for _, q := range b.Limits.Quotas() {
		limit, replaced := personLimits[q.Setting]
		if replaced {
			q.Limit = limit
		}
		if q.Limit == 0 {
			continue
		}

		bk := bucket{
			Quota:      q,
			key:        q.indexKey(),
			limitUnits: int64(min(q.Limit, MaxLimit)),
		}
		if q.InUSD() {
			bk.limitUnits = max(millionths(q.Limit), 1)
		}
		if !q.ofAll {
			bk.key += id
			bk.personName = b.storedName(person)
		}
		list = append(list, bk)
	}
	return list
}
