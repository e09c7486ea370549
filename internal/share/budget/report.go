package budget

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	reportTime = 10 * time.Second // for all commands of a report
	maxPeople  = 20               // people in a report
	batchSize  = 1000             // keys that are read at once

	allPeople = "" // in place of a pseudonym: all people together
	noBound   = 0  // in place of a number of people
)

// Entry is what a person, or all people together, have used of a quota.
type Entry struct {
	Name      string // name of the person as in the log, or the ID; "" for all people
	Pseudonym string // half of the SHA-256 of the person's ID; "" for all people
	Limit     string // limit in force, with its unitWords
	Used      string
	Reserved  string // for calls that run
	Left      string
	UnusedAt  time.Time // when nothing is used any more

	share float64 // used or reserved part of the limit
}

// Report returns what a person has used, by quota. Without a name it returns what all people
// together have used, and then the people who have used the most of a limit. A name is the name of
// a token, an ID such as token:alice or issuer and subject with a blank between, or a name in the
// store. The error is of the store.
func (s *Store) Report(ctx context.Context, name string) (list []Entry, err error) {
	err = s.query(ctx, func(r *report) {
		if name != "" {
			list = slices.Concat(r.people(r.pseudonymsByName(name))...)
			return
		}
		people := r.people(r.topPseudonyms(maxPeople))
		maxShare := func(of []Entry) float64 {
			return slices.MaxFunc(of, func(a, b Entry) int { return cmp.Compare(a.share, b.share) }).share
		}
		slices.SortStableFunc(people, func(a, b []Entry) int {
			return cmp.Compare(maxShare(b), maxShare(a))
		})
		people = people[:min(len(people), maxPeople)]
		list = slices.Concat(append(r.people([]string{allPeople}), people...)...)
	})
	return list, err
}

// Reset forgets what a person has used. The error is of the store, or says that no person with this
// name has used anything, or that several people have the name.
func (s *Store) Reset(ctx context.Context, name string) error {
	err := errors.New("nobody of this name has used anything")
	failure := s.query(ctx, func(r *report) {
		people := r.people(r.pseudonymsByName(name))
		if len(people) > 1 {
			err = errors.New("several people have this name: write token:NAME, or issuer and subject")
		}
		if len(people) != 1 {
			return
		}
		for _, q := range quotas(false) {
			id := people[0][0].Pseudonym
			_, _ = r.do("DEL", s.key(q.Name+":"+id))
			_, _ = r.do("ZREM", s.key(q.Name+":"), id)
		}
		err = nil
	})
	return cmp.Or(failure, err)
}

// report is a connection for Report and Reset. After the first error, do runs no more commands.
type report struct {
	*Store
	conn redis.Conn
	ctx  context.Context
	now  int64 // time of the store, in microseconds since 1970
	err  error // the first error
}

// query connects to the store, and calls run.
func (s *Store) query(ctx context.Context, run func(*report)) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	conn, err := s.connect(ctx, s.url.Load(), anyReplies)
	if err != nil {
		return err
	}
	defer conn.Close()

	r := &report{
		Store: s,
		conn:  conn,
		ctx:   ctx,
	}
	now, err := redis.Int64s(r.do("TIME"))
	if err == nil && len(now) == 2 {
		r.now = now[0]*1e6 + now[1]
		run(r)
	}
	return cmp.Or(r.err, err)
}

// do runs a command, unless there was an error before.
func (r *report) do(command string, args ...any) (any, error) {
	if r.err != nil {
		return nil, r.err
	}
	var value any
	value, r.err = redis.DoContext(r.conn, r.ctx, command, args...)
	return value, r.err
}

// topPseudonyms returns, for each quota, the pseudonyms of the n people, or with noBound of all,
// whose buckets take the longest to refill.
func (r *report) topPseudonyms(n int) []string {
	pseudonyms := map[string]bool{}
	for _, q := range quotas(false) {
		list, _ := redis.Strings(r.do("ZREVRANGE", r.key(q.Name+":"), 0, n-1))
		for _, pseudonym := range list {
			pseudonyms[pseudonym] = true
		}
	}
	return slices.Sorted(maps.Keys(pseudonyms))
}

