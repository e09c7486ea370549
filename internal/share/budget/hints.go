package budget

import (
	"context"
	"errors"
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
	hint  string
	words []string
}{
	// https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec: all keys are in one
	// slot, and the reply names the node that has it. A replica of that node answers the same.
	{"this is a node of a cluster of several shards, or a replica: name a server without cluster mode, " +
		"the primary of a cluster of one shard, or a proxy", []string{"MOVED"}},
	{"slots of the cluster have no node that answers: see CLUSTER INFO there", []string{"CLUSTERDOWN"}},
	{"a cluster has one database: leave it out of the URL",
		[]string{"SELECT is not allowed in cluster mode"}}, // cluster.c and db.c of Redis 7
	{"name another database in the URL, or none",
		[]string{"DB index is out of range", "invalid DB index"}}, // db.c

	// The Sentinel of mike-marcacci/node-redlock#304, the renamed command of OptimalBits/bull#1026.
	{"this server runs no scripts: name one that has EVAL and EVALSHA", []string{"unknown command"}},
	{"correct the user and the password of the URL", // server.c and acl.c; the last two are of Redis 5
		[]string{"NOAUTH", "WRONGPASS", "ERR AUTH", "invalid password", "no password is set"}},
	{"give the account its rights: " + // acl.c, and script.c for a command of the script
		"~{openai-responses-mcp}:* +eval +evalsha +get +set +del +time +select",
		[]string{"NOPERM", "The user executing the script"}},

	{"the store is full: raise its maxmemory", []string{"OOM"}}, // server.c, as the next ones
	{"name the primary, and see whether it may write",
		[]string{"READONLY", "NOREPLICAS", "MASTERDOWN", "MISCONF"}},
	{"the store starts: wait", []string{"LOADING"}},

	{"set SSL_CERT_FILE to the certificate of the authority", []string{"x509"}},
	{"write valkey:// if the store has no TLS", []string{"TLS handshake"}},
	{"name a Valkey or Redis server, not a web page or another protocol",
		[]string{"not one of the script", "the script cannot give it", "redigo: "}},
	{"write valkeys:// if the store has TLS; else see why it ends connections",
		[]string{"EOF", "connection reset"}},
	{"see whether the store runs, and whether this machine reaches its address; it has 500 ms to answer",
		[]string{"connection refused", "no such host", "timeout", "deadline exceeded", "unreachable", "no route"}},
}

// hint says what to do about an error of the store, or "". It may ask the store until ctx ends.
func (s *Store) hint(ctx context.Context, err error) string {
	says := func(word string) bool { return strings.Contains(err.Error(), word) }
	for _, row := range hints {
		if !slices.ContainsFunc(row.words, says) {
			continue
		}
		_, refuses := errors.AsType[redis.Error](err)
		if refuses && s.isSentinel(ctx) {
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
	conn, err := s.connect(ctx, &u)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = redis.DoContext(conn, ctx, "SENTINEL")
	return err != nil && strings.Contains(err.Error(), "wrong number of arguments")
}
