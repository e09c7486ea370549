package budget

import (
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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	scriptTimeout = 500 * time.Millisecond // for one use of the store, connecting included
	probeInterval = time.Second            // between two probes of a store that fails
	maxScripts    = 64                     // at once, each with a connection
	maxPending    = 1000                   // changes; beyond it what a call has reserved counts as used
	maxToForget   = 1000                   // changes of forgetMark; beyond it keys stay for hours

	bucketNumbers = 16 // one more than the highest number of a bucket in a reply of take.lua
)

//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(-1, takeSource) // the number of keys varies

// storeURL matches the URLs of stores. A user needs a password: a user alone could be a misplaced
// password. A prefix begins with a letter, and so differs from the version 3 (Store.key).
var storeURL = text.LazyRegexp(`^(redis|valkey)s?://([^/?#@]*:[^/?#@]*@)?` +
	`(\[.+\]|[^/?#@:,]+)(:\d{1,5})?(/\d{0,4})?(\?prefix=[A-Za-z][\w-]{0,63})?$`)

// Store is a Valkey or Redis server. After an error the store fails: it is not used until a probe
// succeeds. No use is repeated, because an error does not tell whether the script ran.
type Store struct {
	// Dial connects. It may be replaced before SetURL.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ObserveUse, if not nil, is called after each use: took is how long the use took, fails
	// whether the store began to fail with it. It may be set before the first use.
	ObserveUse func(took time.Duration, fails bool)

	roots    func(context.Context) (*x509.CertPool, error)
	log      *slog.Logger
	url      atomic.Pointer[url.URL]
	pool     atomic.Pointer[redis.Pool]
	failing  atomic.Bool
	unprobed atomic.Bool // no probe has succeeded since SetURL

	// inFlight holds an element for each use that runs. MaxActive and Wait of a redis.Pool would
	// panic if the pool is closed during a wait.
	inFlight chan struct{}

	whileFailing string // words for the log: which limits hold while it fails

	mu       sync.Mutex      // guards the fields below
	pending  []pendingChange // at most maxPending
	toForget []bucketChange  // of forgetMark, at most maxToForget
	logged   map[string]bool // hints in the log, since the store at this URL began to fail
}

// pendingChange is a change for the store when it works again: the end of a call, or the return of
// a call that the store may have taken (giveBackLater).
type pendingChange struct {
	changes []bucketChange
	claim   *bucketChange // see giveBackLater; nil for the end of a call
}

// NewStore returns a Store, which needs a URL before its first use. roots returns the root
// certificates for TLS; a nil pool is that of the system.
func NewStore(
	roots func(context.Context) (*x509.CertPool, error), log *slog.Logger,
) *Store {
	s := &Store{
		Dial:     new(net.Dialer).DialContext,
		roots:    roots,
		log:      log,
		inFlight: make(chan struct{}, maxScripts),

		whileFailing: "they are those of this replica",
	}
	s.pool.Store(&redis.Pool{})
	return s
}

// SetURL sets the URL for the uses from now on, and returns it. The error does not quote it.
func (s *Store) SetURL(raw string) (*url.URL, error) {
	u, err := url.Parse(raw)
	port := 0
	if err == nil {
		port, _ = strconv.Atoi(u.Port())
	}
	if err != nil || port > 65535 || !storeURL().MatchString(raw) {
		return nil, errors.New("MCP_STORE_URL is not valkey://USER:PASSWORD@HOST:PORT/DATABASE" +
			"?prefix=NAME, where the scheme may also be redis, or for TLS valkeys or rediss; " +
			"a password has %2F for /, and so on; " +
			"a prefix is a letter and up to 63 letters, digits, - or _")
	}
	s.url.Store(u)
	old := s.pool.Load()
	s.renewPool(old)
	s.mu.Lock()
	s.logged = nil
	s.mu.Unlock()
	_ = old.Close()
	s.unprobed.Store(true)
	return u, nil
}

// Prefix returns the prefix in the URL of a store, which keeps the keys of deployments apart, or
// "".
func Prefix(u *url.URL) string { return strings.TrimPrefix(u.RawQuery, "prefix=") }

