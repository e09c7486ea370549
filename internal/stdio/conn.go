package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// conn is one session. It implements [mcp.Connection].
type conn struct {
	ctx     context.Context // done when the session has ended
	end     context.CancelCauseFunc
	in      chan jsonrpc.Message // for the SDK
	out     io.Writer
	log     *slog.Logger
	lines   atomic.Bool  // answer in lines
	pending atomic.Int32 // calls neither answered nor cancelled, and the input

	writing sync.Mutex // held during a write
	mu      sync.Mutex // guards the fields below; not held during a write
	calls   map[int64]call
	last    int64
}

// call is a request in flight. The SDK rounds large numbers, so its ids are
// numbers of ours, and these are also the progress tokens that it sees.
type call struct {
	id     gjson.Result // as the client sent it
	token  string       // JSON as the client sent it; "" for no progress
	method string
}

// scan reads the input to its end. It outlives the session if a Read of the
// operating system does. A disconnect is not a cancellation (spec §6.1), but the
// SDK cancels calls at the end of its input, so it learns of the end when all
// calls are answered.
func (c *conn) scan(r *Reader) {
	defer c.done()
	for {
		f, err := r.Read()
		if err != nil && !errors.As(err, new(parseError)) {
			c.log.Debug("stdin ended", "err", err)
			return
		}
		m := c.receive(f, err)
		if m == nil {
			continue
		}
		select {
		case c.in <- m:
		case <-c.ctx.Done():
			return
		}
	}
}

// done counts a call, or the input, as finished.
func (c *conn) done() {
	if c.pending.Add(-1) == 0 {
		c.end(io.EOF)
	}
}

// Read returns the next request or notification for the SDK.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
}

// receive returns the message for the SDK, or nil. It answers anything else
// itself, because an error of Read would end the session.
func (c *conn) receive(f Frame, err error) jsonrpc.Message {
	if err != nil {
		return c.refuse(jsonrpc.CodeParseError, "Parse error: "+err.Error())
	}
	if !f.Framed && (f.Body[0] == '{' || f.Body[0] == '[') {
		c.lines.Store(true)
	}
	m, err := parse(f.Body)
	if err != nil {
		return c.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error())
	}
	c.log.Debug("recv", "method", m.method, "id", m.id.Raw, "json", string(f.Body))
	switch {
	case m.method == "": // a response, but the server sends no requests
		return nil
	case m.id.Exists():
		if r := c.begin(m); r != nil {
			return r
		}
		// A response with that id would look like that of the first call.
		return c.refuse(jsonrpc.CodeInvalidRequest, "Invalid Request: id "+text.Truncate(m.id.Raw, 100)+" is in use")
	case m.method == "notifications/cancelled":
		return c.cancel(m.params)
	}
	return &jsonrpc.Request{Method: m.method, Params: m.params}
}

// begin registers a call and returns the request for the SDK. It returns nil if
// the id is in flight.
func (c *conn) begin(m message) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.find(m.id) != 0 {
		return nil
	}
	c.last++
	k := call{id: m.id, method: m.method}
	id, _ := jsonrpc.MakeID(float64(c.last)) // a number is always an id
	const path = "_meta.progressToken"
	if t := gjson.GetBytes(m.params, path); key(t) != "" {
		if params, err := sjson.SetBytes(m.params, path, c.last); err == nil {
			k.token, m.params = t.Raw, params
		}
	}
	c.calls[c.last] = k
	c.pending.Add(1)
	return &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}
}

// cancel forgets a call, so that nothing is written for it (see Write) and its
// id may be used again. It returns the cancellation for the SDK. Ids that are
// not in flight are ignored; initialize cannot be cancelled (spec §6.1).
func (c *conn) cancel(params json.RawMessage) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := gjson.GetBytes(params, "requestId")
	n := c.find(id)
	if n == 0 || c.calls[n].method == "initialize" {
		return nil
	}
	c.log.Debug("cancelled", "requestId", id.Raw, "reason", gjson.GetBytes(params, "reason").String())
	delete(c.calls, n)
	c.done()
	return &jsonrpc.Request{Method: "notifications/cancelled", Params: fmt.Appendf(nil, `{"requestId":%d}`, n)}
}

// find returns the number of the call with that id, or 0. c.mu is held.
func (c *conn) find(id gjson.Result) int64 {
	for n, k := range c.calls {
		if key(k.id) == key(id) {
			return n
		}
	}
	return 0
}

// Write writes a response or a progress notification, unless its call has been
// cancelled, even while it waited for its turn. The server sends nothing else.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	switch m := m.(type) {
	case *jsonrpc.Response:
		n, _ := m.ID.Raw().(int64)
		c.mu.Lock()
		k, ok := c.calls[n]
		delete(c.calls, n) // from now on the client may use the id again
		c.mu.Unlock()
		if !ok {
			return nil
		}
		defer c.done()
		return c.write(wire{ID: json.RawMessage(k.id.Raw), Result: m.Result, Error: wireError(m.Error)})
	case *jsonrpc.Request:
		c.mu.Lock()
		token := c.calls[gjson.GetBytes(m.Params, "progressToken").Int()].token
		c.mu.Unlock()
		if token == "" {
			return nil
		}
		params, err := sjson.SetRawBytes(m.Params, "progressToken", []byte(token))
		if err != nil {
			return fmt.Errorf("setting the progress token: %w", err)
		}
		return c.write(wire{Method: m.Method, Params: params})
	}
	return nil
}

// refuse answers input that does not reach the SDK. It returns nil, since there
// is no message for the SDK.
func (c *conn) refuse(code int64, why string) jsonrpc.Message {
	c.writing.Lock()
	defer c.writing.Unlock()
	if err := c.write(wire{ID: json.RawMessage("null"), Error: &jsonrpc.Error{Code: code, Message: why}}); err != nil {
		c.log.Debug("refusing", "err", err) // the session has ended
	}
	return nil
}

// write writes one message. c.writing is held.
func (c *conn) write(m wire) error {
	m.Version = "2.0"
	body, err := unescaped.JSON(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}
	framed, how := true, "send framed"
	if c.lines.Load() {
		framed, how = false, "send line"
	}
	c.log.Debug(how, "bytes", len(body), "json", string(body))
	if err := Write(c.out, body, framed); err != nil {
		err = fmt.Errorf("writing to stdout: %w", err)
		c.end(err)
		return err
	}
	return nil
}

// Close ends the session. It may be called more than once.
func (c *conn) Close() error {
	c.end(io.EOF)
	return nil
}

// SessionID is empty: a process serves one session.
func (c *conn) SessionID() string { return "" }
