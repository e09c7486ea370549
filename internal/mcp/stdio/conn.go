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

// conn is one session of a Transport. It implements [mcp.Connection].
//
// numPending counts what the session waits for: the end of the input, and the requests. A request
// counts from register until Write gets its response, even if it is cancelled. countDown ends the
// session when nothing is left.
type conn struct {
	*Transport
	ctx         context.Context // done when the session has ended
	end         context.CancelCauseFunc
	messages    chan jsonrpc.Message // that Read returns to the SDK
	writesLines atomic.Bool          // write messages as lines, not framed
	numPending  atomic.Int32

	writeMu sync.Mutex // held during a write

	mu         sync.Mutex         // guards the fields below; not held during a write
	requests   map[string]request // in flight, by the rpc.IDKey of their id
	lastNumber int                // the number of the last request
}

// request is a request in flight. The SDK rounds large numbers, so sdkID takes the place of the id
// and of the progress token: "3 7" is the third request, which has the id 7. The 3 tells the
// request from a cancelled earlier one with the same id.
type request struct {
	sdkID         string
	id            gjson.Result // as the client sent it
	progressToken string       // the progress token as the client sent it, in JSON; "": none
	method        string
}

// scan reads the input to its end, and passes on its messages. If a Read blocks in the operating
// system, scan outlives the session.
//
// At the end of its input the SDK cancels the requests in flight, but a disconnect is not a
// cancellation (spec §6.1). So Read tells the SDK about the end only when all requests are
// answered.
func (c *conn) scan(r *Reader) {
	defer c.countDown()
	if c.EOF != nil {
		defer close(c.EOF)
	}
	for {
		f, err := r.Read()
		if err != nil && !errors.As(err, new(parseError)) {
			c.Log.Debug("stdin ended", "err", err)
			return
		}

		m := c.receive(f, err)
		if m == nil {
			continue
		}

		select {
		case c.messages <- m:
		case <-c.ctx.Done():
			return
		}
	}
}

// countDown counts a request, or the input, as finished. The last one ends the session.
func (c *conn) countDown() {
	if c.numPending.Add(-1) == 0 {
		c.end(io.EOF)
	}
}

// Read waits for the next request or notification, for the SDK. It ignores its context: the SDK
// passes the context of Connect, and c.ctx ends with it. The SDK cancels all requests in flight
// with the error of Read as the cause.
func (c *conn) Read(context.Context) (jsonrpc.Message, error) {
	select {
	case m := <-c.messages:
		return m, nil
	case <-c.ctx.Done():
		return nil, context.Cause(c.ctx)
	}
}

// receive returns the message in f for the SDK, or nil if the SDK gets none. receive answers input
// that is not a message, because an error of conn.Read would end the session. err is the error of
// Reader.Read.
func (c *conn) receive(f Frame, err error) jsonrpc.Message {
	if err != nil {
		c.refuse(rpc.ParseError(err.Error()))
		return nil
	}
	// Messages are framed until the client sends an object or array on a line. A scalar on a line
	// does not count.
	if !f.HasHeader && opensContainer(rune(f.Body[0])) {
		c.writesLines.Store(true)
	}
	m, notMessage := c.Methods.Parse(f.Body)
	if notMessage != nil {
		c.refuse(notMessage)
		return nil
	}
	c.Log.Debug("recv", "method", m.Method, "id", m.ID.Raw, "json", loggedJSON(f.Body))

	r := &jsonrpc.Request{
		Method: m.Method,
		Params: m.Params,
	}
	switch {
	case m.Method == "":
		return nil // a response; the server sends no requests
	case m.ID.Exists():
		return c.receiveRequest(r, m)
	case m.Method == "notifications/cancelled":
		return c.cancel(m.Params)
	}
	return r
}

// receiveRequest returns r, the request in m, for the SDK. It answers the request itself, and
// returns nil, if the id is in use or m has an error.
func (c *conn) receiveRequest(r *jsonrpc.Request, m *rpc.Message) jsonrpc.Message {
	if !c.register(r, m.ID) {
		// An error with this id would look like the response to the request in flight.
		c.refuse(rpc.InvalidRequest("id " + text.Truncate(m.ID.Raw, 100) + " is in use"))
		return nil
	}
	if m.Error != nil {
		// In a goroutine, because Write blocks while the client reads nothing: the next message,
		// perhaps a cancellation, must not wait. The number of these goroutines has no bound, nor
		// has that of the SDK, which starts one for each request.
		response := &jsonrpc.Response{
			ID:    r.ID,
			Error: m.Error,
		}
		go func() { _ = c.Write(c.ctx, response) }() // a failed write ends the session by itself
		return nil
	}
	return r
}

// register registers a request with an id, and sets in r the id and the progress token for the SDK.
// It returns false if a request with that id is in flight.
func (c *conn) register(r *jsonrpc.Request, id gjson.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := rpc.IDKey(id)
	if _, inUse := c.requests[key]; inUse {
		return false
	}

	c.lastNumber++
	req := request{
		sdkID:  fmt.Sprintf("%d %s", c.lastNumber, key),
		id:     id,
		method: r.Method,
	}
	r.ID, _ = jsonrpc.MakeID(req.sdkID) // a string is always an id
	const path = "_meta.progressToken"
	if token := gjson.GetBytes(r.Params, path); rpc.IDKey(token) != "" {
		req.progressToken = token.Raw
		r.Params, _ = sjson.SetBytes(r.Params, path, req.sdkID) // the path is valid
	}

	c.requests[key] = req
	c.numPending.Add(1)
	return true
}

