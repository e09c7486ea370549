package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Write sends an answer or a notification. It does not wait until the client
// has read it.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	if r, ok := m.(*jsonrpc.Response); ok {
		return c.answer(r)
	}
	var p parcel
	var b []byte
	var err error
	if r, ok := m.(*jsonrpc.Request); ok && r.Method == notifyProgress {
		p.progress = true
		p.call, b, err = c.progress(r)
	} else {
		b, err = jsonrpc.EncodeMessage(m)
	}
	if err == nil && b != nil {
		p.msg = c.frame(b)
		c.outbox.put(p)
	}
	return err
}

// answer sends the answer to a call, unless that was cancelled.
func (c *conn) answer(r *jsonrpc.Response) error {
	n, _ := r.ID.Raw().(int64)
	k, ok := c.calls.find(n)
	if !ok {
		return nil
	}
	var e *jsonrpc.Error
	if r.Error != nil {
		e = fault(k.method, r.Error, !c.ready.Load())
	} else if k.method == "initialize" || k.method == "server/discover" {
		c.ready.Store(true)
	}
	b, err := encode(k.id, r.Result, e)
	if err != nil {
		return fmt.Errorf("encoding the answer to %s: %w", k.method, err)
	}
	c.outbox.put(parcel{call: n, msg: c.frame(b)})
	return nil
}

// deliver writes what is in the outbox until nothing more comes. It is the only
// writer of out, and outlives the session only while a write to a client does
// that neither reads nor goes.
func (c *conn) deliver() {
	defer close(c.delivered)
	for c.ctx.Err() == nil {
		p, ok, more := c.outbox.next()
		switch {
		case ok:
			if err := c.hand(p); err != nil {
				c.stop(err)
				return
			}
			c.outbox.done(p)
			select {
			case c.freed <- struct{}{}:
			default: // nobody has looked since
			}
		case !more:
			return
		default:
			select {
			case <-c.outbox.wake:
			case <-c.ctx.Done():
			}
		}
	}
}

// hand writes a message, unless it belongs to a call that was cancelled while
// it waited for its turn (spec §6.1).
func (c *conn) hand(p parcel) error {
	switch {
	case p.progress:
		if c.calls.token(p.call) == nil {
			return nil
		}
	case p.call != 0:
		if !c.calls.take(p.call) {
			return nil
		}
		defer c.calls.done(p.call)
	}
	return c.send(p.msg)
}

// frame puts a message into the client's framing as it is known now.
func (c *conn) frame(b []byte) []byte {
	if c.lines.Load() {
		return append(b, '\n')
	}
	if !c.heard.Load() {
		// While no message has arrived the client may read either way: the
		// line end, inside the frame, shows both of them where it stops.
		b = append(b, '\n')
	}
	return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(b)), b...)
}

// send writes one framed message, in one Write.
func (c *conn) send(msg []byte) error {
	c.trace(msg)
	if _, err := c.out.Write(msg); err != nil {
		return fmt.Errorf("writing %d bytes to stdout: %w", len(msg), err)
	}
	return nil
}

// trace logs what goes out (transports.md §1.8).
func (c *conn) trace(msg []byte) {
	if !c.log.Enabled(c.ctx, slog.LevelDebug) {
		return
	}
	framing := "line"
	if head, _, ok := bytes.Cut(msg, []byte("{")); ok && len(head) > 0 {
		framing, msg = "framed", msg[len(head):]
	}
	c.log.Debug("send "+framing, "bytes", len(msg))
	c.log.Debug("send", "json", json.RawMessage(bytes.TrimSpace(msg)))
}