// renewPool replaces a pool by a new one, and reports whether it was the current pool. The caller
// closes the old pool. A connection ends after MaxConnLifetime, because the host of the URL may get
// a new address.
func (s *Store) renewPool(pool *redis.Pool) bool {
	return s.pool.CompareAndSwap(pool, &redis.Pool{
		DialContext:     s.dial,
		MaxIdle:         maxScripts,
		IdleTimeout:     10 * time.Second, // a proxy in between may close them after 30 s
		MaxConnLifetime: 5 * time.Minute,
	})
}

// dial connects to the store until ctx ends.
func (s *Store) dial(ctx context.Context) (redis.Conn, error) {
	return s.connect(ctx, s.url.Load(), scriptReplies)
}

// connect connects to a URL, with replies of a form. It does TLS itself, as redigo would do it on
// top of the replyConn, which has to see plain replies.
func (s *Store) connect(ctx context.Context, to *url.URL, f replyForm) (redis.Conn, error) {
	u := *to
	overTLS := u.Scheme == "rediss" || u.Scheme == "valkeys"
	u.Scheme = "redis"
	u.RawQuery = ""
	open := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.Dial(ctx, network, address)
		if err == nil && overTLS {
			conn, err = s.handshake(ctx, conn, u.Hostname())
		}
		return &replyConn{Conn: conn, form: f}, err
	}
	conn, err := redis.DialURLContext(ctx, u.String(), redis.DialContextFunc(open))
	return conn, withoutArguments(err)
}

// withoutArguments cuts the arguments of a command off an error of the store. A server that does
// not know AUTH repeats them, up to 128 bytes. The redactor would not find half a password: it
// knows only the whole one.
func withoutArguments(err error) error {
	e, ok := errors.AsType[redis.Error](err)
	if !ok {
		return err
	}
	words, _, _ := strings.Cut(string(e), ", with args beginning with")
	return redis.Error(words)
}

// handshake does the TLS handshake on a connection. After an error the connection is closed.
func (s *Store) handshake(ctx context.Context, plain net.Conn, host string) (net.Conn, error) {
	roots, err := s.roots(ctx)
	if err != nil {
		_ = plain.Close()
		return nil, err
	}
	conn := tls.Client(plain, &tls.Config{
		RootCAs:    roots,
		ServerName: host,
	})
	err = conn.HandshakeContext(ctx)
	if err != nil {
		_ = plain.Close()
		return nil, fmt.Errorf("TLS handshake: %w", err)
	}
	return conn, nil
}

// storeResult is whether the store has run the script.
type storeResult int

const (
	storeNotRun storeResult = iota // no: not asked, not reached, or it returned an error
	storeRan                       // yes; a bucket may still have refused the changes
	storeUnsure                    // unknown: it was asked, and there is no valid reply
)

// IsFailing reports whether there is a store, and it fails.
func (s *Store) IsFailing() bool { return s != nil && s.failing.Load() }

// probe changes two buckets that belong to no person, so that take.lua runs both commands that
// write: SET for the first, of which a unit is used and refills in a second, and DEL for the
// second.
var probe = []bucketChange{
	{
		key:          "probe",
		periodMicros: 60 * minuteMicros,
		limitUnits:   3600,
		use:          1,
		untilMinute:  minutesFromNow(0),
	},
	{
		key:          "probe:unused",
		periodMicros: minuteMicros,
		limitUnits:   1,
		untilMinute:  minutesFromNow(0),
	},
}