// cancel forgets the request that a notifications/cancelled names, so that nothing is written for
// it (see Write) and its id may be used again. It returns the notification for the SDK. If no such
// request is in flight, or if the request is an initialize, which cannot be cancelled (spec §6.1),
// cancel forgets nothing and returns nil.
func (c *conn) cancel(params json.RawMessage) jsonrpc.Message {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := gjson.GetBytes(params, "requestId")
	req, ok := c.requests[rpc.IDKey(id)]
	if !ok || req.method == "initialize" {
		return nil
	}

	reason := gjson.GetBytes(params, "reason").Str
	c.Log.Debug("cancelled", "requestId", id.Raw, "reason", reason)
	delete(c.requests, rpc.IDKey(id)) // numPending counts it until Write gets its response

	params, _ = sjson.SetBytes(nil, "requestId", req.sdkID) // the path is valid
	return &jsonrpc.Request{
		Method: "notifications/cancelled",
		Params: params,
	}
}

// Write writes a response or a progress notification; the server sends nothing else. It writes
// nothing for a cancelled request, even if the cancellation came while Write waited for writeMu.
func (c *conn) Write(_ context.Context, m jsonrpc.Message) error {
	switch m := m.(type) {
	case *jsonrpc.Response:
		delivered, err := c.writeResponse(m)
		if !delivered && c.Undelivered != nil {
			// Undelivered cancels a response at the API, in a few seconds. Even if countDown has
			// ended c.ctx, the process goes on until Write has returned: the SDK waits for its
			// handlers.
			c.Undelivered(m.Result)
		}
		return err
	case *jsonrpc.Request:
		return c.writeProgress(m)
	}
	return nil
}

// writeResponse writes a response, unless its request was cancelled: then delivered is false.
func (c *conn) writeResponse(m *jsonrpc.Response) (delivered bool, err error) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	defer c.countDown()

	sdkID, _ := m.ID.Raw().(string)
	req, ok := c.remove(sdkID)
	if !ok {
		return false, nil
	}
	return true, c.writeLocked(outgoing{
		ID:     json.RawMessage(req.id.Raw),
		Result: m.Result,
		Error:  errorForClient(req.method, m.Error),
	})
}

// writeProgress writes a progress notification, unless its request was cancelled.
func (c *conn) writeProgress(m *jsonrpc.Request) error {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	const path = "progressToken"
	c.mu.Lock()
	_, req, ok := c.findLocked(gjson.GetBytes(m.Params, path).Str)
	c.mu.Unlock()
	if !ok {
		return nil
	}
	params, _ := sjson.SetRawBytes(m.Params, path, []byte(req.progressToken)) // a valid path
	return c.writeLocked(outgoing{
		Method: m.Method,
		Params: params,
	})
}

// findLocked returns the request in flight with an id of the SDK, and the key of its id.
func (c *conn) findLocked(sdkID string) (key string, req request, ok bool) {
	_, key, _ = strings.Cut(sdkID, " ") // the key of the id follows the number
	req = c.requests[key]
	return key, req, req.sdkID == sdkID && sdkID != ""
}

// remove takes the request with an id of the SDK out of those in flight: its id is free from now
// on.
func (c *conn) remove(sdkID string) (req request, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key, req, ok := c.findLocked(sdkID)
	if ok {
		delete(c.requests, key)
	}
	return req, ok
}

// refuse answers input with an error whose id is null. It blocks while the client reads nothing, so
// that no more input is read: otherwise the errors about garbage, such as a file, would pile up.
// Responses to requests do not block the input, which may have a cancellation (see receiveRequest).
// A failed write ends the session by itself.
func (c *conn) refuse(err *jsonrpc.Error) {
	c.writeMu.Lock()
	defer c.writeMu.Unlock()
	_ = c.writeLocked(outgoing{
		ID:    json.RawMessage("null"),
		Error: err,
	})
}

// writeLocked writes one message, framed or as a line. A failed write ends the session. The caller
// holds writeMu.
func (c *conn) writeLocked(m outgoing) error {
	m.Version = "2.0"
	body, err := jsonx.Marshal(m)
	if err != nil {
		return fmt.Errorf("encoding a message: %w", err)
	}

	withHeader := !c.writesLines.Load()
	msg := "send line"
	if withHeader {
		msg = "send framed"
		if string(m.ID) == "null" {
			body = append(body, '\n') // for a client of lines whose first line was not JSON
		}
	}
	c.Log.Debug(msg, "bytes", len(body), "json", loggedJSON(body))

	if err := WriteFrame(eagainRetrier{c.Transport}, body, withHeader); err != nil {
		err = fmt.Errorf("writing to stdout: %w", err)
		c.end(err)
		return err
	}
	return nil
}

// Close ends the session. It may be called more than once, and always returns nil.
func (c *conn) Close() error {
	c.end(io.EOF)
	return nil
}

// SessionID is empty: a process serves one session.
func (c *conn) SessionID() string {
	return ""
}

// loggedJSON is the JSON of a message in the debug log. It is copied only if the debug log is on.
type loggedJSON []byte

func (l loggedJSON) LogValue() slog.Value { return slog.StringValue(string(l)) }

// outgoing is a response or a notification in JSON.
type outgoing struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// errorForClient returns an error of the SDK or the server as the response to a request shows it.
func errorForClient(method string, err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	// The SDK turns an error without a code into a *jsonrpc.Error with the code 0.
	e, ok := errors.AsType[*jsonrpc.Error](err)
	if ok && e.Code != 0 {
		return e // without the text that the SDK has wrapped around it
	}

	// The SDK refuses a request before initialize with such an error. Methods of tasks belong to
	// the stateless protocol only: for a request of another version they do not exist.
	if strings.HasPrefix(method, "tasks/") {
		return rpc.MethodNotFound()
	}
	return rpc.InvalidRequest(err.Error())
}
