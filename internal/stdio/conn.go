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

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// conn is one session. It implements [mcp.Connection].
type conn struct {
	ctx context.Context // done when the session has ended
	end context.CancelCauseFunc
	in  chan input // closed at the end of the input
	out io.Writer
	log *slog.Logger

	writing chan struct{}  // holds a value during a write
	framing atomic.Int32   // of what is written: unknown, framed or lines
	pending sync.WaitGroup // calls that are neither answered nor cancelled

	last  int              // number of the last call; used by Read only
	mu    sync.Mutex       // guards calls; never held while waiting for writing
	calls map[string]*call // in flight, by the key of their id
}

const (
	unknown = iota // framed, but no message has arrived
	byLength
	byLine
)

// call is a request in flight.
type call struct {
	id     json.RawMessage // as the client sent it
	token  json.RawMessage // for progress, as the client sent it; may be nil
	method string
	sdkID  string
}

// input is what Reader.Read returned.
type input struct {
	Frame
	err error
}

// scan reads the input to its end. It outlives the session only if a Read of
// the operating system does.
func (c *conn) scan(r *Reader) {
	defer close(c.in)
	for {
		f, err := r.Read()
		if err != nil && !errors.As(err, new(parseError)) {
			c.log.Debug("stdin ended", "err", err)
			return
		}
		select {
		case c.in <- input{f, err}:
		case <-c.ctx.Done():
			return
		}
	}
}

// Read returns the next request or notification for the SDK. It answers
// anything else itself, because an error would end the session. At the end of
// the input it waits until all calls are answered, because the SDK cancels them
// when Read returns, and a disconnect is not a cancellation (spec §6.1).
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	for {
		select {
		case <-c.ctx.Done():
			return nil, context.Cause(c.ctx)
		case in, ok := <-c.in:
			if !ok {
				c.in = nil
				go func() { c.pending.Wait(); c.end(io.EOF) }()
			} else if m := c.receive(in); m != nil {
				return m, nil
			}
		}
	}
}

// receive returns the message for the SDK, or nil.
func (c *conn) receive(in input) jsonrpc.Message {
	if in.err != nil {
		return c.refuse(nil, jsonrpc.CodeParseError, "Parse error: "+in.err.Error())
	}
	if b := in.Body[0]; !in.Framed && (b == '{' || b == '[') {
		c.framing.Store(byLine)
	} else if in.Framed {
		c.framing.CompareAndSwap(unknown, byLength)
	}
	m, err := parse(in.Body)
	if err != nil {
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, "Invalid Request: "+err.Error())
	}
	c.log.Debug("recv", "method", m.method, "id", string(m.id), "json", logged(in.Body))
	switch {
	case m.method == "": // a response, but the server sends no requests
		return nil
	case m.method == methodCancelled:
		return c.cancel(m.params)
	case m.id == nil:
		return &jsonrpc.Request{Method: m.method, Params: m.params}
	}
	return c.begin(m)
}

const tokenPath = "_meta.progressToken"

// begin registers a call. The SDK rounds large numbers, so it gets an id of
// ours, which replaces the progress token too.
func (c *conn) begin(m message) jsonrpc.Message {
	c.last++
	k := &call{id: m.id, method: m.method, sdkID: fmt.Sprint(key(m.id), " ", c.last)}
	id, _ := jsonrpc.MakeID(k.sdkID) // a string is always an id
	if t := gjson.GetBytes(m.params, tokenPath); t.Type == gjson.Number || t.Type == gjson.String {
		if params, err := sjson.SetBytes(m.params, tokenPath, k.sdkID); err == nil {
			k.token, m.params = json.RawMessage(t.Raw), params
		}
	}
	c.mu.Lock()
	used := c.calls[key(m.id)] != nil
	if !used {
		c.calls[key(m.id)] = k
	}
	c.mu.Unlock()
	if used { // a response with that id would look like that of the first call
		return c.refuse(nil, jsonrpc.CodeInvalidRequest, "Invalid Request: id "+text.Truncate(string(m.id), 100)+" is in use")
	}
	c.pending.Add(1)
	return &jsonrpc.Request{ID: id, Method: m.method, Params: m.params}
}

