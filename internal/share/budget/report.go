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
	reportTime = 10 * time.Second // for all uses of the store
	heaviest   = 20               // people in a report
	batch      = 1000             // keys of a use
)

// Entry is what a person, or all people, have used of a quota.
type Entry struct {
	Name     string // of the person, as the log has it, or ID; "": all people
	ID       string // half of the SHA-256 of the person's ID
	Limit    string // in force, with its words
	Used     string
	Reserved string // for calls that run
	Left     string
	Full     time.Time // when nothing is used

	share float64 // of the limit that is used or reserved
}

// Report returns what a person has used, by quota; without a name what all people have used, and
// the people who have used the most of a limit. A name is that of a token, an ID such as
// token:alice or issuer and subject with a blank between, or one that the store has. The error is
// of the store.
func (s *Store) Report(ctx context.Context, name string) (list []Entry, err error) {
	err = s.query(ctx, func(r *report) {
		if name != "" {
			list = slices.Concat(r.people(r.named(name))...)
			return
		}
		people := r.people(r.ids(heaviest))
		most := func(of []Entry) float64 {
			return slices.MaxFunc(of, func(a, b Entry) int { return cmp.Compare(a.share, b.share) }).share
		}
		slices.SortStableFunc(people, func(a, b []Entry) int { return cmp.Compare(most(b), most(a)) })
		people = people[:min(len(people), heaviest)]
		list = slices.Concat(append(r.people([]string{""}), people...)...)
	})
	return list, err
}

// Hint says what to do about an error of the store, or "".
func (s *Store) Hint(ctx context.Context, err error) string {
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	return s.hint(ctx, err)
}

// Reset forgets what a person has used. The error is of the store, or says that the name is of
// nobody, or of several people.
func (s *Store) Reset(ctx context.Context, name string) error {
	err := errors.New("nobody of this name has used anything")
	failure := s.query(ctx, func(r *report) {
		people := r.people(r.named(name))
		if len(people) > 1 {
			err = errors.New("several people have this name: write token:NAME, or issuer and subject")
		}
		if len(people) != 1 {
			return
		}
		for _, q := range r.quotas(true) {
			id := people[0][0].ID
			_, _ = r.do("DEL", s.key(q.Name+":"+id))
			_, _ = r.do("ZREM", s.key(q.Name+":"), id)
		}
		err = nil
	})
	return cmp.Or(failure, err)
}

// report is a connection for a report. After an error it does nothing.
type report struct {
	*Store
	conn redis.Conn
	ctx  context.Context
	now  int64 // of the store, in microseconds since 1970
	err  error
}

// query connects, and calls use.
func (s *Store) query(ctx context.Context, use func(*report)) error {
	ctx, cancel := context.WithTimeout(ctx, reportTime)
	defer cancel()
	conn, err := s.connect(ctx, s.url.Load(), anyReply)
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
		use(r)
	}
	return cmp.Or(r.err, err)
}

// do runs a command.
func (r *report) do(command string, args ...any) (any, error) {
	if r.err != nil {
		return nil, r.err
	}
	var value any
	value, r.err = redis.DoContext(r.conn, r.ctx, command, args...)
	return value, r.err
}

// quotas returns those of each person, or of all people.
func (r *report) quotas(ofPerson bool) []Quota {
	return slices.DeleteFunc(Limits{}.All(), func(q Quota) bool { return q.ofAll == ofPerson })
}

// ids returns those of so many people for each quota who have used the most; 0: of all people.
func (r *report) ids(most int) []string {
	ids := map[string]bool{}
	for _, q := range r.quotas(true) {
		list, _ := redis.Strings(r.do("ZREVRANGE", r.key(q.Name+":"), 0, most-1))
		for _, id := range list {
			ids[id] = true
		}
	}
	return slices.Sorted(maps.Keys(ids))
}

// named returns the IDs of people with a name.
func (r *report) named(name string) []string {
	exact := []string{idOf(name)}
	if len(r.people(exact)) > 0 {
		return exact
	}

	ids := []string{idOf(call.TokenHolder + name)}
	for _, of := range r.people(r.ids(0)) {
		if of[0].Name == name && of[0].ID != ids[0] {
			ids = append(ids, of[0].ID)
		}
	}
	return ids
}

// people returns what people have used, by their IDs; "": all people. Those who have used nothing
// are not in it.
func (r *report) people(ids []string) (list [][]Entry) {
	for part := range slices.Chunk(ids, batch) {
		keys := []string{}
		for _, id := range part {
			for _, q := range r.quotas(id != "") {
				keys = append(keys, q.Name+":"+id)
			}
		}
		values := r.get(keys)
		for _, id := range part {
			var of []Entry
			for _, q := range r.quotas(id != "") {
				e, ok := r.entry(q, id, values[q.Name+":"+id])
				if ok {
					of = append(of, e)
				}
			}
			if len(of) > 0 {
				list = append(list, of)
			}
		}
	}
	return list
}

// get returns the values of keys. A key that does not exist has none.
func (r *report) get(keys []string) map[string]string {
	values := map[string]string{}
	for _, key := range keys {
		_ = r.conn.Send("GET", r.key(key)) // Flush has the error, too
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

// value matches that of a key; see take.lua.
var value = text.Regexp(`^(\S+) (\d+) (\d+)([ \d:]*)(?: =(.*))?$`)

// entry reads the value of a key.
func (r *report) entry(q Quota, id, stored string) (e Entry, ok bool) {
	m := value().FindStringSubmatch(stored)
	if m == nil {
		return e, false
	}
	s := state{reserved: map[int64]int64{}}
	s.used, _ = strconv.ParseFloat(m[1], 64)
	s.at, _ = strconv.ParseInt(m[2], 10, 64)
	b := bucketChange{Quota: q}
	b.limit, _ = strconv.ParseInt(m[3], 10, 64)
	for part := range strings.FieldsSeq(m[4]) {
		var minute, units int64
		_, _ = fmt.Sscanf(part, "%d:%d", &minute, &units)
		s.reserved[minute] = units
	}
	if b.limit <= 0 {
		return e, false
	}

	s, running := s.until(r.now, b)
	if s.used < 0 { // given back, and still reserved
		running += int64(s.used)
		s.used = 0
	}
	taken := s.used + float64(running)
	full := r.now + int64(taken*float64(q.period())/float64(b.limit))
	return Entry{
		Name:     text.Label(cmp.Or(m[5], id)),
		ID:       id,
		Limit:    q.unit.format(b.limit) + " " + q.words(),
		Used:     q.unit.format(int64(math.Ceil(s.used))),
		Reserved: q.unit.format(running),
		Left:     q.unit.format(max(int64(float64(b.limit)-taken), 0)),
		Full:     time.UnixMicro(full),
		share:    taken / float64(b.limit),
	}, taken > 0
}
