package budget

import (
	"context"
	"fmt"
	"net"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// The reply to INFO is bounded, too, and no error of the store.
func TestPolicies(t *testing.T) {
	for i, row := range compare.Table(t, "policies", 2) {
		for _, size := range []int{1, 1 << 30} {
			t.Run(fmt.Sprint(i, ", ", size), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said := []byte(row[1])
					r := idleReplica(t, "redis://store", Options{})
					r.Store.Dial = func(context.Context, string, string) (net.Conn, error) {
						client, server := net.Pipe()
						go replyAll(server, said, size)
						return client, nil
					}

					var before, after runtime.MemStats
					runtime.ReadMemStats(&before)
					policy, drops := r.Store.evictionPolicy(t.Context())
					runtime.ReadMemStats(&after)
					got := ""
					if drops {
						got = policy
					}
					compare.Equal(t, "policy", got, row[0])
					compare.Equal(t, "fails", r.Store.IsFailing(), false)
					if kib := (after.TotalAlloc - before.TotalAlloc) >> 10; kib > 512 {
						t.Errorf("%d KiB are allocated", kib)
					}
				})
			})
		}
	}
}

// A policy that drops keys is a warning once for each URL, when the store is reached, and none
// where the account may not ask.
func TestPolicyWarning(t *testing.T) {
	server := redistest.New(t, "maxmemory", "64mb", "maxmemory-policy", "volatile-lru")
	server.Kill()
	r := newReplica(t, "redis://"+server.Address, Options{})
	r.until(t, true)
	const warning = "drops keys when it is full, and forgets what people have used\" policy=volatile-lru hint="
	compare.Equal(t, "warnings while it is down", r.log.count(warning), 0)
	if err := server.Run(); err != nil {
		t.Fatal(err)
	}
	r.warned(t, warning, 1)

	server.Do("ACL", "SETUSER", "mcp", "on", ">secret", "~{openai-responses-mcp}:*", "-@all",
		"+eval", "+evalsha", "+get", "+set", "+del", "+time", "+select")
	for _, want := range []int{1, 2} { // the account may not ask, and then it may
		_, err := r.Store.SetURL("redis://mcp:secret@" + server.Address)
		if err != nil {
			t.Fatal(err)
		}
		r.warned(t, warning, want)
		compare.Equal(t, "fails", r.Store.IsFailing(), false)
		for began := time.Now(); time.Since(began) < 10*time.Second; { // until the account has asked
			refusals, _ := redis.Values(server.Do("ACL", "LOG"))
			if len(refusals) > 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		server.Do("ACL", "SETUSER", "mcp", "+info")
	}
}

// warned waits until the store has been reached since the last change of its URL, and a warning is
// in the log so many times.
func (r *replica) warned(t *testing.T, warning string, times int) {
	t.Helper()
	for began := time.Now(); r.Store.unprobed.Load() || r.log.count(warning) < times; {
		time.Sleep(10 * time.Millisecond)
		if time.Since(began) > 10*time.Second {
			t.Fatalf("%d warnings, want %d", r.log.count(warning), times)
		}
	}
	compare.Equal(t, "warnings", r.log.count(warning), times)
}

// Check names the fault of a store, and the policy and the clock of one that works.
func TestCheck(t *testing.T) {
	server := redistest.New(t)
	sentinel := redistest.NewSentinel(t)
	server.Do("ACL", "SETUSER", "mcp", "on", ">secret", "~{openai-responses-mcp}:*", "-@all",
		"+eval", "+evalsha", "+get", "+set", "+del", "+time", "+select")
	for _, tt := range []struct{ url, want, policy string }{
		{"redis://" + server.Address, "<nil> ", "noeviction"},
		{"redis://mcp:secret@" + server.Address + "/2?prefix=a", "<nil> ", ""},
		{"redis://mcp:wrong@" + server.Address, "WRONGPASS", ""},
		{"redis://" + server.Address + "/99", "DB index is out of range", ""},
		{"redis://" + sentinel.Address, "this is a Sentinel", ""},
		{"redis://127.0.0.1:1", "see whether the store runs", ""},
	} {
		r := idleReplica(t, tt.url, Options{})
		got := r.Store.Check(t.Context())
		compare.Contains(t, tt.url, fmt.Sprint(got.Err, " ", got.Hint), tt.want)
		compare.Equal(t, "policy", got.EvictionPolicy, tt.policy)
		compare.Equal(t, "log", r.log.buf.String(), "")
		if got.ClockAhead.Abs() > time.Second {
			t.Errorf("the clock of the same machine is %v ahead", got.ClockAhead)
		}
	}
}

// The clocks of a store differ by whole seconds.
func TestAhead(t *testing.T) {
	for _, seconds := range []int64{0, 61, -3600} {
		synctest.Test(t, func(t *testing.T) {
			client, server := net.Pipe()
			said := fmt.Sprintf(":%d\r\n", time.Now().Unix()+seconds)
			go replyAll(server, []byte(said), 1)
			conn := redis.NewConn(&replyConn{Conn: client}, 0, 0)
			defer conn.Close()
			got, err := clockAhead(t.Context(), conn)
			compare.Equal(t, "error", err, nil)
			compare.Equal(t, "ahead", got, time.Duration(seconds)*time.Second)
		})
	}
}
