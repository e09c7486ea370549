// Package fakeapi is an OpenAI Responses API inside the process: it answers
// POST /responses and GET /models/{id} in the shapes of the real one, and fails on
// request. It serves --offline and the tests of the program.
//
// A turn of the model is described once, as a finished response. The stream of
// it is derived from that, so that both say the same. A [Step] changes what the
// next request gets: another turn, an error, a broken connection, a file.
//
// In reading order: fakeapi.go has the server, step.go the behaviours that can be
// scripted, turn.go what the model says, stream.go the events of a turn, and
// errors.go the errors in the words of the API. The shapes follow
// https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// Options configures a [Server]. The zero value accepts every key and model.
type Options struct {
	// Key is the only API key that is accepted. Empty: no key is needed.
	Key string
	// Keep is the number of requests that [Server.Requests] remembers. Zero: 4096.
	Keep int
}

// Recorded is a request as it arrived.
type Recorded struct {
	Method string
	Path   string
	Header http.Header
	Body   []byte
}

// Server is the API, an [http.Handler] that is safe for concurrent use.
type Server struct {
	o Options

	mu      sync.Mutex
	queue   []Step
	always  Step
	log     []Recorded
	arrived int // all requests so far, also those that log has forgotten
	aborted int
	changed chan struct{} // closed and replaced when a count above changes
}

// New returns a server that answers every request as a model would, until
// [Server.Queue] or [Server.Always] change that.
func New(o Options) *Server {
	o.Keep = cmp.Or(o.Keep, 4096)
	return &Server{o: o, changed: make(chan struct{})}
}

// Queue adds steps for the next requests, one request each.
func (s *Server) Queue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, steps...)
}

// Always sets the step of every request that finds the queue empty.
func (s *Server) Always(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = step
}

// Requests returns a copy of the requests so far, oldest first, at most
// Options.Keep of them.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// WaitRequests returns nil when n requests have arrived since the start, or the
// error of the context.
func (s *Server) WaitRequests(ctx context.Context, n int) error { return s.wait(ctx, &s.arrived, n) }

// WaitAborted returns nil when the clients of n requests have left before the
// answer was complete, or the error of the context.
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

// Listen serves s on a free loopback port and returns the base URL, such as
// "http://127.0.0.1:49152/v1". stop closes the port and every connection, and
// returns when serving has ended; it may be called again.
func (s *Server) Listen() (baseURL string, stop func(), err error) {
	l, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening on loopback: %w", err)
	}
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // It always ends with an error, caused by stop.
	}()
	stop = func() {
		_ = srv.Close()
		<-done
	}
	return "http://" + l.Addr().String() + "/v1", stop, nil
}

// exchange is a request while it is answered.
type exchange struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	req  request
	step Step
	done bool // the answer is complete
}

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http notices that a client leaves only after the body was read.
	body, err := io.ReadAll(r.Body)
	x := &exchange{s: s, w: w, r: r}
	x.arrive(body)
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

// arrive records a request and takes its step, so that the request after one
// that was waited for gets the next step.
func (x *exchange) arrive(body []byte) {
	s := x.s
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) >= s.o.Keep {
		s.log = slices.Delete(s.log, 0, 1)
	}
	s.log = append(s.log, Recorded{Method: x.r.Method, Path: x.r.URL.Path, Header: x.r.Header.Clone(), Body: body})
	s.addLocked(&s.arrived)
	x.req = request{Result: gjson.ParseBytes(body), n: s.arrived}
	x.step = s.always
	if len(s.queue) > 0 {
		x.step = s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
	}
	if x.step.asked {
		word, _, _ := strings.Cut(x.req.question(), " ")
		x.step, _ = ParseStep(word) // as a model would if the word is not a step
	}
}

// key is the API key of the request.
func (x *exchange) key() string {
	return strings.TrimPrefix(x.r.Header.Get("Authorization"), "Bearer ")
}

// model is the id of the model that the request names, in its path or its body.
func (x *exchange) model() string {
	_, id, _ := strings.Cut(x.r.URL.Path, "/models/")
	return cmp.Or(id, x.req.Get("model").String())
}

// answer picks the endpoint by the end of the path; base URLs have any prefix.
func (x *exchange) answer() {
	switch path := x.r.URL.Path; {
	case x.step.send != nil:
		x.step.send(x)
	case x.s.o.Key != "" && x.key() != x.s.o.Key:
		x.fail(wrongKey(x.key()))
	case x.r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		x.respond()
	case x.r.Method == http.MethodGet && strings.Contains(path, "/models/"):
		model := object{"id": x.model(), "object": "model", "created": 1765313051, "owned_by": "system"}
		x.body(http.StatusOK, "application/json", encode(model))
	default:
		x.fail(invalid(http.StatusNotFound, "", "", fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, path)))
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

// hang answers nothing until the connection is closed.
func (x *exchange) hang() { x.pause(math.MaxInt64) }

// cut closes the connection: net/http does so for this panic, without a log.
func (x *exchange) cut() { panic(http.ErrAbortHandler) }

// fail sends an error.
func (x *exchange) fail(e apiError) { x.body(e.status, "application/json", encode(object{"error": e})) }

// body sends a whole body.
func (x *exchange) body(status int, contentType string, b []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(status)
	x.done = x.write(b)
}

// write sends b at once. It reports whether the client took it.
func (x *exchange) write(b []byte) bool {
	_, err := x.w.Write(b)
	_ = http.NewResponseController(x.w).Flush() // A recorder of a test may not flush.
	return err == nil && x.r.Context().Err() == nil
}

// encode marshals a value of this package, which cannot fail.
func encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
