package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	reportTimeout = 10 * time.Second // for all commands of a report
	maxPeople     = 20               // people in a report
	batchSize     = 1000             // keys that are read at once

	allPeople = "" // in place of a pseudonym: all people together
	noBound   = 0  // in place of a number of people
)

// QuotaUsage is what a person, or all people together, have used of a quota.
type QuotaUsage struct {
	Name      string // name of the person as in the log, or the ID; "" for all people
	Pseudonym string // half of the SHA-256 of the person's ID; "" for all people
	Limit     string // limit in force, with its unitWords
	Used      string
	Reserved  string // for calls that run
	Left      string
	UnusedAt  time.Time // when nothing is used any more

	share float64 // part of the limit that is used or reserved
}

// Report returns what a person has used, by quota. Without a name it returns what all people
// together have used, and then up to maxPeople people who have used the most of a limit. The error
// is of the store. A name is one of
//
//	the name of a token
//	an ID, such as token:alice, or issuer and subject with a blank between
//	a name in the store
func (s *Store) Report(ctx context.Context, name string) (list []QuotaUsage, err error) {
	err = s.withAdminConn(ctx, func(ac *adminConn) {
		if name != "" {
			list = slices.Concat(ac.usages(ac.pseudonymsByName(name))...)
			return
		}
		people := ac.usages(ac.topPseudonyms(maxPeople))
		maxShare := func(usages []QuotaUsage) (share float64) {
			for _, usage := range usages {
				share = max(share, usage.share)
			}
			return share
		}
		slices.SortStableFunc(people, func(a, b []QuotaUsage) int {
			return cmp.Compare(maxShare(b), maxShare(a))
		})
		people = people[:min(len(people), maxPeople)]
		list = slices.Concat(append(ac.usages([]string{allPeople}), people...)...)
	})
	return list, err
}

// Reset forgets what a person has used. The error is of the store, or says that no person with this
// name has a usage, or that several people have the name.
func (s *Store) Reset(ctx context.Context, name string) error {
	err := errors.New("no limit counts any usage of this name")
	failure := s.withAdminConn(ctx, func(ac *adminConn) {
		people := ac.usages(ac.pseudonymsByName(name))
		if len(people) > 1 {
			err = errors.New("several people have this name: write token:NAME, or issuer and subject")
		}
		if len(people) != 1 {
			return
		}
		for _, q := range personQuotas() {
			pseudonym := people[0][0].Pseudonym
			_, _ = ac.do("DEL", s.fullKey(q.indexKey()+pseudonym))
			_, _ = ac.do("ZREM", s.fullKey(q.indexKey()), pseudonym)
		}
		err = nil
	})
	return cmp.Or(failure, err)
}

// adminConn is a connection for Report and Reset. After the first error, do runs no more commands.
type adminConn struct {
	*Store
	conn      redis.Conn
	ctx       context.Context
	nowMicros int64 // time of the store, since 1970
	err       error // the first error
}

// withAdminConn connects to the store, and calls run.
func (s *Store) withAdminConn(ctx context.Context, run func(*adminConn)) error {
	ctx, cancel := context.WithTimeout(ctx, reportTimeout)
	defer cancel()
	conn, err := s.connect(ctx, s.url.Load(), anyReplies)
	if err != nil {
		return err
	}
	defer conn.Close()

	ac := &adminConn{
		Store: s,
		conn:  conn,
		ctx:   ctx,
	}
	now, err := redis.Int64s(ac.do("TIME"))
	if err == nil && len(now) == 2 {
		ac.nowMicros = now[0]*1e6 + now[1]
		run(ac)
	}
	err = cmp.Or(ac.err, err)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("asking the store, for %v: %w", reportTimeout, err)
	}
	return err
}

// do runs a command, unless there was an error before.
func (ac *adminConn) do(command string, args ...any) (value any, err error) {
	if ac.err == nil {
		value, ac.err = redis.DoContext(ac.conn, ac.ctx, command, args...)
	}
	return value, ac.err
}

// topPseudonyms returns the pseudonyms of the people whose buckets take the longest to refill: n
// people for each quota, or all people with noBound.
func (ac *adminConn) topPseudonyms(n int) (pseudonyms []string) {
	for _, q := range personQuotas() {
		list, _ := redis.Strings(ac.do("ZREVRANGE", ac.fullKey(q.indexKey()), 0, n-1))
		pseudonyms = append(pseudonyms, list...)
	}
	slices.Sort(pseudonyms)
	return slices.Compact(pseudonyms)
}

