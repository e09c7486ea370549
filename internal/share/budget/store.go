package budget

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	scriptTimeout = 500 * time.Millisecond // of a Store, unless it has another Timeout
	probeInterval = time.Second            // between two probes of a store that fails
	maxScripts    = 64                     // at once, each with a connection
)

// take.lua makes each change of the store, also those that are not of Take.
//
//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(-1, takeSource) // the number of keys varies

// notRunError matches an error by which the server refuses to run the script: one with a code, or
// one of two in words (hints.txt). After any other error the server may have run the script: a
// proxy may have got no reply, as with "upstream failure" of Envoy, and "ERR Connection timed out"
// of twemproxy.
var notRunError = text.LazyRegexp(`^(ERR )?([A-Z]{4,}|OOM|ASK) |^ERR (max number of clients|unknown command) `)

// Store is a Valkey or Redis server. After an error the store fails: it is not used until a probe
// succeeds. An error other than notRunError does not tell whether the script ran. So only changes
// with a mark are sent again: the mark refuses a change that the store has made. A nil Store takes
// no change: the outcome is notRun.
type Store struct {
	options    StoreOptions
	sessions   tls.ClientSessionCache // of TLS: many connections at once resume one session
	observer   atomic.Pointer[func(took time.Duration, beginsToFail bool)]
	url        atomic.Pointer[url.URL]
	pool       atomic.Pointer[redis.Pool]
	failing    atomic.Bool
	needsProbe atomic.Bool // no probe has succeeded since SetURL

	// inFlight bounds the uses by apply, not probes, with an element for each. MaxActive and Wait
	// of a redis.Pool would panic if the pool is closed during a wait.
	inFlight chan struct{}

	mu      sync.Mutex      // guards the fields below
	pending []storeChange   // that the store has missed, at most maxPending
	logged  map[string]bool // kinds of lines of the log; see isFirstLine
}

// StoreOptions configure a Store.
type StoreOptions struct {
	// Roots returns the root certificates for TLS. A nil pool is that of the system.
	Roots func(context.Context) (*x509.CertPool, error)

	// Dial connects; nil is DialContext of a net.Dialer.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Timeout bounds connecting, and then each reply; 0 is half a second.
	Timeout time.Duration

	Log *slog.Logger

	// RefusesWithout is RefuseWithoutStore of the Budget, for the log.
	RefusesWithout bool
}

// NewStore returns a Store, which needs a URL before its first use.
func NewStore(o StoreOptions) *Store {
	if o.Dial == nil {
		o.Dial = new(net.Dialer).DialContext
	}
	o.Timeout = cmp.Or(o.Timeout, scriptTimeout)
	s := &Store{
		options:  o,
		sessions: tls.NewLRUClientSessionCache(1),
		inFlight: make(chan struct{}, maxScripts),
		logged:   map[string]bool{},
	}
	s.SetObserver(func(time.Duration, bool) {})
	s.url.Store(&url.URL{})
	s.pool.Store(&redis.Pool{})
	return s
}

// SetObserver sets what is called from now on after each run of the script, also for a probe. took
// is how long the run took, and beginsToFail whether the store began to fail with this run.
func (s *Store) SetObserver(observe func(took time.Duration, beginsToFail bool)) {
	s.observer.Store(&observe)
}

// IsFailing reports whether there is a store, and it fails.
func (s *Store) IsFailing() bool { return s != nil && s.failing.Load() }

// probe runs both commands by which take.lua changes keys: SET for the first mark, and DEL for the
// second one.
var probe = storeChange{marks: []mark{
	{key: "probe", then: "probed", keep: time.Second},
	{key: "probe:unused"},
}}

// Probe probes the store, if there is one, until ctx ends: every second until the first success
// after SetURL, and while the store fails. A probe writes, because a store that is full or
// read-only still answers reads. While the store works, Probe sends the changes that it has missed.
func (s *Store) Probe(ctx context.Context) {
	for s != nil {
		s.probeOnce(ctx)
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeInterval):
		}
	}
}

// probeOnce probes the store if a probe is due, and sends the changes that the store has missed.
func (s *Store) probeOnce(ctx context.Context) {
	if s.needsProbe.Load() || s.IsFailing() {
		r := s.runScript(probe)
		if r.outcome == made {
			s.noteWorking(ctx)
		}
	}
	s.applyPending(ctx)
}

// noteWorking notes that a probe has succeeded. After the first success for a URL it checks the
// policy of the store.
func (s *Store) noteWorking(ctx context.Context) {
	if s.IsFailing() {
		s.forgetLogged()
		s.failing.Store(false)
		s.options.Log.Info("the store of the limits works again")
	}
	if !s.needsProbe.CompareAndSwap(true, false) {
		return
	}
	found := s.Check(ctx)
	if found.DropsKeys {
		s.options.Log.Warn("the store of the limits "+DropsWarning,
			"policy", found.EvictionPolicy, "hint", DropsHint)
	}
}

// apply makes a change in the store. It does nothing if there is no store, the store fails, or the
// change is empty. It waits while maxScripts uses run.
func (s *Store) apply(change storeChange) reply {
	isEmpty := len(change.marks)+len(change.buckets) == 0
	if s == nil || s.IsFailing() || isEmpty {
		return reply{outcome: notRun}
	}
	s.inFlight <- struct{}{} // each use ends: see StoreOptions.Timeout
	defer func() { <-s.inFlight }()
	if s.IsFailing() { // it began to fail during the wait
		return reply{outcome: notRun}
	}
	return s.runScript(change)
}

