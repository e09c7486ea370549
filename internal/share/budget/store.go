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
	useTime   = 500 * time.Millisecond // for one use of the store, connecting included
	probeTime = time.Second            // between two probes of a store that fails
	maxUses   = 64                     // at once, each with a connection
	maxKept   = 1000                   // of calls; what the others have reserved counts as used
)

//go:embed take.lua
var takeSource string

var takeScript = redis.NewScript(-1, takeSource) // the number of keys varies

// storeURL matches the URLs of stores. It has no user without a password, who could be the
// password. A prefix begins with a letter, so that it is not the version in key.
var storeURL = text.Regexp(`^(redis|valkey)s?://([^/?#@]*:[^/?#@]*@)?` +
	`(\[.+\]|[^/?#@:,]+)(:\d{1,5})?(/\d{0,4})?(\?prefix=[A-Za-z][\w-]{0,63})?$`)

// Store is a Valkey or Redis server. After an error it is not used until a probe succeeds. No use
// is repeated: an error does not say whether the script ran.
type Store struct {
	// Dial connects. It may be replaced before SetURL.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)

	// Used, if not nil, is told of each use: how long it took, and whether the store fails since
	// then. It may be set before the first use.
	Used func(took time.Duration, fails bool)

	roots   func(context.Context) (*x509.CertPool, error)
	log     *slog.Logger
	url     atomic.Pointer[url.URL]
	pool    atomic.Pointer[redis.Pool]
	uses    chan struct{} // that run; MaxActive and Wait of a pool panic if it is closed meanwhile
	failing atomic.Int32  // 1: it fails
	fresh   atomic.Bool   // it has not worked since SetURL

	meanwhile string // what holds while it fails

	mu   sync.Mutex // guards kept
	kept []kept     // at most maxKept
}

// kept is what the store gets when it works again: the end of a call, or what a call gives back
// that the store may have taken.
type kept struct {
	changes []bucketChange
	start   *bucketChange // of the call that gives back; nil: of none
}

// NewStore returns a Store, which needs a URL. roots returns those of TLS; nil: those of the
// system.
func NewStore(
	roots func(context.Context) (*x509.CertPool, error), log *slog.Logger,
) *Store {
	s := &Store{
		Dial:  new(net.Dialer).DialContext,
		roots: roots,
		log:   log,
		uses:  make(chan struct{}, maxUses),

		meanwhile: "they are those of this replica",
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
	s.renew(s.pool.Load())
	s.fresh.Store(true)
	return u, nil
}

// Prefix returns what keeps the keys of a deployment apart, or "".
func Prefix(u *url.URL) string { return strings.TrimPrefix(u.RawQuery, "prefix=") }

// renew ends the connections of a pool, and reports whether it was the current one. Connections
// also end after some minutes, because the name may have a new address.
func (s *Store) renew(pool *redis.Pool) bool {
	_ = pool.Close()
	return s.pool.CompareAndSwap(pool, &redis.Pool{
		DialContext:     s.dial,
		MaxIdle:         8,
		IdleTimeout:     10 * time.Second, // a proxy in between may close them after 30 s
		MaxConnLifetime: 5 * time.Minute,
	})
}

// dial connects to the store until ctx ends.
func (s *Store) dial(ctx context.Context) (redis.Conn, error) {
	return s.connect(ctx, s.url.Load(), ofScript)
}

// connect connects to a URL. redigo sees no TLS: the check of replies is above it.
func (s *Store) connect(ctx context.Context, to *url.URL, f form) (redis.Conn, error) {
	u := *to
	secure := u.Scheme == "rediss" || u.Scheme == "valkeys"
	u.Scheme = "redis"
	u.RawQuery = ""
	open := func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := s.Dial(ctx, network, address)
		if err == nil && secure {
			conn, err = s.secure(ctx, conn, u.Hostname())
		}
		return &replies{Conn: conn, form: f}, err
	}
	return redis.DialURLContext(ctx, u.String(), redis.DialContextFunc(open))
}

