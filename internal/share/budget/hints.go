package budget

import (
	"context"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// sentinel is the hint for a Sentinel.
const sentinel = "this is a Sentinel: name the primary that it watches, or better a proxy or a Service " +
	"that follows the primary"

// hints say what to do about an error with one of the words, which may be anywhere: a proxy can write
// ERR before them. The first row with such a word counts.
var hints = []struct {
	words []string
	hint  string
	asks  bool // it may be a Sentinel
}{
	// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec: all keys are in one
	// slot, and the reply names the node that has it. A replica of that node answers the same.
	{
		words: []string{"MOVED"},
		hint: "this is a node of a cluster of several shards, or a replica: name a server without " +
			"cluster mode, the primary of a cluster of one shard, or a proxy",
	},
	{
		words: []string{"CLUSTERDOWN"},
		hint:  "slots of the cluster have no node that answers: see CLUSTER INFO there",
	},

	// db.c of Redis.
	{
		words: []string{"SELECT is not allowed in cluster mode"},
		hint:  "a cluster has one database: leave it out of the URL",
	},
	{
		words: []string{"DB index is out of range", "invalid DB index"},
		hint:  "name another database in the URL, or none",
	},

	// The Sentinel of mike-marcacci/node-redlock#304, the renamed command of OptimalBits/bull#1026.
	{
		words: []string{"unknown command"},
		hint:  "this server runs no scripts: name one that has EVAL and EVALSHA",
		asks:  true,
	},

	// acl.c, server.c, and networking.c; "invalid password" and "no password is set" are of Redis 5.
	{
		words: []string{
			"NOAUTH",
			"WRONGPASS",
			"ERR AUTH",
			"invalid password",
			"no password is set",
			"unauthenticated multibulk length", // more than ten arguments
		},
		hint: "correct the user and the password of the URL",
		asks: true,
	},

	// acl.c, and script.c for a command of the script.
	{
		words: []string{"NOPERM", "The user executing the script"},
		hint: "give the account its rights: ~{openai-responses-mcp}:* +eval +evalsha +get +set +del " +
			"+time +select +zadd +zremrangebyscore +zrevrange +zrem +expire",
	},

	// server.c.
	{
		words: []string{"OOM"},
		hint:  "the store is full: raise its maxmemory",
	},
	{
		words: []string{"READONLY", "NOREPLICAS", "MASTERDOWN", "MISCONF"},
		hint:  "name the primary, and see whether it may write",
	},
	{
		words: []string{"LOADING"},
		hint:  "the store starts: wait",
	},

	// Packages crypto, net and redis, and this one.
	{
		words: []string{"x509"},
		hint:  "set SSL_CERT_FILE to the certificate of the authority",
	},
	{
		words: []string{"TLS handshake"},
		hint:  "write valkey:// if the store has no TLS",
	},
	{
		words: []string{"not one of the script", "the script cannot give it", "redigo: "},
		hint:  "name a Valkey or Redis server, not a web page or another protocol",
	},
	{
		words: []string{"EOF", "connection reset"},
		hint:  "write valkeys:// if the store has TLS; else see why it ends connections",
	},
	{
		words: []string{"connection refused", "no such host", "timeout", "deadline exceeded", "unreachable",
			"no route"},
		hint: "see whether the store runs, and whether this machine reaches its address; it has 500 ms " +
			"to answer",
	},
}

// hint says what to do about an error of the store, or "". It may ask the store until ctx ends.
func (s *Store) hint(ctx context.Context, err error) string {
	says := func(word string) bool { return strings.Contains(err.Error(), word) }
	for _, row := range hints {
		if !slices.ContainsFunc(row.words, says) {
			continue
		}
		if row.asks && s.isSentinel(ctx) {
			return sentinel
		}
		return row.hint
	}
	return ""
}

// isSentinel reports whether the store is a Sentinel. A Sentinel knows a command that servers do not,
// and both say so to every account, also without a password.
func (s *Store) isSentinel(ctx context.Context) bool {
	u := *s.url.Load()
	u.User = nil
	u.Path = ""
	conn, err := s.connect(ctx, &u, ofScript)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = redis.DoContext(conn, ctx, "SENTINEL")
	return err != nil && strings.Contains(err.Error(), "wrong number of arguments")
}
