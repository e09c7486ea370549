package budget

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// replica is a budget of a process with a store, and its log.
type replica struct {
	*Budget
	log lines
}

// lines are those of a log.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(p)
}

func (l *lines) count(part string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Count(l.buf.String(), part)
}

// repeatedHints returns the hints of the log that more than one line has.
func (l *lines) repeatedHints() (repeated []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	times := map[string]int{}
	for _, hint := range regexp.MustCompile(`hint=.*`).FindAllString(l.buf.String(), -1) {
		times[hint]++
		if times[hint] == 2 {
			repeated = append(repeated, hint)
		}
	}
	return repeated
}

func noRoots(context.Context) (*x509.CertPool, error) { return nil, nil }

// newReplica starts a replica whose store is at a URL.
func newReplica(t *testing.T, url string, o Options) *replica {
	t.Helper()
	r := idleReplica(t, url, o)
	go r.Store.Probe(t.Context())
	return r
}

// idleReplica is newReplica without probes. A busy machine may let a real server stand still.
func idleReplica(t *testing.T, url string, o Options) *replica {
	t.Helper()
	r := &replica{}
	timeout := scriptTimeout
	if strings.Contains(url, "127.0.0.1") {
		timeout = time.Minute
	}
	o.Store = NewStore(StoreOptions{
		Roots:          noRoots,
		Timeout:        timeout,
		Log:            slog.New(slog.NewTextHandler(&r.log, nil)),
		RefusesWithout: o.RefuseWithoutStore,
	})
	_, err := o.Store.SetURL(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Budget = New(o)
	return r
}

// calls makes n calls of a person.
func (r *replica) calls(person string, n int) {
	for range n {
		c, err := take(r.Budget, person)
		if err == "" {
			settle(c, 0)
		}
	}
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for began := time.Now(); !holds(); time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 20*time.Second {
			t.Fatalf("not true after 20 s: %s", what)
		}
	}
}

// until waits until the store fails or works.
func (r *replica) until(t *testing.T, fails bool) {
	t.Helper()
	eventually(t, fmt.Sprint("fails: ", fails), func() bool { return r.Store.IsFailing() == fails })
}

// listen passes the connections of a new listener on, until the test ends.
func listen(t *testing.T, serve func(net.Conn)) (address string) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			serve(conn)
		}
	}()
	return ln.Addr().String()
}

// replying returns a replica whose store replies to each command with the same text, in parts of a
// size. Of others, each pair is a part of a command and the reply to that.
func replying(t *testing.T, url string, size int, said []byte, others ...string) *replica {
	r := idleReplica(t, url, Options{})
	r.Store.options.Dial = func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { client.Close() })
		go replyAll(server, size, said, others...)
		return client, nil
	}
	return r
}

// replyAll is the server of replying on a connection.
func replyAll(conn net.Conn, size int, said []byte, others ...string) {
	defer conn.Close()
	command := make([]byte, 1<<16)
	for {
		n, err := conn.Read(command)
		for err == nil && n%4096 == 0 { // redigo writes so many bytes at once
			var more int
			more, err = conn.Read(command[n:])
			n += more
		}
		reply := said
		for other := range slices.Chunk(others, 2) {
			if bytes.Contains(command[:n], []byte(other[0])) {
				reply = []byte(other[1])
			}
		}
		for part := range slices.Chunk(reply, size) {
			if err == nil {
				_, err = conn.Write(part)
			}
		}
		if err != nil {
			return
		}
	}
}

// allocatesLittle fails a test if f allocates much.
func allocatesLittle(t *testing.T, f func()) {
	t.Helper()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > 512 {
		t.Errorf("%d KiB are allocated", kib)
	}
}

// The store has half a second to connect.
func TestTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := NewStore(StoreOptions{
			Log: slog.New(slog.DiscardHandler),
			Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
				<-ctx.Done()
				return nil, ctx.Err()
			},
		})
		_, _ = s.SetURL("redis://store")
		began := time.Now()
		s.runScript(probe)
		compare.Equal(t, "time", time.Since(began), 500*time.Millisecond)
	})
}