// Probe probes the store, if there is one, until ctx ends: every second until the first success
// after SetURL, and while the store fails. A probe writes, because a store that is full or
// read-only still answers reads.
func (s *Store) Probe(ctx context.Context) {
	for s != nil {
		if s.unprobed.Load() || s.IsFailing() {
			_, result := s.runScript(probe)
			if result == storeRan {
				s.noteWorking(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeInterval):
		}
	}
}

// noteWorking notes that a probe has succeeded. After the first one for a URL it checks the policy
// of the store.
func (s *Store) noteWorking(ctx context.Context) {
	if s.failing.CompareAndSwap(true, false) {
		s.log.Info("the store of the limits works again")
		s.applyPending()
	}
	if !s.unprobed.CompareAndSwap(true, false) {
		return
	}
	policy, drops := s.evictionPolicy(ctx)
	if drops {
		s.log.Warn("the store of the limits "+DropsWarning, "policy", policy, "hint", DropsHint)
	}
}

// apply changes buckets of the store. It does nothing if there is no store, the store fails, or
// there are no changes. It waits while maxScripts uses run.
func (s *Store) apply(changes []bucketChange) (r reply, result storeResult) {
	if s == nil || s.IsFailing() || len(changes) == 0 {
		return reply{}, storeNotRun
	}
	s.inFlight <- struct{}{} // each use ends in scriptTimeout
	defer func() { <-s.inFlight }()
	if s.IsFailing() { // it began to fail during the wait
		return reply{}, storeNotRun
	}
	return s.runScript(changes)
}

// applyOrKeep applies the end of a call, if there is a store: now or, if the script does not run
// now, when the store works again. An end that the store may have got (storeUnsure) is kept, too:
// it begins with an endMark or a settledMark, which refuses it if the store has it already.
func (s *Store) applyOrKeep(end []bucketChange) (r reply, result storeResult) {
	r, result = s.apply(end)
	if result != storeRan && len(end) > 0 && s != nil {
		s.keep(pendingChange{changes: end})
	}
	return r, result
}

// giveBackLater gives back what a call may have taken, once, when the store works again. name is
// the random name of the call. First a claim uses the bucket of startMark, and applyPending reads
// from the reply whether the store had taken the call. If not, the claim makes the store refuse the
// call, which may still be on its way in an old connection.
//
// The untilMinute of the changes is that of the call's start, such as -6 (minutesFromNow). If the
// store took the call in the minute 100, its reservation is until 106.
func (s *Store) giveBackLater(name string, changes []bucketChange) {
	claim := startMark(name)
	claim.use = usedByGiveBack
	back := onceMark(time.Hour, "back", name)
	s.keep(pendingChange{append([]bucketChange{back}, changes...), &claim})
}

// keep keeps a change for applyPending, unless there are too many.
func (s *Store) keep(p pendingChange) {
	s.mu.Lock()
	if len(s.pending) < maxPending {
		s.pending = append(s.pending, p)
	}
	s.mu.Unlock()
	if !s.IsFailing() { // it works again since p was made
		s.applyPending()
	}
}

// forgetLater keeps changes of forgetMark for takeToForget. Without these, calls in a loop that use
// nothing would fill the store with marks, which last for hours.
func (s *Store) forgetLater(marks ...bucketChange) {
	if s == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.toForget = append(s.toForget, marks[:min(len(marks), maxToForget-len(s.toForget))]...)
}

// takeToForget returns at most two of the changes that forgetLater has kept, for the next call that
// the store takes. Each call adds one mark and removes up to two, so marks of ended calls do not
// pile up.
func (s *Store) takeToForget() []bucketChange {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	n := min(len(s.toForget), 2)
	taken := slices.Clone(s.toForget[:n])
	s.toForget = slices.Delete(s.toForget, 0, n)
	return taken
}

// applyPending gives the store the changes that it has missed. The reply to a claim decides:
//
//	it ran                      the store had not taken the call, and now refuses it: done
//	refused, used by the call   the store has taken the call: the changes give it back
//	refused, used by a claim    claimed by an earlier try whose reply was lost: done
func (s *Store) applyPending() {
	s.mu.Lock()
	list := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, p := range list {
		if p.claim == nil {
			s.applyOrKeep(p.changes)
			continue
		}

		r, result := s.apply([]bucketChange{*p.claim})
		wasTaken := r.refusedBucket == 1 && r.used == usedByCall
		if wasTaken {
			takenAt := r.changedAtMinute // by the call, as the claim was refused
			changes := slices.Clone(p.changes)
			for i := range changes {
				changes[i].untilMinute = minuteAt(takenAt, changes[i].untilMinute)
			}
			_, result = s.apply(changes)
		}
		if result != storeRan {
			s.keep(p)
		}
	}
}

// runScript runs take.lua. After an error the store fails, and all connections are closed: the
// server behind them may have become read-only. If SetURL has changed the URL in the meantime, the
// error is not about the present store, which does not fail.
func (s *Store) runScript(changes []bucketChange) (reply, storeResult) {
	ctx, cancel := context.WithTimeout(context.Background(), scriptTimeout)
	defer cancel()
	fails := false
	began := time.Now()
	defer func() {
		if s.ObserveUse != nil {
			s.ObserveUse(time.Since(began), fails)
		}
	}()

	pool := s.pool.Load()
	conn, _ := pool.GetContext(ctx) // after an error DoContext returns it, too
	defer conn.Close()
	connected := conn.Err() == nil
	r, err := s.runScriptOn(ctx, conn, changes)
	if err == nil {
		return r, storeRan
	}

	_, refuses := errors.AsType[redis.Error](err)
	isPresent := s.renewPool(pool)
	fails = isPresent && s.failing.CompareAndSwap(false, true)
	_ = pool.Close() // takes a while: other uses know already that the store fails
	if isPresent {
		s.logFailure(ctx, err, fails)
	}
	if connected && !refuses {
		return reply{}, storeUnsure
	}
	return reply{}, storeNotRun
}

// logFailure logs an error of the store when it begins to fail, and another cause while it fails,
// each once for a URL: a server that starts again may ask for another password.
func (s *Store) logFailure(ctx context.Context, err error, begins bool) {
	hint, _ := hintOf(err) // whether the store is a Sentinel is asked for a line of the log alone
	s.mu.Lock()
	if begins || s.logged == nil {
		s.logged = map[string]bool{}
	}
	known := s.logged[hint]
	s.logged[hint] = true
	s.mu.Unlock()
	if known {
		return
	}

	log := s.log.With("err", err)
	if hint != "" {
		log = log.With("hint", s.Hint(ctx, err))
	}
	log.Warn("the store of the limits fails: until it works, " + s.whileFailing)
}

// runScriptOn runs take.lua on a connection. The error is a redis.Error if the store returned it.
func (s *Store) runScriptOn(
	ctx context.Context, conn redis.Conn, changes []bucketChange,
) (r reply, err error) {
	value, err := takeScript.DoContext(ctx, conn, s.arguments(changes)...)
	if err != nil {
		return reply{}, err
	}
	n, err := redis.Int64s(value, nil)
	if err != nil {
		return reply{}, errors.New(err.Error()) // no redis.Error: the script has run
	}
	r = newReply(n)
	if !r.answers(changes) {
		return reply{}, fmt.Errorf("reading reply %v: the script cannot give it", n)
	}
	return r, nil
}

// newReply returns the reply that the four numbers of take.lua say, or the zero value.
func newReply(n []int64) reply {
	unpack := func(n int64) mostUsed { return mostUsed{n / bucketNumbers, n % bucketNumbers} }
	switch {
	case len(n) != 4:
		return reply{}
	case n[0] == 0:
		return reply{ofPerson: unpack(n[1]), ofAllPeople: unpack(n[2]), untilMinute: n[3]}
	}
	return reply{refusedBucket: n[0], waitMicros: n[1], used: n[2], changedAtMinute: n[3]}
}

// answers reports whether take.lua can return this reply for these changes.
func (r reply) answers(changes []bucketChange) bool {
	fits := func(u mostUsed) bool {
		isUsed := 0 < u.thousandths && u.thousandths <= 8000
		return u == mostUsed{} || isUsed && 0 < u.bucket && u.bucket <= int64(len(changes))
	}
	if r.refusedBucket == 0 {
		return fits(r.ofPerson) && fits(r.ofAllPeople) && r.untilMinute > 0
	}
	if r.refusedBucket < 0 || r.refusedBucket > int64(len(changes)) {
		return false
	}
	b := changes[r.refusedBucket-1]
	isWait := 0 <= r.waitMicros && r.waitMicros <= 9*b.periodMicros
	isUsed := 0 <= r.used && r.used <= 8*b.limitUnits
	return r.changedAtMinute >= 0 && isWait && isUsed
}

// key returns the key in the store for the key of a bucket. The braces keep all keys in one hash
// slot of a cluster. The prefix of the URL keeps deployments apart, and 3 is the version of the
// format of values.
func (s *Store) key(name string) string {
	const namespace = "{openai-responses-mcp}:"
	u := s.url.Load()
	if u == nil || Prefix(u) == "" {
		return namespace + "3:" + name
	}
	return namespace + Prefix(u) + ":3:" + name
}

// arguments returns the arguments of take.lua, the number of keys first. The values of a bucket are
// in the order of its ARGV.
func (s *Store) arguments(changes []bucketChange) []any {
	keys := []any{len(changes)}
	var values []any
	for _, b := range changes {
		keys = append(keys, s.key(b.key))
		values = append(values,
			b.periodMicros, b.limitUnits, b.need, b.use, b.reserve, b.untilMinute, b.personName)
	}
	return append(keys, values...)
}