// secure begins TLS on a connection, which it closes after an error.
func (s *Store) secure(ctx context.Context, plain net.Conn, host string) (net.Conn, error) {
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

// outcome says whether the store has run the script.
type outcome int

const (
	storeUnused outcome = iota // it was not asked, has refused, or cannot be reached
	storeDone
	storeUnsure // it was asked, and has not answered
)

// Failing returns 1 while the store fails, and 0 otherwise or if there is none.
func (s *Store) Failing() int {
	if s == nil {
		return 0
	}
	return int(s.failing.Load())
}

// probe is a change that no person notices.
var probe = []bucketChange{{key: "probe", limit: 3600, use: 1, minute: noMinute}}

// Probe probes the store, if there is one, until ctx ends: once for each URL, and every second
// while it fails. A probe writes: a store that is full or read-only answers others.
func (s *Store) Probe(ctx context.Context) {
	for s != nil {
		if s.fresh.Load() || s.Failing() == 1 {
			_, o := s.use(probe)
			if o == storeDone {
				s.works(ctx)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(probeTime):
		}
	}
}

// works notes that the store works.
func (s *Store) works(ctx context.Context) {
	if s.failing.CompareAndSwap(1, 0) {
		s.log.Info("the store of the limits works again")
		s.applyKept()
	}
	if !s.fresh.CompareAndSwap(true, false) {
		return
	}
	policy, drops := s.policy(ctx)
	if drops {
		s.log.Warn("the store of the limits "+Drops, "policy", policy, "hint", DropsHint)
	}
}

// apply is use, if there is a store that works and something to take.
func (s *Store) apply(changes []bucketChange) (r reply, o outcome) {
	if s == nil || s.Failing() == 1 || len(changes) == 0 {
		return reply{}, storeUnused
	}
	s.uses <- struct{}{} // each use ends in useTime
	defer func() { <-s.uses }()
	if s.Failing() == 1 { // meanwhile
		return reply{}, storeUnused
	}
	return s.use(changes)
}

// applyOrKeep notes the end of a call, if there is a store: now, or once it works again.
func (s *Store) applyOrKeep(end []bucketChange) (r reply, o outcome) {
	r, o = s.apply(end)
	if o == storeUnused && len(end) > 0 && s != nil {
		s.keep(kept{changes: end})
	}
	return r, o
}

// giveBack undoes, once, what a call may have taken, once the store works again. name is that of
// its start. The minute of the changes is negative: so many minutes after the start.
func (s *Store) giveBack(name string, changes []bucketChange) {
	start := startOf(name)
	start.use = byGiveBack
	back := once(started, "back", name)
	s.keep(kept{append([]bucketChange{back}, changes...), &start})
}

// keep keeps a change for applyKept.
func (s *Store) keep(k kept) {
	s.mu.Lock()
	if len(s.kept) < maxKept {
		s.kept = append(s.kept, k)
	}
	s.mu.Unlock()
	if s.Failing() == 0 { // it works again meanwhile
		s.applyKept()
	}
}

// applyKept gives the store what it has missed. A call gives back only what the store has taken: if
// it had not, start keeps it from taking the call later, from a connection that it has not read
// yet.
func (s *Store) applyKept() {
	s.mu.Lock()
	list := s.kept
	s.kept = nil
	s.mu.Unlock()
	for _, k := range list {
		if k.start == nil {
			s.applyOrKeep(k.changes)
			continue
		}

		r, o := s.apply([]bucketChange{*k.start})
		if r.refused == 1 && r.used == byCall { // it has taken the call, in the minute of the reply
			changes := slices.Clone(k.changes)
			for i := range changes {
				changes[i].minute = r.minute - changes[i].minute
			}
			_, o = s.apply(changes)
		}
		if o != storeDone {
			s.keep(k)
		}
	}
}

// use runs take.lua. After an error the store fails, and all connections end: the server behind
// them may have become read-only. That is not so if the URL has changed meanwhile.
func (s *Store) use(changes []bucketChange) (reply, outcome) {
	ctx, cancel := context.WithTimeout(context.Background(), useTime)
	defer cancel()
	fails := false
	began := time.Now()
	defer func() {
		if s.Used != nil {
			s.Used(time.Since(began), fails)
		}
	}()

	pool := s.pool.Load()
	conn, _ := pool.GetContext(ctx) // an error is that of DoContext, too
	defer conn.Close()
	connected := conn.Err() == nil
	r, err := s.run(ctx, conn, changes)
	if err == nil {
		return r, storeDone
	}

	_, refuses := errors.AsType[redis.Error](err)
	fails = s.renew(pool) && s.failing.CompareAndSwap(0, 1)
	if fails {
		log := s.log.With("err", err)
		hint := s.hint(ctx, err)
		if hint != "" {
			log = log.With("hint", hint)
		}
		log.Warn("the store of the limits fails: until it works, " + s.meanwhile)
	}
	if connected && !refuses {
		return reply{}, storeUnsure
	}
	return reply{}, storeUnused
}

// run runs take.lua. A redis.Error is the store's.
func (s *Store) run(ctx context.Context, conn redis.Conn, changes []bucketChange) (r reply, err error) {
	value, err := takeScript.DoContext(ctx, conn, s.arguments(changes)...)
	if err != nil {
		return reply{}, err
	}
	n, err := redis.Int64s(value, nil)
	if err != nil {
		return reply{}, errors.New(err.Error()) // not a refusal of the script
	}
	switch {
	case len(n) != 4:
	case n[0] == 0:
		r = reply{ofPerson: share(n[1]), ofAll: share(n[2]), minute: n[3]}
	default:
		r = reply{refused: n[0], wait: n[1], used: n[2], minute: n[3]}
	}
	if !r.isOf(changes) {
		return reply{}, fmt.Errorf("reading reply %v: the script cannot give it", n)
	}
	return r, nil
}

// isOf reports whether a reply can be that of take.lua for these buckets.
func (r reply) isOf(changes []bucketChange) bool {
	fits := func(s share) bool {
		used := 0 < s.thousandths() && s.thousandths() <= 8000
		return s == 0 || used && 0 < s.bucket() && s.bucket() <= int64(len(changes))
	}
	if r.refused == 0 {
		return fits(r.ofPerson) && fits(r.ofAll) && r.minute > 0
	}
	if r.refused < 0 || r.refused > int64(len(changes)) {
		return false
	}
	b := changes[r.refused-1]
	return r.minute >= 0 && 0 <= r.wait && r.wait <= 9*b.period() && 0 <= r.used && r.used <= 8*b.limit
}

// key returns the key of a name. The braces keep all keys in one slot of a cluster. The prefix of
// the URL keeps deployments apart, and the number is the version of what keys hold.
func (s *Store) key(name string) string {
	const namespace = "{openai-responses-mcp}:"
	u := s.url.Load()
	if u == nil || Prefix(u) == "" {
		return namespace + "3:" + name
	}
	return namespace + Prefix(u) + ":3:" + name
}

// arguments are those of take.lua, the number of keys first.
func (s *Store) arguments(changes []bucketChange) []any {
	keys := []any{len(changes)}
	var values []any
	for _, b := range changes {
		keys = append(keys, s.key(b.key))
		values = append(values, b.period(), b.limit, b.need, b.use, b.reserve, b.minute, b.name)
	}
	return append(keys, values...)
}
