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
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	scriptTimeout = 500 * time.Millisecond // to connect to the store, and then for each reply
	probeInterval = time.Second            // between two probes of a store that fails
	maxScripts    = 64                     // at once, each with a connection
	maxPending    = 1000                   // changes; beyond it what a call has reserved counts as used
)

//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(-1, takeSource) // the number of keys varies

// storeURL matches the URLs of stores. A user needs a password: a user alone could be a misplaced
// password. A prefix begins with a letter, and so differs from the version 3 (Store.fullKey).
var storeURL = text.LazyRegexp(`^(redis|valkey)s?://([^/?#@]*:[^/?#@]*@)?` +
	`(\[.+\]|[^/?#@:,]+)(:\d{1,5})?(/\d{0,4})?(\?prefix=[A-Za-z][\w-]{0,63})?$`)

// Store is a Valkey or Redis server. After an error the store fails: it is not used until a probe
// succeeds. An error does not tell whether the script ran. So only changes with a mark are sent
// again: the mark refuses a change that the store has made.
type Store struct {
	// Dial connects. It may be replaced before SetURL.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// ObserveUse, if not nil, is called after each run of the script, probes included: took is how
	// long it took, and beginsToFail whether the store began to fail with it. It may be set before
	// the first use.
	ObserveUse func(took time.Duration, beginsToFail bool)

	roots      func(context.Context) (*x509.CertPool, error)
	log        *slog.Logger
	url        atomic.Pointer[url.URL]
	pool       atomic.Pointer[redis.Pool]
	failing    atomic.Bool
	needsProbe atomic.Bool // no probe has succeeded since SetURL

	// inFlight holds an element for each change that runs; probes are not bounded. MaxActive and Wait
	// of a redis.Pool would panic if the pool is closed during a wait.
	inFlight chan struct{}

	whileFailing string // words for the log: which limits hold while it fails

	mu      sync.Mutex      // guards the fields below
	pending []pendingChange // at most maxPending
	logged  map[string]bool // hints in the log, since the store at this URL began to fail
	dropped bool            // keep has dropped a change since the store last began to work
}

// pendingChange is a change for the store when it works again: the end of a call, or the return of
// a call that the store may have taken (giveBackLater).
type pendingChange struct {
	change
	claim        *change // see giveBackLater; nil for the end of a call
	maybeApplied bool    // the store may have made the change, and its reply was lost
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
	s.needsProbe.Store(true)
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
		DialContext:     s.connectForScripts,
		MaxIdle:         maxScripts,
		IdleTimeout:     10 * time.Second, // a proxy in between may close them after 30 s
		MaxConnLifetime: 5 * time.Minute,
	})
}

// connectForScripts connects to the store until ctx ends. Replies have a deadline of the
// connection, not a context: one that comes in time counts, however late a busy process reads it.
func (s *Store) connectForScripts(ctx context.Context) (redis.Conn, error) {
	return s.connect(ctx, s.url.Load(), scriptReplies,
		redis.DialReadTimeout(scriptTimeout), redis.DialWriteTimeout(scriptTimeout))
}

