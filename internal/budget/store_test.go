package budget

import (
	"bytes"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

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

func noRoots() *x509.CertPool { return nil }

// newReplica starts a replica whose store is at a URL.
func newReplica(t *testing.T, url string, o Options) *replica {
	t.Helper()
	r := &replica{}
	o.Store = NewStore(noRoots, slog.New(slog.NewTextHandler(&r.log, nil)))
	_, err := o.Store.SetURL(url)
	if err != nil {
		t.Fatal(err)
	}
	r.Budget = New(o)
	go r.Store.Run(t.Context())
	return r
}

// calls makes n calls of a person.
func (r *replica) calls(person string, n int) {
	for range n {
		c, err := take(r.Budget, person)
		if err == "" {
			settle(r.Budget, c, 0)
		}
	}
}

// until waits until the store fails or works.
func (r *replica) until(t *testing.T, fails bool) {
	t.Helper()
	for began := time.Now(); (r.Store.Failing() == 1) != fails; time.Sleep(10 * time.Millisecond) {
		if time.Since(began) > 10*time.Second {
			t.Fatalf("the store fails: %t, want %t", !fails, fails)
		}
	}
}

// A server that accepts connections and says nothing delays the calls that come at once, side by
// side, and no later one: they do not connect.
func TestSilent(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	var accepted atomic.Int32
	go func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			accepted.Add(1)
		}
	}()

	for _, scheme := range []string{"redis", "rediss"} {
		r := newReplica(t, scheme+"://:secret@"+ln.Addr().String()+"/3", Options{CallsPerHour: 4})
		const many = 100
		var all sync.WaitGroup
		began := time.Now()
		for range many {
			all.Go(func() { r.calls("alice", 1) })
		}
		all.Wait()
		if took := time.Since(began); took > many*useTime/2 {
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

// A call that began in memory is noted in the store if that works at its end.
func TestNotedLater(t *testing.T) {
	server := redistest.New(t)
	server.Kill()
	r := newReplica(t, "redis://"+server.Address, Options{CallsPerHour: 4, TokensPerDay: 100_000})
	r.until(t, true)
	c, _ := take(r.Budget, "alice")
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	r.until(t, false)
	settle(r.Budget, c, 150_000)
	other := newReplica(t, "redis://"+server.Address, Options{TokensPerDay: 100_000})
	_, refused := take(other.Budget, "alice")
	compare.Equal(t, "error", refused,
		"limit of 100000 tokens a day reached; a call is possible in 721 min")
}

// The store has pseudonyms and times, for at most two days. A new URL is used from then on.
func TestStored(t *testing.T) {
	server := redistest.New(t)
	server.Do("CONFIG", "SET", "requirepass", "secret")
	r := newReplica(t, "redis://"+server.Address,
		Options{CallsPerHour: 4, TokensPerDay: 1000, TokensPerDayOfAll: 1_000_000})
	r.until(t, true)
	_, err := r.Store.SetURL("redis://:secret@" + server.Address)
	if err != nil {
		t.Fatal(err)
	}
	r.until(t, false)
	c, _ := take(r.Budget, "token:alice")
	settle(r.Budget, c, 900_000)

	conn, err := redis.Dial("tcp", server.Address, redis.DialPassword("secret"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	keys, err := redis.Strings(conn.Do("KEYS", "*"))
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(keys)
	id := fmt.Sprintf("%.16x", sha256.Sum256([]byte("token:alice")))
	keys = slices.DeleteFunc(keys, func(key string) bool { return strings.HasSuffix(key, "probe") })
	compare.Equal(t, "keys", keys, []string{
		"{openai-responses-mcp}:1:all:",
		"{openai-responses-mcp}:1:day:" + id,
		"{openai-responses-mcp}:1:hour:" + id,
	})
	for _, key := range keys {
		ttl, err := redis.Int64(conn.Do("PTTL", key))
		if err != nil || ttl <= 0 || ttl > (48*time.Hour).Milliseconds() {
			t.Errorf("%s: ends in %d ms, %v", key, ttl, err)
		}
		value, _ := redis.String(conn.Do("GET", key))
		if len(value) != 16 || strings.Trim(value, "0123456789") != "" {
			t.Errorf("%s: %s is no time", key, value)
		}
	}
	compare.Equal(t, "secrets in the log", r.log.count("secret"), 0)
}

func TestURL(t *testing.T) {
	s := NewStore(noRoots, nil)
	for _, row := range compare.Table(t, "urls", 2) {
		_, err := s.SetURL(row[1])
		isAccepted := err == nil
		compare.Equal(t, row[1]+" is accepted", fmt.Sprint(isAccepted), row[0])
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: error %v, want one that does not quote it", row[1], err)
		}
	}
}
