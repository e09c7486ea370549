package budget

import (
	"context"
	"fmt"
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
	EvictionPolicy string        // maxmemory-policy, "" if it is not known
	DropsKeys      bool          // the policy drops keys
	ClockAhead     time.Duration // how far the clock of the store is ahead of that of this machine
}

// Check runs the script in the store, and asks the store for its clock and its policy. Without an
// error it takes at most 2 seconds: 0.5 to connect, and 0.5 for each command. These are EVALSHA,
// EVAL if the store does not know the script yet, and that of inspect.
func (s *Store) Check(ctx context.Context) (found CheckResult) {
	bounded, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	conn, err := s.connectForScripts(bounded)
	if err == nil {
		defer conn.Close()
		_, err = s.runScriptOn(conn, probe)
	}
	if err == nil {
		found, err = s.inspect(conn)
	}
	if err != nil {
		found.Err = err
		found.Hint = s.Hint(ctx, err)
	}
	return found
}

// inspectScript returns the time in seconds and, if the account may ask, the maxmemory and the
// policy. It returns them in a status, because replyConn accepts no bulk string.
const inspectScript = `
local words = redis.call('TIME')[1]
local info = redis.pcall('INFO', 'memory')
if type(info) == 'string' then
	words = words .. ' ' .. string.match(info .. 'maxmemory:0', 'maxmemory:(%d+)')
	words = words .. ' ' .. (string.match(info, 'maxmemory_policy:(%S+)') or '')
end
return { ok = words }`

// inspect asks the store for its clock and its policy. It compares the clock with that of this
// machine, exact to a second and half the time of the request. All keys of this package expire, so
// a policy that drops only such keys drops them, too. Without a maxmemory no policy drops keys. The
// script gets a key that it does not use: some services and proxies refuse a script without keys
// (django/channels_redis#379, twitter/twemproxy#60).
func (s *Store) inspect(conn redis.Conn) (found CheckResult, err error) {
	key := s.fullKey(probe.marks[0].key)
	began := time.Now()
	words, err := redis.String(conn.Do("EVAL", inspectScript, 1, key))
	middle := began.Add(time.Since(began) / 2)
	if err != nil {
		return found, err
	}

	var seconds, maxMemory int64
	n, err := fmt.Sscan(words, &seconds, &maxMemory, &found.EvictionPolicy)
	if n == 0 {
		return found, err
	}
	found.ClockAhead = time.Unix(seconds, 0).Sub(middle.Truncate(time.Second))
	hasPolicy := found.EvictionPolicy != ""
	found.DropsKeys = hasPolicy && found.EvictionPolicy != "noeviction" && maxMemory != 0
	return found, nil
}