// connect connects to a URL, with replies of a form. It does TLS itself, as redigo would do it on
// top of the replyConn, which has to see plain replies.
func (s *Store) connect(
	ctx context.Context, to *url.URL, f replyForm, options ...redis.DialOption,
) (redis.Conn, error) {
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
	options = append(options, redis.DialContextFunc(open))
	conn, err := redis.DialURLContext(ctx, u.String(), options...)
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

// probe runs both commands by which take.lua changes keys: SET for the first mark, and DEL for the
// second one.
var probe = change{marks: []mark{
	{"probe", anyState, "probed", time.Second},
	{key: "probe:unused", needs: anyState},
}}

// Probe probes the store, if there is one, until ctx ends: every second until the first success
// after SetURL, and while the store fails. A probe writes, because a store that is full or
// read-only still answers reads. While the store works, Probe sends it what it has missed.
func (s *Store) Probe(ctx context.Context) {
	for s != nil {
		if s.needsProbe.Load() || s.IsFailing() {
			_, result := s.runScript(probe)
			if result == storeRan {
				s.noteWorking(ctx)
			}
		}
		s.applyPending(ctx)
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
		s.mu.Lock()
		s.dropped = false
		s.mu.Unlock()
	}
	if !s.needsProbe.CompareAndSwap(true, false) {
		return
	}
	policy, drops := s.evictionPolicy(ctx)
	if drops {
		s.log.Warn("the store of the limits "+DropsWarning, "policy", policy, "hint", DropsHint)
	}
}

// apply makes a change in the store. It does nothing if there is no store, the store fails, or the
// change is empty. It waits while maxScripts uses run.
func (s *Store) apply(ch change) (r reply, result storeResult) {
	if s == nil || s.IsFailing() || ch.isEmpty() {
		return reply{}, storeNotRun
	}
	s.inFlight <- struct{}{} // each use ends: see scriptTimeout
	defer func() { <-s.inFlight }()
	if s.IsFailing() { // it began to fail during the wait
		return reply{}, storeNotRun
	}
	return s.runScript(ch)
}

// applyOrKeep applies the end of a call, if there is a store: now or, if the script does not run
// now, when the store works again. An end that the store may have got (storeUnsure) is kept, too:
// its mark refuses it if the store has it already. A refused releaseMark refuses nothing here, see
// applyEnd.
func (s *Store) applyOrKeep(end change) (r reply, result storeResult) {
	r, result = s.applyEnd(end)
	if result != storeRan && !end.isEmpty() && s != nil {
		s.keep(pendingChange{change: end, maybeApplied: result == storeUnsure})
	}
	return r, result
}

// applyEnd applies the end of a call that the store cannot have yet. If releaseMark refuses it, the
// store has lost the key of the call, as by FLUSHALL: then the end adds what the call has used.
func (s *Store) applyEnd(end change) (r reply, result storeResult) {
	r, result = s.apply(end)
	if r.refusedByMark && end.marks[0].needs == stateTaken { // a releaseMark has no mark beside it
		forget := end.marks[0]
		forget.needs = anyState
		return s.apply(change{[]mark{forget}, end.buckets})
	}
	return r, result
}

// giveBackLater gives back what a call may have taken, once, when the store works again. callName
// is the random name of the call. First its claimMark makes the store refuse the call, whose start
// may still be on its way in an old connection. If that is refused, the store has taken the call,
// or it has this claim already: then releaseMark refuses the change.
func (s *Store) giveBackLater(callName string, buckets []bucketChange) {
	s.keep(pendingChange{
		claim:        &change{marks: []mark{claimMark(callName)}},
		change:       change{[]mark{releaseMark(callName)}, buckets},
		maybeApplied: true,
	})
}

// keep keeps a change for Probe, unless there are too many, which it logs once until the store works
// again. It does not use the store: a call that ends does not wait until the store has all of them.
func (s *Store) keep(p pendingChange) {
	s.mu.Lock()
	drops := len(s.pending) >= maxPending
	logs := drops && !s.dropped
	s.dropped = s.dropped || drops
	if !drops {
		s.pending = append(s.pending, p)
	}
	s.mu.Unlock()
	if logs {
		s.log.Warn("the store of the limits has missed too many changes: what further calls reserve "+
			"counts as used", "kept", maxPending)
	}
}

// applyPending gives the store the changes that it has missed, one after another, until ctx ends or
// the store fails. What does not run is kept again.
func (s *Store) applyPending(ctx context.Context) {
	for n := s.countPending(); n > 0 && ctx.Err() == nil && !s.IsFailing(); n-- {
		s.mu.Lock()
		p := s.pending[0] // nothing else removes one
		s.pending = s.pending[1:]
		s.mu.Unlock()
		result := s.retryPending(p)
		if result != storeRan {
			p.maybeApplied = p.maybeApplied || result == storeUnsure
			s.keep(p)
		}
	}
}

// countPending counts the changes that the store has missed.
func (s *Store) countPending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// retryPending sends a pending change. If its claim is refused, either the store has taken the call,
// and the change gives it back, or it has an earlier claim, whose reply was lost: then the mark of
// the change refuses it.
func (s *Store) retryPending(p pendingChange) (result storeResult) {
	if p.claim != nil {
		r, result := s.apply(*p.claim)
		if result != storeRan || !r.refusedByMark { // it fails, or had not taken the call
			return result
		}
	}
	if p.maybeApplied {
		_, result = s.apply(p.change)
	} else {
		_, result = s.applyEnd(p.change)
	}
	return result
}

// runScript runs take.lua. After an error the store fails, and all connections are closed: the
// server behind them may have become read-only. If SetURL has changed the URL in the meantime, the
// error is not about the present store, which does not fail.
func (s *Store) runScript(ch change) (reply, storeResult) {
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
	conn, _ := pool.GetContext(ctx) // after an error Do returns it, too
	defer conn.Close()
	connected := conn.Err() == nil
	r, err := s.runScriptOn(conn, ch)
	if err == nil {
		return r, storeRan
	}

	_, refuses := errors.AsType[redis.Error](err)
	wasCurrent := s.renewPool(pool)
	fails = wasCurrent && s.failing.CompareAndSwap(false, true)
	_ = pool.Close() // takes a while: other uses know already that the store fails
	if wasCurrent {
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
func (s *Store) runScriptOn(conn redis.Conn, ch change) (r reply, err error) {
	value, err := takeScript.Do(conn, s.arguments(ch)...)
	if err != nil {
		return reply{}, err
	}
	n, err := redis.Int64s(value, nil)
	if err != nil {
		return reply{}, errors.New(err.Error()) // no redis.Error: the script has run
	}
	r, ok := parseReply(n, ch)
	if !ok {
		return reply{}, fmt.Errorf("reading reply %v: the script cannot give it", n)
	}
	return r, nil
}

// parseReply parses the numbers that take.lua returns for a change. ok is false if it cannot return
// them.
func parseReply(n []int64, ch change) (r reply, ok bool) {
	if len(n) != 5 {
		return reply{}, false
	}
	if n[0] == -1 {
		return reply{refusedByMark: true}, len(ch.marks) > 0
	}

	count := int64(len(ch.buckets))
	if n[0] == 0 {
		r = reply{
			ofPerson:    mostUsed{n[1], n[2]},
			ofAllPeople: mostUsed{n[3], n[4]},
		}
		fits := func(u mostUsed) bool {
			isUsed := 0 < u.thousandths && u.thousandths <= 8000
			return u == mostUsed{} || isUsed && 0 < u.bucketNumber && u.bucketNumber <= count
		}
		return r, fits(r.ofPerson) && fits(r.ofAllPeople)
	}

	if n[0] < 0 || n[0] > count {
		return reply{}, false
	}
	r = reply{
		refusingBucket: n[0],
		waitMicros:     n[1],
		used:           n[2],
	}
	bc := ch.buckets[r.refusingBucket-1]
	isWait := 0 <= r.waitMicros && r.waitMicros <= 9*bc.periodMicros
	isUsed := 0 <= r.used && r.used <= 8*bc.limitUnits
	return r, isWait && isUsed
}

// fullKey returns the key in the store for the key of a mark or a bucket. The braces keep all keys
// in one hash slot of a cluster. The prefix of the URL keeps deployments apart, and 3 is the version
// of the format of values.
func (s *Store) fullKey(key string) string {
	const namespace = "{openai-responses-mcp}:"
	u := s.url.Load()
	if u == nil || Prefix(u) == "" {
		return namespace + "3:" + key
	}
	return namespace + Prefix(u) + ":3:" + key
}

// arguments returns the arguments of take.lua, the number of keys first. The values of a mark and of
// a bucket are in the order of its ARGV.
func (s *Store) arguments(ch change) []any {
	keys := []any{len(ch.marks) + len(ch.buckets)}
	values := []any{len(ch.marks)}
	for _, m := range ch.marks {
		keys = append(keys, s.fullKey(m.key))
		values = append(values, m.needs, m.then, m.keep.Milliseconds())
	}
	for _, bc := range ch.buckets {
		keys = append(keys, s.fullKey(bc.key))
		values = append(values,
			bc.periodMicros, bc.limitUnits, bc.need, bc.use, bc.reserve, bc.minutes, bc.personName)
	}
	return append(keys, values...)
}
