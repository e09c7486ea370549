package stdio

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
)

// conn is one session. It implements [mcp.Connection].
//
// pending counts what the session waits for: the input until it ends, and each request from begin
// on until its response is written or it is cancelled. Each calls done at its end, and the last
// done ends the session.
type conn struct {
	ctx     context.Context // done when the session has ended
	end     context.CancelCauseFunc
	in      chan jsonrpc.Message // for the SDK
	eof     chan struct{}        // of the Transport, may be nil
	out     io.Writer
	methods rpc.Methods
	log     *slog.Logger
	lines   atomic.Bool // answer in lines
	pending atomic.Int32

	writing sync.Mutex // held during a write

	mu       sync.Mutex         // guards the fields below; not held during a write
	requests map[string]request // in flight, by the key of their id
	last     int                // the number of the last request
}

// request is a request in flight. The SDK rounds large numbers, so it gets a name of ours in place
// of the id and of the progress token: for the third request, with the id 7, "3 7". By its number a
// request differs from an earlier one with the same id, which the client has cancelled.
type request struct {
	name   string
	id     gjson.Result // as the client sent it
	token  string       // JSON as the client sent it; "" for no progress
	method string
}

// scan reads the input to its end. It ends after the session if a Read blocks in the operating
// system.
//
// A disconnect is not a cancellation (spec §6.1), but the SDK cancels requests at the end of its
// input. So the SDK learns of the end when all requests are answered.
func (c *conn) scan(r *Reader) {
	defer c.done()
	if c.eof != nil {
		defer close(c.eof)
	}
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

// done counts a request, or the input, as finished.
func (c *conn) done() {
	if c.pending.Add(-1) == 0 {
		c.end(io.EOF)
	}
}

// Read returns the next request or notification for the SDK. The SDK passes the context of Connect,
// and c.ctx ends with that.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.in:
		return m, nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
}

// receive returns the message for the SDK, or nil. It answers anything else itself, because an
// error of Read would end the session.
func (c *conn) receive(f Frame, err error) jsonrpc.Message {
	if err != nil {
		return c.refuse(rpc.NotJSON(err.Error()))
	}
	// Responses are framed until the client sends an object or array on a line. A lone scalar does
	// not count.
	if !f.Framed && opensValue(rune(f.Body[0])) {
		c.lines.Store(true)
	}
	m, refusal := c.methods.Read(f.Body)
	if m == nil {
		return c.refuse(refusal)
	}
	c.log.Debug("recv", "method", m.Method, "id", m.ID.Raw, "json", string(f.Body))

	r := &jsonrpc.Request{
		Method: m.Method,
		Params: m.Params,
	}
	switch {
	case m.Method == "":
		return nil // a response; the server sends no requests
	case m.ID.Exists(): // a request: see below
	case m.Method == "notifications/cancelled":
		return c.cancel(m.Params)
	default:
		return r
	}

	if !c.begin(r, m.ID) {
		// A response with that id would look like that of the first request.
		return c.refuse(rpc.Invalid("id " + text.Truncate(m.ID.Raw, 100) + " is in use"))
	}
	if refusal != nil {
		// Write waits while the client reads nothing. The next message, perhaps a cancellation,
		// does not wait for that.
		response := &jsonrpc.Response{
			ID:    r.ID,
			Error: refusal,
		}
		go func() { _ = c.Write(c.ctx, response) }() // a failed write ends the session by itself
		return nil
	}
	return r
}

// begin registers a request and gives r the id and the progress token for the SDK. It returns false
// if the id is in flight.
func (c *conn) begin(r *jsonrpc.Request, id gjson.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, inUse := c.requests[rpc.Key(id)]; inUse {
		return false
	}

	c.last++
	req := request{
		name:   fmt.Sprintf("%d %s", c.last, rpc.Key(id)),
		id:     id,
		method: r.Method,
	}
	r.ID, _ = jsonrpc.MakeID(req.name) // a string is always an id
	const path = "_meta.progressToken"
	if token := gjson.GetBytes(r.Params, path); rpc.Key(token) != "" {
		req.token = token.Raw
		r.Params, _ = sjson.SetBytes(r.Params, path, req.name) // the path is valid
	}

	c.requests[rpc.Key(id)] = req
	c.pending.Add(1)
	return true
}