// cancel forgets a call, so that nothing is written for it and its id may be
// used again, and returns the cancellation for the SDK. It ignores ids that are
// not in flight, and initialize, which cannot be cancelled (spec §6.1).
func (c *conn) cancel(params json.RawMessage) jsonrpc.Message {
	p := gjson.ParseBytes(params)
	id := p.Get("requestId").Raw
	c.mu.Lock()
	defer c.mu.Unlock()
	k := c.calls[key([]byte(id))]
	if k == nil || k.method == "initialize" {
		return nil
	}
	c.log.Debug("cancelled", "requestId", id, "reason", p.Get("reason").String())
	delete(c.calls, key(k.id))
	c.pending.Done()
	own, _ := sjson.SetBytes(nil, "requestId", k.sdkID)
	return &jsonrpc.Request{Method: methodCancelled, Params: own}
}

// find returns the call that the SDK knows by sdkID, or nil if it is not in
// flight. After the last use of a call its id is free.
func (c *conn) find(sdkID string, last bool) *call {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := sdkID[:max(0, strings.LastIndexByte(sdkID, ' '))]
	k := c.calls[id]
	if k == nil || k.sdkID != sdkID {
		return nil
	}
	if last {
		delete(c.calls, id)
	}
	return k
}

// Write writes a response or a progress notification, unless its call was
// cancelled, even while it waited for its turn. The server sends nothing else.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	switch m := m.(type) {
	case *jsonrpc.Response:
		id, _ := m.ID.Raw().(string)
		k := c.find(id, true)
		if k == nil {
			return nil
		}
		defer c.pending.Done()
		return c.respond(response{ID: k.id, Result: m.Result, Error: wireError(k.method, m.Error)})
	case *jsonrpc.Request:
		k := c.find(gjson.GetBytes(m.Params, "progressToken").String(), false)
		if m.Method != methodProgress || k == nil || k.token == nil {
			return nil
		}
		params, err := sjson.SetRawBytes(m.Params, "progressToken", k.token)
		if err != nil {
			return fmt.Errorf("setting the progress token: %w", err)
		}
		b, err := jsonrpc.EncodeMessage(&jsonrpc.Request{Method: m.Method, Params: params})
		if err != nil {
			return fmt.Errorf("encoding a progress notification: %w", err)
		}
		return c.write(b)
	}
	return nil
}

// refuse answers a message that does not reach the SDK; nil stands for an id
// that is unknown. It returns nil, since there is no message for the SDK.
func (c *conn) refuse(id json.RawMessage, code int64, why string) jsonrpc.Message {
	c.writing <- struct{}{}
	defer func() { <-c.writing }()
	if err := c.respond(response{ID: id, Error: &jsonrpc.Error{Code: code, Message: why}}); err != nil {
		c.log.Debug("refusing", "err", err) // the session ends
	}
	return nil
}

func (c *conn) respond(r response) error {
	r.Version = "2.0"
	b, err := unescaped.JSON(r)
	if err != nil {
		return fmt.Errorf("encoding a response: %w", err)
	}
	return c.write(b)
}

// write writes one message; c.writing is held. At the end of the session it
// returns even if the client does not read.
func (c *conn) write(body []byte) error {
	framed, how := true, "send framed"
	switch c.framing.Load() {
	case byLine:
		framed, how = false, "send line"
	case unknown: // a client that reads lines has to find the end too
		body = append(body, '\n')
	}
	if c.ctx.Err() != nil {
		return context.Cause(c.ctx)
	}
	c.log.Debug(how, "bytes", len(body))
	c.log.Debug("send", "json", logged(body))
	written := make(chan error, 1)
	go func() { written <- Write(c.out, body, framed) }()
	select {
	case <-c.ctx.Done():
		return context.Cause(c.ctx)
	case err := <-written:
		if err != nil {
			c.end(fmt.Errorf("writing to stdout: %w", err))
		}
		return err
	}
}

// Close ends the session. It may be called more than once.
func (c *conn) Close() error {
	c.end(io.EOF)
	return nil
}

// SessionID is empty: a process serves one session.
func (c *conn) SessionID() string { return "" }

// logged is JSON in the log. It is only copied if it is written there.
type logged []byte

func (b logged) LogValue() slog.Value { return slog.StringValue(string(b)) }
