// Package fakeapi is an OpenAI Responses API inside the process: it answers POST /responses and
// GET /models/{id} in the shapes of the real one, and fails on request. It serves --offline and
// the tests of the program.
//
// A turn of the model is described once, as a finished response, from which its stream is derived.
// A step changes what the next request gets: another turn, an error, a broken connection, a file.
//
// In reading order: fakeapi.go has the server, step.go the behaviours that can be scripted,
// turn.go what the model says, and stream.go the events of a turn. The shapes follow
// https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Recorded is a request as it arrived.
type Recorded struct {
	Method, Path string
	Header       http.Header
	Body         []byte
}

// Server is a running API. It accepts every key and model.
type Server struct {
	URL string // the base URL, such as http://127.0.0.1:49152/v1

	server *http.Server
	ended  chan struct{} // closed when serving has ended

	mu      sync.Mutex
	queue   []step
	always  step
	log     []Recorded
	arrived int // all requests so far, also those that log has forgotten
	aborted int
	changed chan struct{} // closed and replaced when a count above changes
}

// Start serves the API on a free loopback port. It answers as a model would, except for what
// the steps say: see [Server.Script].
func Start(steps ...string) (*Server, error) {
	s := &Server{ended: make(chan struct{}), changed: make(chan struct{})}
	if err := s.Script(steps...); err != nil {
		return nil, err
	}
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	s.URL = "http://" + l.Addr().String() + "/v1"
	s.server = &http.Server{Handler: http.HandlerFunc(s.serve), ReadHeaderTimeout: 10 * time.Second}
	go func() {
		defer close(s.ended)
		_ = s.server.Serve(l) // It always ends with an error, caused by Close.
	}()
	return s, nil
}

// Close closes the port and every connection, and returns when serving has ended. It may be
// called again.
func (s *Server) Close() {
	_ = s.server.Close()
	<-s.ended
}

// Requests returns a copy of the last 64 requests, oldest first.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// WaitRequests returns nil when n requests have arrived, or the error of the context.
func (s *Server) WaitRequests(ctx context.Context, n int) error { return s.wait(ctx, &s.arrived, n) }

// WaitAborted returns nil when the clients of n requests have left before the answer was
// complete, or the error of the context.
func (s *Server) WaitAborted(ctx context.Context, n int) error { return s.wait(ctx, &s.aborted, n) }

func (s *Server) wait(ctx context.Context, count *int, n int) error {
	for {
		s.mu.Lock()
		enough, changed := *count >= n, s.changed
		s.mu.Unlock()
		if enough {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// addLocked raises a count and wakes the calls of wait.
func (s *Server) addLocked(count *int) {
	*count++
	close(s.changed)
	s.changed = make(chan struct{})
}

// exchange is a request while it is answered.
type exchange struct {
	w    http.ResponseWriter
	r    *http.Request
	req  request
	step step
	done bool // the answer is complete
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	// net/http notices that a client leaves only after the body was read.
	body, err := io.ReadAll(r.Body)
	x := &exchange{w: w, r: r}
	s.arrive(x, body)
	defer func() {
		if !x.done && (err != nil || r.Context().Err() != nil) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.addLocked(&s.aborted)
		}
	}()
	w.Header().Set("x-request-id", x.req.id("req"))
	if err == nil && x.pause(x.step.delay) {
		x.answer()
	}
}

// arrive records a request and takes its step, so that the request after one that was waited
// for gets the next step.
func (s *Server) arrive(x *exchange, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.log = append(s.log, Recorded{x.r.Method, x.r.URL.Path, x.r.Header.Clone(), body})
	s.log = s.log[max(0, len(s.log)-64):]
	s.addLocked(&s.arrived)
	x.req = request{Result: gjson.ParseBytes(body), n: s.arrived}
	x.step = s.always
	if len(s.queue) > 0 {
		x.step = s.queue[0]
		s.queue = s.queue[1:]
	}
	if x.step.what == "asked" {
		word, _, _ := strings.Cut(x.req.question(), " ")
		x.step, _ = parse(word) // as a model would if the word is not a step
	}
}

// answer picks the endpoint by the end of the path; base URLs have any prefix.
func (x *exchange) answer() {
	path := x.r.URL.Path
	_, id, _ := strings.Cut(path, "/models/")
	e, isError := apiErrors[x.step.what]
	fault, isFault := faults[x.step.what]
	switch {
	case isError:
		if x.step.value != "" {
			x.w.Header().Set("Retry-After", x.step.value)
		}
		x.fail(e)
	case isFault:
		fault(x, x.step.value)
	case x.r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		x.respond()
	case x.r.Method == http.MethodGet && id != "":
		model := object{"id": id, "object": "model", "created": 1765313051, "owned_by": "system"}
		x.send(http.StatusOK, "application/json", encode(model))
	default:
		x.fail(apiError{http.StatusNotFound, "Invalid URL (" + path + ")", invalid, "", ""})
	}
}

// pause waits for d. It reports whether the client still waits for an answer.
func (x *exchange) pause(d time.Duration) bool {
	select {
	case <-x.r.Context().Done():
	case <-time.After(d):
	}
	return x.r.Context().Err() == nil
}

func (x *exchange) fail(e apiError) { x.send(e.status, "application/json", encode(object{"error": e})) }

// send sends a whole body.
func (x *exchange) send(status int, contentType string, b []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(status)
	x.done = x.write(b)
}

// write sends b at once. It reports whether the client took it.
func (x *exchange) write(b []byte) bool {
	_, err := x.w.Write(b)
	return cmp.Or(err, http.NewResponseController(x.w).Flush(), x.r.Context().Err()) == nil
}

// encode marshals a value of this package, which cannot fail.
func encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
