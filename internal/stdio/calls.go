package stdio

import (
	"encoding/json"
	"sync"
)

// call is a request that was read and is not answered yet.
type call struct {
	id     json.RawMessage // as the client wrote it
	method string
	token  json.RawMessage // of its progress, as the client wrote it; nil: none
	size   int             // of its params, in bytes
}

// calls are the requests in flight. The SDK knows them by a number of ours
// (it rounds the client's ids), the client by the id that it chose.
type calls struct {
	mu    sync.Mutex
	last  int64
	size  int // of all of them
	byNum map[int64]call
	byKey map[string]int64
	idle  chan struct{} // closed by the last answer once draining
}

func newCalls() *calls {
	return &calls{byNum: map[int64]call{}, byKey: map[string]int64{}}
}

// add registers a request and returns its number and its params, in which that
// number is the progress token, too; false when its id is in use.
func (c *calls) add(m message) (int64, json.RawMessage, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := key(m.id)
	if _, used := c.byKey[id]; used {
		return 0, nil, false
	}
	c.last++
	params, token := swapToken(m.params, c.last)
	k := call{id: m.id, method: m.method, token: token, size: len(params)}
	c.byNum[c.last] = k
	c.size += k.size
	c.byKey[id] = c.last
	return c.last, params, true
}

// token returns the progress token of call n; nil when it is over.
func (c *calls) token(n int64) json.RawMessage {
	k, _ := c.find(n)
	return k.token
}

// cancel forgets the call with the client's id: its answer will find nothing
// to answer, and the id may be used again. It returns false for an id that is
// not in flight, and for initialize, which cannot be cancelled (spec §6.1).
func (c *calls) cancel(id json.RawMessage) (int64, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, ok := c.byKey[key(id)]
	if !ok || c.byNum[n].method == "initialize" {
		return 0, false
	}
	delete(c.byKey, key(id))
	c.remove(n)
	return n, true
}

// find returns call n, while it is in flight.
func (c *calls) find(n int64) (call, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.byNum[n]
	return k, ok
}

// inFlight is how many calls are, and how many bytes their params have.
func (c *calls) inFlight() (n, size int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.byNum), c.size
}

// take claims the right to answer call n. From now on its id is free (the
// client may use it as soon as it has seen the answer), but the call counts
// as in flight until done.
func (c *calls) take(n int64) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, ok := c.byNum[n]
	if ok {
		delete(c.byKey, key(k.id))
	}
	return ok
}

// done ends call n: its answer is written.
func (c *calls) done(n int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.remove(n)
}

func (c *calls) remove(n int64) {
	c.size -= c.byNum[n].size
	delete(c.byNum, n)
	if c.idle != nil && len(c.byNum) == 0 {
		close(c.idle)
		c.idle = nil
	}
}

// drained returns a channel that is closed when no call is in flight. It is
// asked once, when no more calls can come.
func (c *calls) drained() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	idle := make(chan struct{})
	if len(c.byNum) == 0 {
		close(idle)
	} else {
		c.idle = idle
	}
	return idle
}