// A server that accepts connections and says nothing delays the calls that come at once, side by
// side, and no later one: they do not connect.
func TestSilent(t *testing.T) {
	var accepted atomic.Int32
	address := listen(t, func(conn net.Conn) {
		t.Cleanup(func() { conn.Close() })
		accepted.Add(1)
	})

	for _, scheme := range []string{"redis", "rediss"} {
		r := idleReplica(t, scheme+"://:secret@"+address+"/3", perHour(4))
		r.Store.options.Timeout = scriptTimeout
		go r.Store.Probe(t.Context())
		const many = 100
		var all sync.WaitGroup
		began := time.Now()
		for range many {
			all.Go(func() { r.calls("alice", 1) })
		}
		all.Wait()
		if took := time.Since(began); took > many*scriptTimeout/2 {
			t.Errorf("%s: %d calls took %v, one after the other", scheme, many, took)
		}

		before := accepted.Load()
		r.calls("alice", many)
		if n := accepted.Load() - before; n > many/2 { // of probes
			t.Errorf("%s: %d later calls made %d connections", scheme, many, n)
		}
		compare.Equal(t, "warnings", r.log.count("WARN"), 1)
	}
}

// A store does not fail because many calls wait for each other.
func TestAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 2 * scriptTimeout / 5
		r := idleReplica(t, "redis://store", perHour(1000))
		r.Store.options.Dial = redistest.Passing(t, takes)

		var all sync.WaitGroup
		began := time.Now()
		for range 4 * maxScripts {
			all.Go(func() { _, _ = take(r.Budget, "alice") })
		}
		all.Wait()
		compare.Equal(t, "fails", r.Store.IsFailing(), false)
		compare.Equal(t, "time", time.Since(began), 4*takes)
	})
}

// busyConn is the connection of a process that is busy: it reads what has come long after it came.
type busyConn struct{ net.Conn }

func (c busyConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	time.Sleep(2 * scriptTimeout)
	return n, err
}

// A store does not fail because a crowd of calls keeps the process from reading its replies.
func TestBusy(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := idleReplica(t, "redis://store", perHour(1000))
		dial := redistest.Passing(t, scriptTimeout/2)
		r.Store.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			conn, err := dial(ctx, network, address)
			return busyConn{conn}, err
		}
		r.calls("alice", 1)
		compare.Equal(t, "fails", r.Store.IsFailing(), false)
	})
}

// A store, or a proxy before it, may close connections that nothing uses.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := idleReplica(t, "redis://store", perHour(1000))
		var conn net.Conn // the last one
		r.Store.options.Dial = func(ctx context.Context, network, address string) (_ net.Conn, err error) {
			conn, err = redistest.Passing(t, 0)(ctx, network, address)
			return conn, err
		}
		for _, idle := range []time.Duration{40 * time.Second, 2 * time.Second, 0} {
			r.calls("alice", 1)
			conn.Close()
			time.Sleep(idle)
		}
		compare.Equal(t, "fails", r.Store.IsFailing(), false)
	})
}

// The log tells once, each time that a store fails, that it misses too many changes.
func TestDropped(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := idleReplica(t, "redis://store", perHour(1000))
		r.Store.options.Dial = redistest.Passing(t, 0)
		for before := range 2 {
			r.Store.failing.Store(true)
			for _, n := range []int{maxPending, 2} {
				compare.Equal(t, "warnings", r.log.count("has missed too many changes"), before)
				for range n {
					r.Store.postpone(storeChange{marks: []mark{closeMark("call")}})
				}
			}
			compare.Equal(t, "warnings", r.log.count("has missed too many changes"), before+1)
			r.Store.noteWorking(t.Context())
			r.Store.applyPending(t.Context())
		}
	})
}

// Probe sends a slow store what it has missed, until its context ends. A call that ends meanwhile
// does not wait for that.
func TestPending(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const takes = 3 * scriptTimeout / 5
		r := idleReplica(t, "redis://store", perHour(1000))
		r.Store.options.Dial = redistest.Passing(t, takes)
		r.Store.failing.Store(true)
		for i := range maxPending {
			r.SettleResponse(reading(1000), fmt.Sprint("resp_", i))
		}
		for _, uses := range []int{20, maxPending} {
			ctx, cancel := context.WithCancel(t.Context())
			var probes sync.WaitGroup
			probes.Go(func() { r.Store.Probe(ctx) })
			time.Sleep(time.Duration(uses) * takes)
			began := time.Now()
			r.Store.postpone(storeChange{marks: []mark{closeMark("call")}})
			compare.Equal(t, "time of a call", time.Since(began), 0)
			cancel()
			probes.Wait()
			compare.Equal(t, "Probe returns", time.Since(began) <= takes, true)
			left := len(r.Store.pending)
			compare.Equal(t, fmt.Sprint(left, " are left"), left > maxPending*9/10, uses == 20)
		}
	})
}

