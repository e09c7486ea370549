package budget

import (
	"net"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

func TestHints(t *testing.T) {
	for _, row := range compare.Table(t, "hints", 2) {
		inBubble(t, row[0], func(t *testing.T) {
			said, isSentinel := strings.CutPrefix(row[0], "Sentinel: ")
			toSentinel := "-ERR unknown command 'SENTINEL', with args beginning with: \r\n"
			if isSentinel {
				toSentinel = "-ERR wrong number of arguments for 'sentinel' command\r\n"
			}
			const url = "redis://mcp:secret@store/1?prefix=a"
			r := replying(t, url, 1<<30, []byte(said), "SENTINEL", toSentinel)
			r.Store.runScript(probe)
			compare.Contains(t, "hint of a check", r.Store.Check(t.Context()).Hint, row[1])
			compare.Equal(t, "fails", r.Store.IsFailing(), true)
			compare.Contains(t, "log", r.log.buf.String(), row[1])
			compare.Equal(t, "hints", r.log.count("hint="), 1)
			compare.Equal(t, "secrets", r.log.count("secret"), 0)
		})
	}
}

// A connection that fails has a hint, too.
func TestHintsOfConnections(t *testing.T) {
	server := redistest.New(t)
	unknown := httptest.NewTLSServer(nil)
	defer unknown.Close()
	_, port, _ := net.SplitHostPort(unknown.Listener.Addr().String())
	ends := listen(t, func(conn net.Conn) { conn.Close() })

	for _, tt := range []struct{ url, want string }{
		{"rediss://" + unknown.Listener.Addr().String(), "and restart: it is read once"},
		{"rediss://localhost:" + port, "has as a SAN"},
		{"redis://" + ends, "write valkeys:// if the store has TLS"},
		{"rediss://" + server.Address, "write valkey:// if the store has no TLS"},
		{"redis://127.0.0.1:1", "see whether the store runs"},
		{"redis://no.such.host.invalid", "see whether the store runs"},
	} {
		eventually(t, tt.url+" has the hint "+tt.want, func() bool { // not at once on a busy machine
			r := idleReplica(t, tt.url, Options{})
			r.Store.options.Timeout = scriptTimeout
			r.Store.runScript(probe)
			return strings.Contains(r.log.buf.String(), tt.want)
		})
	}
}

// While the store fails, another cause or another URL has a line of its own, once.
func TestHintsWhileFailing(t *testing.T) {
	server := redistest.New(t, "min-replicas-to-write", "1")
	r := newReplica(t, "redis://"+server.Address, Options{})
	logs := func(hint string, times int) {
		t.Helper()
		eventually(t, hint, func() bool { return r.log.count(hint) >= times })
	}
	logs("name the primary", 1)

	server.Do("CONFIG", "SET", "requirepass", "x")
	logs("correct the user and the password", 1)
	compare.Equal(t, "twice", len(r.log.repeatedHints()), 0)

	_, _ = r.Store.SetURL("redis://:wrong@" + server.Address)
	logs("correct the user and the password", 2)
}

// A Sentinel is named with any account and database.
func TestSentinel(t *testing.T) {
	server := redistest.NewSentinel(t)
	for _, password := range []string{"", "x"} {
		if password != "" {
			server.Do("ACL", "SETUSER", "default", "resetpass", ">"+password)
		}
		for _, account := range []string{"", ":secret@", "mcp:secret@", ":x@"} {
			for _, database := range []string{"", "/3"} {
				r := idleReplica(t, "redis://"+account+server.Address+database, perHour(1))
				r.calls("alice", 1)
				compare.Contains(t, account+database, r.log.buf.String(), "this is a Sentinel")
				compare.Equal(t, "warnings", r.log.count("WARN"), 1)
			}
		}
	}
}

// A cluster of one shard works. A node of several shards is named as such, unless it has the keys.
func TestCluster(t *testing.T) {
	one := redistest.New(t, "cluster-enabled", "yes", "cluster-require-full-coverage", "no")
	two := redistest.New(t, "cluster-enabled", "yes", "cluster-require-full-coverage", "no")
	o := perHour(4)
	const first = 12000 // slot of the second node; the keys are in 12704
	slots := func(node *redistest.Server, command string, from int) {
		args := []any{command}
		for slot := from; slot < 16384; slot++ {
			args = append(args, slot)
		}
		node.Do("CLUSTER", args...)
	}
	slots(one, "ADDSLOTS", 0)
	r := newReplica(t, "redis://"+one.Address+"/0", o)
	r.until(t, false)
	waitFor(t, one, "OK")
	r.until(t, false)
	r.calls("alice", 4)
	_, refused := take(r.Budget, "alice")
	compare.Contains(t, "the fifth call", refused, "used 4 of 4 calls an hour")
	compare.Equal(t, "fails", r.Store.IsFailing(), false)

	database := idleReplica(t, "redis://"+one.Address+"/3", o)
	database.calls("alice", 1)
	compare.Contains(t, "log", database.log.buf.String(), "a cluster has one database")

	one.Do("FLUSHALL")
	slots(one, "DELSLOTS", first)
	slots(two, "ADDSLOTS", first)
	host, port, _ := net.SplitHostPort(two.Address)
	one.Do("CLUSTER", "MEET", host, port)
	waitFor(t, one, "MOVED")
	waitFor(t, two, "OK")
	for address, hint := range map[string]string{
		one.Address: "a node of a cluster of several shards, or a replica: name a server without cluster mode",
		two.Address: "",
	} {
		r := idleReplica(t, "redis://"+address, o)
		r.calls("alice", 1)
		compare.Contains(t, "log", r.log.buf.String(), hint)
		compare.Equal(t, "fails", r.Store.IsFailing(), hint != "")
	}
}

// waitFor waits until a node answers for the keys as it should: OK or the begin of an error.
func waitFor(t *testing.T, node *redistest.Server, want string) {
	t.Helper()
	eventually(t, node.Address+" answers "+want, func() bool {
		_, err := redis.String(node.Do("SET", NewStore(StoreOptions{}).fullKey("x"), 1))
		return err == nil && want == "OK" || err != nil && strings.HasPrefix(err.Error(), want)
	})
}