// runScript runs take.lua. After an error the store fails, and all connections are closed: the
// server behind them may have become read-only. If SetURL has changed the URL in the meantime, the
// error is about the former server, and the store does not fail.
func (s *Store) runScript(change storeChange) reply {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	defer cancel()
	beginsToFail := false
	began := time.Now()
	defer func() { (*s.observer.Load())(time.Since(began), beginsToFail) }()

	pool := s.pool.Load()
	conn, _ := pool.GetContext(ctx) // after an error, conn.Do returns the same error
	defer conn.Close()
	connected := conn.Err() == nil
	r, err := s.runScriptOn(conn, change)
	if err == nil {
		return r
	}

	refusal, ok := errors.AsType[redis.Error](err)
	wasRefused := ok && notRunError().MatchString(string(refusal))
	wasCurrent := s.renewPool(pool)
	beginsToFail = wasCurrent && s.failing.CompareAndSwap(false, true)
	_ = pool.Close() // takes a while: other uses know already that the store fails
	if wasCurrent {
		s.logFailure(ctx, err)
	}
	if connected && !wasRefused {
		return reply{outcome: unsure}
	}
	return reply{outcome: notRun}
}

// isFirstLine notes a line of the log, and reports whether the line is the first of its kind since
// the store last worked or got its URL. So the log has one line of each kind.
func (s *Store) isFirstLine(kind string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	isFirst := !s.logged[kind]
	s.logged[kind] = true
	return isFirst
}

// forgetLogged lets isFirstLine begin anew.
func (s *Store) forgetLogged() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.logged)
}

// logFailure logs the error with which the store begins to fail, and while it fails the first error
// with each other hint: a server that starts again may ask for another password.
func (s *Store) logFailure(ctx context.Context, err error) {
	hint, _ := hintOf(err) // s.Hint may ask the store, so it is called only if a line is written
	if !s.isFirstLine(hint) {
		return
	}

	log := s.options.Log.With("err", err)
	if hint != "" {
		log = log.With("hint", s.Hint(ctx, err))
	}
	whileFailing := "they are those of this replica"
	if s.options.RefusesWithout {
		whileFailing = "calls that have a limit are refused"
	}
	log.Warn("the store of the limits fails: until it works, " + whileFailing)
}

// runScriptOn runs take.lua on a connection. The error is a redis.Error if the store returned it.
func (s *Store) runScriptOn(conn redis.Conn, change storeChange) (r reply, err error) {
	args := s.arguments(change)
	value, err := takeScript.Do(conn, args...)
	// Do sends the source only if the error begins with NOSCRIPT. Kvrocks, Infinispan and some
	// proxies write ERR before it.
	if err != nil && strings.HasPrefix(err.Error(), "ERR NOSCRIPT") {
		value, err = conn.Do("EVAL", append([]any{takeSource}, args...)...)
	}
	if err != nil {
		return reply{}, err
	}

	n, err := redis.Int64s(value, nil)
	if err != nil {
		return reply{}, errors.New(err.Error()) // the script has run: no redis.Error
	}
	r, ok := parseReply(n, change)
	if !ok {
		return reply{}, fmt.Errorf("reading reply %v: the script cannot give it", n)
	}
	return r, nil
}

// parseReply parses the numbers that take.lua returns for a change. ok is false if take.lua cannot
// return them.
func parseReply(n []int64, change storeChange) (r reply, ok bool) {
	switch {
	case len(n) == 1 && n[0] == -1:
		return reply{outcome: refusedByMark}, len(change.marks) > 0

	case len(n) == 1+len(change.buckets) && n[0] == 0:
		r = reply{
			outcome: made,
			shares:  n[1:],
		}
		isInvalid := func(share int64) bool { return share < 0 || share > maxUsedPeriods*1000 }
		return r, !slices.ContainsFunc(n[1:], isInvalid)

	case len(n) != 3 || n[0] < 1 || n[0] > int64(len(change.buckets)):
		return reply{}, false
	}

	r = reply{
		outcome:        refusedByBucket,
		refusingBucket: n[0],
		waitMicros:     n[1],
		used:           n[2],
	}
	bc := change.buckets[r.refusingBucket-1]
	validWait := 0 <= r.waitMicros && r.waitMicros <= (maxUsedPeriods+1)*bc.period.micros
	validUsed := 0 <= r.used && r.used <= maxUsedPeriods*bc.limitUnits
	return r, validWait && validUsed
}

// fullKey returns the key in the store for the key of a mark or a bucket. The braces keep all keys
// in one hash slot of a cluster. The prefix of the URL keeps deployments apart, and 3 is the
// version of the format of values.
func (s *Store) fullKey(key string) string {
	prefix := s.Address().Prefix
	if prefix != "" {
		prefix += ":"
	}
	return "{openai-responses-mcp}:" + prefix + "3:" + key
}

// arguments returns the arguments of take.lua, the number of keys first. The values of a mark and
// of a bucket are in the order of ARGV in take.lua.
func (s *Store) arguments(change storeChange) []any {
	keys := []any{len(change.marks) + 2*len(change.buckets)}
	values := []any{len(change.marks), change.minutes}
	for _, m := range change.marks {
		keys = append(keys, s.fullKey(m.key))
		values = append(values, m.then, m.keep.Milliseconds(), m.needsTaken)
	}
	for _, bc := range change.buckets {
		keys = append(keys, s.fullKey(bc.key))
		values = append(values,
			bc.period.micros, bc.limitUnits, bc.need, bc.use, bc.reserve, bc.personName)
	}

	for _, bc := range change.buckets {
		keys = append(keys, s.fullKey(bc.indexKey()))
	}
	return append(keys, values...)
}
