package budget

import (
	"context"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// dropsHint is the hint for a store that drops keys when it is full.
const dropsHint = "set its maxmemory-policy to noeviction"

// policy returns the maxmemory-policy of the store if it drops keys, and "" if it drops none or the
// account may not ask. All keys have an end, so that policies for those are meant, too. Without a
// maxmemory there is nothing to drop.
func (s *Store) policy(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, useTime)
	defer cancel()
	conn, err := s.connect(ctx, s.url.Load(), ofInfo)
	if err != nil {
		return ""
	}
	defer conn.Close()
	info, err := redis.String(redis.DoContext(conn, ctx, "INFO", "memory"))
	if err != nil {
		return ""
	}

	about := map[string]string{}
	for line := range strings.Lines(info) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		about[name] = value
	}
	policy := about["maxmemory_policy"]
	if policy == "noeviction" || about["maxmemory"] == "0" {
		return ""
	}
	return policy
}
