package budget

import (
	"context"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Words about a store whose policy is not noeviction: what it does, and what to do about it.
const (
	DropsWarning = "drops keys when it is full, and forgets what people have used"
	DropsHint    = "set its maxmemory-policy to noeviction"
)

// CheckResult is what Check finds.
type CheckResult struct {
	Err            error         // why the store cannot be used, or nil
	Hint           string        // what to do about Err, or ""
	EvictionPolicy string        // maxmemory-policy, "" if the account may not ask
	DropsKeys      bool          // the policy drops keys
	ClockAhead     time.Duration // how far the clock of the store is ahead of that of this machine
}

// Check runs the script in the store, and asks the store for its clock and its policy. It takes at
// most two seconds.
func (s *Store) Check(ctx context.Context) (found CheckResult) {
	bounded, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	conn, err := s.connectForScripts(bounded)
	if err == nil {
		defer conn.Close()
		_, err = s.runScriptOn(conn, probe)
	}
	if err == nil {
		found.ClockAhead, err = clockAhead(bounded, conn)
	}
	if err != nil {
		found.Err = err
		found.Hint = s.Hint(bounded, err)
		return found
	}
	found.EvictionPolicy, found.DropsKeys = s.evictionPolicy(ctx)
	return found
}

// clockAhead returns how far the clock of the store is ahead of that of this machine. It is exact
// to a second and half the time of the request. A script asks for the time, because replyConn does
// not accept the array that TIME returns.
func clockAhead(ctx context.Context, conn redis.Conn) (time.Duration, error) {
	began := time.Now()
	const script = "return tonumber(redis.call('TIME')[1])"
	seconds, err := redis.Int64(redis.DoContext(conn, ctx, "EVAL", script, 0))
	middle := began.Add(time.Since(began) / 2)
	return time.Unix(seconds, 0).Sub(middle.Truncate(time.Second)), err
}

// evictionPolicy returns the maxmemory-policy of the store, or "" if the account may not ask, and
// whether the store drops keys. As all keys expire, policies that only drop keys that expire drop
// them, too. Without a maxmemory no policy drops keys.
func (s *Store) evictionPolicy(ctx context.Context) (policy string, drops bool) {
	ctx, cancel := context.WithTimeout(ctx, scriptTimeout)
	defer cancel()
	conn, err := s.connect(ctx, s.url.Load(), infoReplies)
	if err != nil {
		return "", false
	}
	defer conn.Close()
	info, err := redis.String(redis.DoContext(conn, ctx, "INFO", "memory"))
	if err != nil {
		return "", false
	}

	fields := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		fields[name] = value
	}

	policy = fields["maxmemory_policy"]
	drops = policy != "" && policy != "noeviction" && fields["maxmemory"] != "0"
	return policy, drops
}