// With RefuseWithoutStore a call that has a limit is refused while the store fails, also the one
// that finds the failure. It takes nothing. A call without a limit is none of the store's.
func TestRefuse(t *testing.T) {
	server := redistest.New(t, "appendonly", "yes", "appendfsync", "always")
	o := Options{Limits: Limits{CallsPerHour: 4, TokensPerDay: 100_000}, RefuseWithoutStore: true}
	r := newReplica(t, "redis://"+server.Address, o)
	running, _ := take(r.Budget, "alice")
	server.Kill()
	for range 10 {
		c := &call.Call{Person: call.Person{ID: "alice"}}
		_, refused := takeCall(r.Budget, c)
		compare.Equal(t, "error", refused, "the store of the limits fails; ask again in a minute")
		compare.Equal(t, "limit", c.RefusedBy, "store")
	}
	settle(running, 1000)
	eventually(t, "the log says which limits hold", func() bool {
		return r.log.count("until it works, calls that have a limit are refused") > 0
	})
	compare.Equal(t, "warnings twice", len(r.log.repeatedHints()), 0)
	compare.Equal(t, "limits", r.RefusedByValues(alice), []string{"hour", "day", "store"})
	without := idleReplica(t, "redis://"+server.Address, Options{RefuseWithoutStore: true})
	_, err := take(without.Budget, "alice")
	compare.Equal(t, "without a limit", err, "")
	compare.Equal(t, "fails, without a limit", without.Store.IsFailing(), false)

	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	r.until(t, false)
	r.calls("alice", 3)
	_, fifth := take(r.Budget, "alice")
	compare.Contains(t, "the fifth call", fifth, "used 4 of 4 calls an hour")
}

// A reply that the script cannot give is an error of the store, and takes no memory.
func TestReplies(t *testing.T) {
	b := New(perHour(4))
	start := storeChange{
		marks:   []mark{b.startMark("call")},
		buckets: callChange{use: amount{unitCalls: 1}}.inBuckets(b.buckets(alice)),
	}
	for i, row := range compare.Table(t, "replies", 2) {
		for _, size := range []int{1, 1 << 30} {
			inBubble(t, fmt.Sprint(i, ", ", size), func(t *testing.T) {
				r := replying(t, "redis://store", size, []byte(row[1]))
				var got outcome
				allocatesLittle(t, func() { got = r.Store.apply(start).outcome })
				words := []string{"not run", "unsure", "mark", "bucket", "made"} // in the order of outcomes
				compare.Equal(t, "outcome", words[got], row[0])
				r.CallsPerHour = 4
				_, refused := take(r.Budget, "alice")
				compare.Equal(t, "a call is refused", refused != "", row[0] == "bucket")
				lines := r.log.count("err=") - r.log.count("err=<nil>")
				compare.Equal(t, "a line with an error", lines > 0, r.Store.IsFailing())
			})
		}
	}
}

