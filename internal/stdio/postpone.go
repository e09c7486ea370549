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

// postponed are the requests that wait until there is room for them, in order.
// They count as in flight: they can be cancelled, and their ids are in use.
type postponed struct {
	list []pending
	size int // of their params, in bytes
}

type pending struct {
	n   int64
	req *jsonrpc.Request
}

func (p *postponed) add(n int64, req *jsonrpc.Request) {
	p.list = append(p.list, pending{n, req})
	p.size += len(req.Params)
}

// next takes the first of them; there is one.
func (p *postponed) next() *jsonrpc.Request {
	req := p.list[0].req
	p.list[0] = pending{}
	p.list = p.list[1:]
	p.size -= len(req.Params)
	return req
}

// drop forgets a request, and reports whether it was one of them.
func (p *postponed) drop(n int64) bool {
	i := slices.IndexFunc(p.list, func(q pending) bool { return q.n == n })
	if i < 0 {
		return false
	}
	p.size -= len(p.list[i].req.Params)
	p.list = slices.Delete(p.list, i, i+1)
	return true
}

// resume returns the first postponed request when there is room for it.
func (c *conn) resume() jsonrpc.Message {
	if len(c.postponed.list) == 0 || c.full() {
		return nil
	}
	return c.postponed.next()
}

// full reports whether so much waits for the client that the next requests have
// to wait, too. Those that have begun go on, and their answers come on top; or
// whether those that have begun are as many, or as large, as may be.
func (c *conn) full() bool {
	waiting := c.outbox.waiting()
	calls, asked := c.calls.inFlight()
	calls, asked = calls-len(c.postponed.list), asked-c.postponed.size
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
	return c.postponed.size+len(c.postponed.list)*besides > maxPostponed || c.outbox.waiting() > maxRefused
}
