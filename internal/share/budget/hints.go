package budget

import (
	"context"
	_ "embed"
	"slices"
	"strings"

	"github.com/gomodule/redigo/redis"
)

// sentinelHint is the hint if the store is a Sentinel.
const sentinelHint = "this is a Sentinel: name the primary that it watches, or better a proxy or " +
	"a Service that follows the primary"

// hints has rows: words, what to do, and "Sentinel" if the store may be a Sentinel. The first row
// with one of its words in the error counts. The word may be anywhere in the error: a proxy can
// write ERR before it.
//
//go:embed hints.txt
var hints string

// Hint returns what to do about an error of the store, or "" if hints.txt has no row for it. Hint
// may ask whether the store is a Sentinel, until ctx ends or the Timeout of the store is over.
func (s *Store) Hint(ctx context.Context, err error) string {
	hint, maybeSentinel := hintOf(err)
	if maybeSentinel && s.isSentinel(ctx) {
		return sentinelHint
	}
	return hint
}

// hintOf returns the hint for an error in hints.txt, and whether a Sentinel may have caused it.
func hintOf(err error) (hint string, maybeSentinel bool) {
	contains := func(word string) bool { return strings.Contains(err.Error(), word) }
	for line := range strings.Lines(hints) {
		words, hint, isRow := strings.Cut(strings.TrimSpace(line), " | ")
		isRow = isRow && !strings.HasPrefix(line, "#")
		if !isRow || !slices.ContainsFunc(strings.Split(words, ", "), contains) {
			continue
		}
		return strings.CutSuffix(hint, " | Sentinel")
	}
	return "", false
}

// isSentinel reports whether the store is a Sentinel: only a Sentinel knows the command SENTINEL,
// and reports its missing argument. Every account gets this answer, also without a password.
func (s *Store) isSentinel(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, s.options.Timeout)
	defer cancel()
	u := *s.url.Load()
	u.User = nil
	u.Path = ""
	conn, err := s.connect(ctx, &u, scriptReplies)
	if err != nil {
		return false
	}
	defer conn.Close()
	_, err = redis.DoContext(conn, ctx, "SENTINEL")
	return err != nil && strings.Contains(err.Error(), "wrong number of arguments")
}