// Replies are checked over TLS, too, and the next connection resumes the session.
func TestReplyTLS(t *testing.T) {
	server := httptest.NewUnstartedServer(nil) // for its certificate
	server.StartTLS()
	defer server.Close()
	var resumed atomic.Int32
	server.TLS.VerifyConnection = func(state tls.ConnectionState) error {
		if state.DidResume {
			resumed.Add(1)
		}
		return nil
	}
	address := listen(t, func(conn net.Conn) {
		go replyAll(tls.Server(conn, server.TLS), 1, []byte("*10\r\n"))
	})

	for _, scheme := range []string{"rediss", "valkeys"} {
		r := idleReplica(t, scheme+"://"+address, Options{})
		r.Store.options.Roots = func(context.Context) (*x509.CertPool, error) {
			pool := x509.NewCertPool()
			pool.AddCert(server.Certificate())
			return pool, nil
		}
		for range 2 {
			conn, err := r.Store.connectForScripts(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			_, err = conn.Do("PING")
			compare.Contains(t, scheme+": error", fmt.Sprint(err), "not one of the script")
			conn.Close()
		}
		compare.Equal(t, scheme+": resumed sessions", resumed.Swap(0), 1)
	}
}

// The store has pseudonyms, numbers, times and names, for at most ten days. A new URL is used from
// then on.
func TestStored(t *testing.T) {
	server := redistest.New(t)
	server.Do("CONFIG", "SET", "requirepass", "secret")
	r := newReplica(t, "redis://"+server.Address,
		Options{Limits: Limits{CallsPerHour: 4, TokensPerDay: 1000, TokensPerDayOfAll: 1_000_000}})
	r.until(t, true)
	_, err := r.Store.SetURL("redis://:secret@" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	r.until(t, false)
	c, _ := takeCall(r.Budget, &call.Call{Person: alice})
	settle(c, 900_000)
	r.NoNames = true
	c, _ = takeCall(r.Budget, &call.Call{Person: call.Person{ID: "token:bob", Name: "bob"}})
	c.Settle(reading(10), End{ResponseID: "resp_1"})

	conn, err := redis.Dial("tcp", server.Address, redis.DialPassword("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	keys, err := redis.Strings(conn.Do("KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{} // GET of each key
	for _, row := range compare.Table(t, "stored", 2) {
		want["{openai-responses-mcp}:3:"+row[0]] = row[1]
	}
	random := regexp.MustCompile(`^(.*:others:)[0-9a-f]{32}$`)
	for _, key := range keys {
		ttl, err := redis.Int64(conn.Do("PTTL", key))
		if err != nil || ttl <= 0 || ttl > (10*day).Milliseconds() {
			t.Errorf("%s: ends in %d ms, %v", key, ttl, err)
		}
		value, _ := redis.String(conn.Do("GET", key))
		if !regexp.MustCompile(cmp.Or(want[random.ReplaceAllString(key, "$1")], "no such key")).MatchString(value) {
			t.Errorf("%s: %s, want %s", key, value, want[key])
		}
	}
	compare.Equal(t, "keys", len(keys), len(want))
	compare.Equal(t, "secrets in the log", r.log.count("secret"), 0)
}

// Calls in a loop that use nothing, and are given back, do not fill the store.
func TestLoop(t *testing.T) {
	server := redistest.New(t)
	r := newReplica(t, "redis://"+server.Address, perHour(2))
	r.until(t, false)
	for range 100 {
		c, refused := takeCall(r.Budget, &call.Call{Person: alice})
		compare.Equal(t, "refused", refused, "")
		c.Settle(&call.Call{}, End{NotCounted: true})
	}
	keys, err := redis.Strings(server.Do("KEYS", "*:call:*"))
	compare.Equal(t, "error", err, nil)
	if len(keys) > 5 { // of calls to which the store of a busy machine replies late
		t.Errorf("%d keys of calls", len(keys))
	}
}

// Deployments with different prefixes do not share people, and one without a prefix shares none
// with them. The account of the page may use all keys.
func TestPrefix(t *testing.T) {
	server := redistest.New(t)
	server.Do("ACL", "SETUSER", "mcp", "on", ">secret", "~{openai-responses-mcp}:*", "resetchannels",
		"-@all", "+eval", "+evalsha", "+get", "+set", "+del", "+time", "+select")
	for _, query := range []string{"", "?prefix=a", "?prefix=A", "?prefix=a-2", "?prefix=hour"} {
		url := "redis://mcp:secret@" + server.Address + "/1" + query
		for _, calls := range []int{2, 0} { // of one replica, and of another one
			r := idleReplica(t, url, perHour(2))
			r.calls("alice", calls)
			_, refused := take(r.Budget, "alice")
			compare.Contains(t, query+": the third call", refused, "used 2 of 2 calls an hour")
			compare.Equal(t, query+": fails", r.Store.IsFailing(), false)
		}
	}
}

func TestURL(t *testing.T) {
	s := NewStore(StoreOptions{})
	for _, row := range compare.Table(t, "urls", 2) {
		_, err := s.SetURL(row[1])
		isAccepted := err == nil
		compare.Equal(t, row[1]+" is accepted", fmt.Sprint(isAccepted), row[0])
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want one that does not quote it", row[1], err)
		}
	}
}
