package budget

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// A policy that drops keys is a warning once for each URL, when the store is reached, and none
// where the account may not ask.
func TestPolicyWarning(t *testing.T) {
	server := redistest.New(t, "maxmemory", "64mb", "maxmemory-policy", "volatile-lru")
	server.Kill()
	r := newReplica(t, "redis://"+server.Address, Options{})
	r.until(t, true)
	compare.Equal(t, "policy while it is down", r.Store.Check(t.Context()).EvictionPolicy, "")
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
		eventually(t, "the account has asked", func() bool {
			refusals, _ := redis.Values(server.Do("ACL", "LOG"))
			return len(refusals) > 0
		})
		server.Do("ACL", "SETUSER", "mcp", "+info")
	}
}

// An account that may not run a command of the script fails at the first probe, and not only for
// the changes that need the command.
func TestRights(t *testing.T) {
	server := redistest.New(t)
	for _, command := range []string{"get", "set", "del", "time"} {
		t.Run(command, func(t *testing.T) {
			server.Do("ACL", "SETUSER", "mcp", "reset", "on", ">secret", "~{openai-responses-mcp}:*", "-@all",
				"+eval", "+evalsha", "+get", "+set", "+del", "+time", "-"+command)
			r := idleReplica(t, "redis://mcp:secret@"+server.Address, Options{})
			found := r.Store.Check(t.Context())
			compare.Contains(t, "hint", found.Hint, "give the account its rights")
		})
	}
}

// warned waits until the store has been reached since the last change of its URL, and a warning is
// in the log so many times.
func (r *replica) warned(t *testing.T, warning string, times int) {
	t.Helper()
	eventually(t, warning, func() bool {
		return !r.Store.needsProbe.Load() && r.log.count(warning) >= times
	})
	compare.Equal(t, "warnings", r.log.count(warning), times)
}

// farAway is a connection to a store with a round trip of 0.2 s.
type farAway struct{ net.Conn }

func (f farAway) Write(p []byte) (int, error) {
	time.Sleep(200 * time.Millisecond)
	return f.Conn.Write(p)
}

// The store is far away, but each reply comes in time. The clocks of a store differ by whole
// seconds. This one refuses a script without keys, as
// ElastiCache Serverless does, and writes ERR before NOSCRIPT, as Kvrocks does.
func TestAhead(t *testing.T) {
	for _, seconds := range []int64{61, -3600} {
		inBubble(t, fmt.Sprint(seconds), func(t *testing.T) {
			clock := fmt.Sprintf("+%d\r\n", time.Now().Unix()+seconds)
			unknown := []byte("-ERR NOSCRIPT No matching script.\r\n")
			r := replying(t, "redis://store", 1, unknown,
				"TIME", clock,
				"changeState", "*1\r\n:0\r\n", // take.lua
				"words }\r\n$1\r\n0\r\n",
				"-ERR Lua scripts without any input keys are not supported.\r\n")
			r.Store.options.Timeout = 500 * time.Millisecond
			dial := r.Store.options.Dial
			r.Store.options.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := dial(ctx, network, address)
				return farAway{conn}, err
			}
			found := r.Store.Check(t.Context())
			ahead := time.Duration(seconds) * time.Second
			compare.Equal(t, "found", found, CheckResult{ClockAhead: ahead})
		})
	}
}
