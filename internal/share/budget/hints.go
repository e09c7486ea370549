package budget

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// sentinel is the hint for a Sentinel.
const sentinel = "this is a Sentinel: name the primary that it watches, or better a proxy or a " +
	"Service that follows the primary"

//go:embed hints.txt
var hints string

// hint says what to do about an error of the store, or "". It may ask the store until ctx ends.
func (s *Store) hint(ctx context.Context, err error) string {
	says := func(word string) bool { return strings.Contains(err.Error(), word) }
	for line := range strings.Lines(hints) {
		words, hint, isRow := strings.Cut(strings.TrimSpace(line), " | ")
		isRow = isRow && !strings.HasPrefix(line, "#")
		if !isRow || !slices.ContainsFunc(strings.Split(words, ", "), says) {
			continue
		}
		hint, mayBe := strings.CutSuffix(hint, " | Sentinel")
		if mayBe && s.isSentinel(ctx) {
			return sentinel
		}
		return hint
	}
	return ""
}

// isSentinel reports whether the store is a Sentinel. A Sentinel knows a command that servers do
// not, and both say so to every account, also without a password.
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
