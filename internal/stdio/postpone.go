package stdio

import (
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

const (
	// maxPostponed is how much postponed requests may hold, in bytes.
	maxPostponed = 16 << 20
	// maxRefused is how much may wait for the client before nothing at all is
	// read, in bytes: pings and garbage are answered, too.
	maxRefused = 4 * maxWaiting
)

// postponed is a request that waits until there is room for it. It counts as in
// flight: it can be cancelled, and its id is in use.
type postponed struct {
	n   int64
	req *jsonrpc.Request
}

// kept is how many bytes the params of the postponed requests have.
func (c *conn) kept() int {
	size := 0
	for _, p := range c.postponed {
		size += len(p.req.Params)
	}
	return size
}

// resume returns the first postponed request when there is room for it.
func (c *conn) resume() jsonrpc.Message {
	if len(c.postponed) == 0 || c.full() {
		return nil
	}
	p := c.postponed[0]
	c.postponed = slices.Delete(c.postponed, 0, 1)
	return p.req
}

// drop forgets a postponed request, and reports whether it was one.
func (c *conn) drop(n int64) bool {
	i := slices.IndexFunc(c.postponed, func(p postponed) bool { return p.n == n })
	if i < 0 {
		return false
	}
	c.postponed = slices.Delete(c.postponed, i, i+1)
	return true
}

// full reports whether so much waits for the client that the next requests have
// to wait, too. Those that have begun go on, and their answers come on top; or
// whether those that have begun are as many, or as large, as may be.
func (c *conn) full() bool {
	waiting := c.outbox.waiting()
	calls, asked := c.calls.inFlight()
	calls, asked = calls-len(c.postponed), asked-c.kept()
	var why string
	switch {
	case waiting > maxWaiting:
		why = "the client does not read its answers"
	case calls >= maxCalls:
		why = "too many are without an answer"
	case asked > maxAsked:
		why = "those without an answer are large"
	default:
		// The next time is told again, but not every turn about the limit.
		c.warned = c.warned && (waiting > 0 || calls > maxCalls/2)
		return false
	}
	if !c.warned {
		c.warned = true
		c.log.Warn("new requests wait for now: "+why, "requests", calls, "asked", asked, "waiting", waiting)
	}
	return true
}

// stuck reports whether nothing more can be taken in. Until then cancellations
// are read, which may be what makes room, and pings.
func (c *conn) stuck() bool {
	return c.kept()+len(c.postponed)*besides > maxPostponed || c.outbox.waiting() > maxRefused
}