// pseudonymsByName returns the pseudonyms of the people whom a name means. If the name is the ID of
// a person with a usage, it means this person. Else it means the holder of the token with this
// name, and all people in the store with this name.
func (ac *adminConn) pseudonymsByName(name string) []string {
	exact := []string{pseudonym(name)}
	if len(ac.usages(exact)) > 0 {
		return exact
	}

	pseudonyms := []string{pseudonym(call.TokenIDPrefix + name)}
	for _, usages := range ac.usages(ac.topPseudonyms(noBound)) {
		if usages[0].Name == text.ShortLine(name) && usages[0].Pseudonym != pseudonyms[0] {
			pseudonyms = append(pseudonyms, usages[0].Pseudonym)
		}
	}
	return pseudonyms
}

// usages returns the usages of people by their pseudonyms. People who have used nothing are left
// out.
func (ac *adminConn) usages(pseudonyms []string) (list [][]QuotaUsage) {
	for batch := range slices.Chunk(pseudonyms, batchSize) {
		keys := []string{}
		for _, pseudonym := range batch {
			for _, q := range quotas(pseudonym == allPeople) {
				keys = append(keys, q.indexKey()+pseudonym)
			}
		}

		values := ac.get(keys)
		for _, pseudonym := range batch {
			var usages []QuotaUsage
			for _, q := range quotas(pseudonym == allPeople) {
				usage, ok := ac.parseUsage(q, pseudonym, values[q.indexKey()+pseudonym])
				if ok {
					usages = append(usages, usage)
				}
			}
			if len(usages) > 0 {
				list = append(list, usages)
			}
		}
	}
	return list
}

// getScript returns the values of keys. The value of a key that does not exist is empty.
const getScript = `
local values = {}
for i, key in ipairs(KEYS) do
	values[i] = redis.call('GET', key) or ''
end
return values`

// get returns the values of keys.
func (ac *adminConn) get(keys []string) map[string]string {
	args := []any{getScript, len(keys)}
	for _, key := range keys {
		args = append(args, ac.fullKey(key))
	}
	list, _ := redis.Strings(ac.do("EVAL", args...)) // empty after an error
	values := map[string]string{}
	for i, value := range list {
		values[keys[i]] = value
	}
	return values
}

// parseUsage parses the value of a key, whose form take.lua has. ok is false if nothing is used or
// reserved, or the value is not valid.
func (ac *adminConn) parseUsage(q Quota, pseudonym, stored string) (usage QuotaUsage, ok bool) {
	s := bucketState{reserved: map[int64]int64{}}
	bk := bucket{Quota: q}
	numbers, name, _ := strings.Cut(stored, " =")
	n, _ := fmt.Sscan(numbers, &s.used, &s.changedAtMicros, &bk.limitUnits)
	if n < 3 || bk.limitUnits <= 0 {
		return usage, false
	}
	for _, part := range strings.Fields(numbers)[n:] {
		var untilMinute, units int64
		_, _ = fmt.Sscanf(part, "%d:%d", &untilMinute, &units)
		s.reserved[untilMinute] = units
	}

	s, running := s.advance(ac.nowMicros, bk)
	if s.used < 0 { // see bucketState.used
		running += int64(s.used)
		s.used = 0
	}
	taken := s.used + float64(running)
	unusedMicros := taken * float64(bk.period.micros) / float64(bk.limitUnits)
	return QuotaUsage{
		Name:      text.ShortLine(cmp.Or(name, pseudonym)),
		Pseudonym: pseudonym,
		Limit:     q.unit.format(bk.limitUnits) + " " + q.unitWords(),
		Used:      q.unit.format(int64(math.Ceil(s.used))),
		Reserved:  q.unit.format(running),
		Left:      q.unit.format(max(int64(float64(bk.limitUnits)-taken), 0)),
		UnusedAt:  time.Now().Add(time.Duration(unusedMicros) * time.Microsecond), // as in refusal
		share:     taken / float64(bk.limitUnits),
	}, taken > 0
}
