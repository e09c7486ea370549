package stdio

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// ErrGone is the cause of a session's end when nobody reads its answers.
var ErrGone = errors.New("the client is gone")

// conn is one session. It implements [mcp.Connection].
type conn struct {
	ctx  context.Context // ends with the session
	stop context.CancelCauseFunc
	in   chan frame    // what scan found; closed at the end of the input
	over chan struct{} // closed when nobody can send any more

	calls   *calls
	methods []string
	ready   atomic.Bool // initialize was answered, or a stateless client asked

	lines atomic.Bool // answers are lines
	heard atomic.Bool // a message has arrived, so that its framing is known

	outbox    *outbox
	freed     chan struct{} // holds one: something was written
	delivered chan struct{} // closed when the last message is written
	out       io.Writer

	// Of Read alone.
	postponed postponed
	ended     bool // nothing more comes in
	warned    bool // that requests have to wait

	log *slog.Logger
}

// scan reads the input to its end. It is the only reader of in, and outlives
// the session only while a Read of the operating system does.
func (c *conn) scan(in io.Reader) {
	f := &frames{src: newSource(in, c.log), log: c.log}
	defer close(c.in)
	for {
		fr := f.next()
		if fr.end {
			if !errors.Is(fr.err, io.EOF) {
				c.log.Debug("stdin ended", "err", fr.err)
			}
			return
		}
		select {
		case c.in <- fr:
		case <-c.ctx.Done():
			return
		}
	}
}

// Read returns the next request or notification for the SDK. What is none is
// answered here: to the SDK a read error is the end of the session. At the end
// of the input it waits until all calls are answered, then returns io.EOF.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		if m := c.resume(); m != nil {
			return m, nil
		}
		in, over := c.in, c.over
		switch {
		case c.ended && len(c.postponed.list) == 0:
			return nil, c.drain()
		case c.ended:
			in, over = nil, nil
		case c.stuck():
			in = nil
		}
		select {
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		case <-over:
			c.ended = true
		case <-c.freed:
		case fr, ok := <-in:
			if !ok {
				c.ended = true
			} else if m := c.receive(fr); m != nil {
				return m, nil
			}
		}
	}
}

// drain waits for the calls in flight (spec §6.1: a disconnect cancels
// nothing) and until all is written. Nothing comes in any more.
func (c *conn) drain() error {
	select {
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-c.calls.drained():
		c.outbox.close()
	}
	select {
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case <-c.delivered:
	}
	return io.EOF
}

// receive turns a frame into a message for the SDK, or answers it and
// returns nil.
func (c *conn) receive(fr frame) jsonrpc.Message {
	c.hear(fr)
	if fr.err != nil {
		c.refuse(json.RawMessage(null), jsonrpc.CodeParseError, "Parse error: "+fr.err.Error())
		return nil
	}
	m, err := parse(fr.json)
	if errors.Is(err, errIgnore) {
		return nil
	}
	if err != nil {
		c.refuse(json.RawMessage(null), jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error())
		return nil
	}
	c.log.Debug("recv", "method", m.method, "id", string(m.id), "json", fr.json)
	switch {
	case m.method == cancelled:
		return c.cancel(m.params)
	case m.id == nil:
		return &jsonrpc.Request{Method: m.method, Params: m.params}
	case !slices.Contains(c.methods, m.method):
		c.refuse(m.id, jsonrpc.CodeMethodNotFound, "Method not found: "+clip(m.method))
		return nil
	}
	full := m.method != "ping" && (len(c.postponed.list) > 0 || c.full()) // before it counts itself
	n, params, ok := c.calls.add(m)
	if !ok {
		// Answering under that id would look like the first one's answer.
		c.refuse(json.RawMessage(null), jsonrpc.CodeInvalidRequest, "Invalid Request: id "+clip(string(m.id))+" is in use")
		return nil
	}
	req := &jsonrpc.Request{ID: number(n), Method: m.method, Params: params}
	if full {
		c.postponed.add(n, req)
		return nil
	}
	return req
}

// hear notes how the client frames its messages. Only a message tells: a log
// line or the rest of a broken frame must not turn a framed client's answers
// into lines.
func (c *conn) hear(fr frame) {
	if fr.err != nil || !bytes.ContainsAny(fr.json[:1], "{[") {
		return
	}
	if fr.line {
		c.lines.Store(true)
	}
	c.heard.Store(true)
}

// cancel passes a cancellation on under our number of the call. One that
// names no call in flight is ignored (spec §6.1).
func (c *conn) cancel(params json.RawMessage) jsonrpc.Message {
	var p struct {
		RequestID json.RawMessage `json:"requestId"`
		Reason    json.RawMessage `json:"reason"`
	}
	if json.Unmarshal(params, &p) != nil {
		return nil
	}
	n, ok := c.calls.cancel(p.RequestID)
	if !ok {
		return nil
	}
	c.log.Debug("cancelled", "requestId", string(p.RequestID), "reason", text(p.Reason))
	if c.postponed.drop(n) {
		return nil
	}
	return &jsonrpc.Request{
		Method: cancelled,
		Params: json.RawMessage(`{"requestId":` + strconv.FormatInt(n, 10) + `}`),
	}
}

// null is the id of an answer to what has none.
const null = "null"

// maxEcho bounds what an error repeats of a request, in bytes.
const maxEcho = 100

// refuse answers what does not reach the SDK.
func (c *conn) refuse(id json.RawMessage, code int64, why string) {
	b, err := encode(id, nil, &jsonrpc.Error{Code: code, Message: why})
	if err != nil {
		c.log.Debug("refusing", "err", err)
		return
	}
	c.outbox.put(parcel{msg: c.frame(b)})
}

// Close ends the session. It may be called more than once.
func (c *conn) Close() error {
	c.stop(io.EOF)
	return nil
}

// SessionID is empty: one process serves one session.
func (c *conn) SessionID() string { return "" }

// number is the id under which the SDK knows call n.
func number(n int64) jsonrpc.ID {
	id, err := jsonrpc.MakeID(float64(n))
	if err != nil {
		panic(err) // a float64 is always an id
	}
	return id
}
