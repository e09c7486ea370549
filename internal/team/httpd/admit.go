package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
)

const (
	maxBody = 1 << 20 // bytes of the body of a request

	// maxBeyondBounds is how many bytes are read of the body of a request beyond the bounds
	// (answerBeyondBounds).
	maxBeyondBounds = 4 << 10

	elementBytes = 200 // memory that a JSON element of a message takes when it is decoded

	// The first freeBytes of each request do not count, so that people who have taken all their
	// bytes can still ask for answers, and cancel. They have room for the capabilities, some 50
	// elements, that clients of 2026-07-28 send with each request.
	freeBytes = 16 << 10
)

// admit rejects requests beyond the bounds. In the drain it rejects all but small
// notifications: other requests might last longer than the drain. It reads the body of any other
// request, and passes the message on to serveMessage if acceptMessage accepts it. Any method but
// POST always gets 405: Qwen Code and Cursor give up the connection after another status of their
// GET (https://github.com/QwenLM/qwen-code/issues/8784,
// https://github.com/punkpeye/mcp-proxy/pull/62).
func (s *instance) admit(w http.ResponseWriter, r *http.Request) {
	res := w.(*response)
	if !s.Access.NeedsToken() { // otherwise requireToken has done this
		s.listener.noteAuthenticated(r.RemoteAddr)
	}
	if r.Method != http.MethodPost {
		s.serveMCP(res, r) // the SDK refuses it
		return
	}

	b := &body{
		Reader:   http.MaxBytesReader(w, r.Body, maxBody),
		people:   s.people,
		personID: res.person.ID,
	}

	err := s.people.TakeRequest(b.personID)
	if err != nil {
		if !s.answerBeyondBounds(res, r, err) {
			res.rejectUnread(err)
		}
		return
	}
	defer func() { s.people.EndRequest(b.personID, b.taken) }()

	_ = res.control.SetReadDeadline(time.Now().Add(readTimeout))
	data, err := io.ReadAll(b)
	elements := jsonx.CountElements(data)            // Methods.Parse counts them again
	if err == nil && elements <= jsonx.MaxElements { // acceptMessage rejects more
		err = b.take(elements * elementBytes)
	}

	if err != nil {
		res.rejectUnread(err)
		return
	}

	r.Body = io.NopCloser(bytes.NewReader(data))
	m := acceptMessage(res, r, data)
	if m != nil {
		s.serveMessage(res, r, m)
	}
}

// answerBeyondBounds answers a small message that is beyond the bounds. refusal is the error of
// TakeRequest. answerBeyondBounds reports whether it has answered:
//   - A notification is accepted: otherwise people with as many calls as they may run could not
//     cancel one.
//   - A request gets refusal as an ordinary response, except in the drain. After any other status
//     VS Code stops the server. Calls through mcp-remote 0.1, and of MCP's SDK for Python 1, then
//     wait for their time limit (https://github.com/modelcontextprotocol/python-sdk/issues/3091).
func (s *instance) answerBeyondBounds(res *response, r *http.Request, refusal error) bool {
	if r.ContentLength > maxBeyondBounds { // a chunked body has the length -1
		return false
	}

	_ = res.control.SetReadDeadline(time.Now().Add(lingerTime))
	data, err := io.ReadAll(io.LimitReader(r.Body, maxBeyondBounds))
	m, notMessage := methods.Parse(data)
	if err != nil || notMessage != nil {
		return false
	}
	if isNotification(m) {
		s.acceptNotification(res, r, m)
		return true
	}

	busy, _ := errors.AsType[*people.BusyError](refusal)
	isRequest := m.Method != "" && m.ID.Exists() && isValidID(m.ID.Raw)
	if !isRequest || busy == people.ErrDraining {
		return false
	}
	res.reason = busy.Reason
	res.rejectedAs = http.StatusTooManyRequests
	e := &jsonrpc.Error{Code: rpc.CodeCallFailed, Message: busy.Error()}
	writeError(res, http.StatusOK, m.ID.Raw, e)
	return true
}

// body is the body of a request. Its bytes count for the person as soon as they are read.
type body struct {
	io.Reader
	people   *people.Registry
	personID string
	size     int // bytes of the request so far, with what decoding takes
	taken    int // bytes that people counts; EndRequest gives them back
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	return n, cmp.Or(b.take(n), err)
}

// take counts n more bytes of the request. Those beyond freeBytes count for the person. The error
// is a *people.BusyError.
func (b *body) take(n int) error {
	b.size += n
	missing := b.size - freeBytes - b.taken
	if missing <= 0 {
		return nil
	}

	err := b.people.TakeBytes(b.personID, missing)
	if err == nil {
		b.taken += missing
	}
	return err
}

// rejectUnread answers a request that was not read to its end: it is beyond the bounds, or its body
// could not be read.
func (res *response) rejectUnread(err error) {
	busy, ok := errors.AsType[*people.BusyError](err)
	if ok {
		status := http.StatusTooManyRequests
		if busy == people.ErrDraining {
			status = http.StatusServiceUnavailable
		}
		res.reason = busy.Reason
		res.Header().Set("Retry-After", "1")
		http.Error(res, err.Error(), status)
		return
	}

	if errors.As(err, new(*http.MaxBytesError)) {
		http.Error(res, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(res, "the request did not arrive", http.StatusRequestTimeout)
}