// pseudonymsByName returns the pseudonyms of the people whom a name means: of the person with this
// ID, or else of the holder of a token and of all people in the store with this name.
func (r *report) pseudonymsByName(name string) []string {
	exact := []string{pseudonym(name)}
	if len(r.people(exact)) > 0 {
		return exact
	}

	pseudonyms := []string{pseudonym(call.TokenIDPrefix + name)}
	for _, entries := range r.people(r.topPseudonyms(noBound)) {
		if entries[0].Name == name && entries[0].Pseudonym != pseudonyms[0] {
			pseudonyms = append(pseudonyms, entries[0].Pseudonym)
		}
	}
	return pseudonyms
}

// people returns the entries of people by their pseudonyms. People who have used nothing are left
// out.
func (r *report) people(pseudonyms []string) (list [][]Entry) {
	for batch := range slices.Chunk(pseudonyms, batchSize) {
		keys := []string{}
		for _, pseudonym := range batch {
			for _, q := range quotas(pseudonym == allPeople) {
				keys = append(keys, q.Name+":"+pseudonym)
			}
		}

		values := r.get(keys)
		for _, pseudonym := range batch {
			var entries []Entry
			for _, q := range quotas(pseudonym == allPeople) {
				e, ok := r.entry(q, pseudonym, values[q.Name+":"+pseudonym])
				if ok {
					entries = append(entries, e)
				}
			}
			if len(entries) > 0 {
				list = append(list, entries)
			}
		}
	}
	return list
}

// get returns the values of the keys that exist.
func (r *report) get(keys []string) map[string]string {
	values := map[string]string{}
	for _, key := range keys {
		_ = r.conn.Send("GET", r.key(key)) // after an error ReceiveContext fails, too
	}
	_ = r.conn.Flush()
	for _, key := range keys {
		value, err := redis.String(redis.ReceiveContext(r.conn, r.ctx))
		if errors.Is(err, redis.ErrNil) {
			continue
		}
		r.err = cmp.Or(r.err, err)
		values[key] = value
	}
	return values
}

// storedValue matches the value of a key; see take.lua.
var storedValue = text.LazyRegexp(`^(\S+) (\d+) (\d+)([ \d:]*)(?: =(.*))?$`)

// entry parses the value of a key. ok is false if nothing is used or reserved, or it is not valid.
func (r *report) entry(q Quota, id, stored string) (e Entry, ok bool) {
	m := storedValue().FindStringSubmatch(stored)
	if m == nil {
		return e, false
	}
	s := state{reserved: map[int64]int64{}}
	s.used, _ = strconv.ParseFloat(m[1], 64)
	s.at, _ = strconv.ParseInt(m[2], 10, 64)
	b := bucketChange{Quota: q, period: unitInfo[q.unit].period}
	b.limitUnits, _ = strconv.ParseInt(m[3], 10, 64)
	for part := range strings.FieldsSeq(m[4]) {
		var untilMinute, units int64
		_, _ = fmt.Sscanf(part, "%d:%d", &untilMinute, &units)
		s.reserved[untilMinute] = units
	}
	if b.limitUnits <= 0 {
		return e, false
	}

	s, running := s.advance(r.now, b)
	if s.used < 0 { // see state.used
		running += int64(s.used)
		s.used = 0
	}
	taken := s.used + float64(running)
	unusedAt := r.now + int64(taken*float64(b.period)/float64(b.limitUnits))
	return Entry{
		Name:      text.Label(cmp.Or(m[5], id)),
		Pseudonym: id,
		Limit:     q.unit.format(b.limitUnits) + " " + q.unitWords(),
		Used:      q.unit.format(int64(math.Ceil(s.used))),
		Reserved:  q.unit.format(running),
		Left:      q.unit.format(max(int64(float64(b.limitUnits)-taken), 0)),
		UnusedAt:  time.UnixMicro(unusedAt),
		share:     taken / float64(b.limitUnits),
	}, taken > 0
}