// cancel forgets a request, so that nothing is written for it (see Write) and its id may be used
// again. It returns the cancellation for the SDK. Ids that are not in flight are ignored;
// initialize cannot be cancelled (spec §6.1).
func (c *conn) cancel(params json.RawMessage) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := gjson.GetBytes(params, "requestId")
	req, ok := c.requests[rpc.Key(id)]
	if !ok || req.method == "initialize" {
		return nil
	}

	reason := gjson.GetBytes(params, "reason").Str
	c.log.Debug("cancelled", "requestId", id.Raw, "reason", reason)
	delete(c.requests, rpc.Key(id))
	c.done()
	params, _ = sjson.SetBytes(nil, "requestId", req.name) // the path is valid
	return &jsonrpc.Request{
		Method: "notifications/cancelled",
		Params: params,
	}
}

// Write writes a response or a progress notification; the server sends nothing else. It writes
// nothing for a request that was cancelled, even if that happened while Write waited for its turn.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	c.writing.Lock()
	defer c.writing.Unlock()

	switch m := m.(type) {
	case *jsonrpc.Response:
		name, _ := m.ID.Raw().(string)
		req, ok := c.find(name, true)
		if !ok {
			return nil
		}
		defer c.done()
		return c.writeLocked(outgoing{
			ID:     json.RawMessage(req.id.Raw),
			Result: m.Result,
			Error:  clientError(req.method, m.Error),
		})

	case *jsonrpc.Request:
		const path = "progressToken"
		req, ok := c.find(gjson.GetBytes(m.Params, path).Str, false)
		if !ok {
			return nil
		}
		params, _ := sjson.SetRawBytes(m.Params, path, []byte(req.token)) // the path is valid
		return c.writeLocked(outgoing{
			Method: m.Method,
			Params: params,
		})
	}
	return nil
}

// find returns the request in flight with a name. With last, the request ends and its id is free.
func (c *conn) find(name string, last bool) (request, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_, id, _ := strings.Cut(name, " ") // after the number
	req := c.requests[id]
	ok := req.name == name && name != ""
	if ok && last {
		delete(c.requests, id)
	}
	return req, ok
}

// refuse answers input that does not reach the SDK. It returns nil, since there is no message for
// the SDK. While the client reads nothing no more is read of it: garbage could not be bounded
// otherwise. A failed write ends the session by itself.
func (c *conn) refuse(err *jsonrpc.Error) jsonrpc.Message {
	c.writing.Lock()
	defer c.writing.Unlock()
	_ = c.writeLocked(outgoing{
		ID:    json.RawMessage("null"),
		Error: err,
	})
	return nil
}

// writeLocked writes one message.
func (c *conn) writeLocked(m outgoing) error {
	m.Version = "2.0"
	body, err := jsonx.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}

	framed := !c.lines.Load()
	msg := "send line"
	if framed {
		msg = "send framed"
		if string(m.ID) == "null" {
			body = append(body, '\n') // for a client of lines whose first line was not JSON
		}
	}
	c.log.Debug(msg, "bytes", len(body), "json", string(body))

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
func (c *conn) SessionID() string {
	return ""
}

// outgoing is a response or a notification in JSON.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// clientError returns the error of a method for the client.
func clientError(method string, err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if ok && e.Code != 0 {
		return e // without the text that the SDK adds
	}

	// A request before initialize, or a second initialize. Tasks are of the stateless protocol, and
	// this request is not.
	if strings.HasPrefix(method, "tasks/") {
		return rpc.NoMethod()
	}
	return rpc.Invalid(err.Error())
}
