// Package fakeapi is an OpenAI Responses API inside the process: it answers
// POST /responses and GET /models/{id} in the shapes of the real one, and fails on
// request. It serves --offline and the tests of the packages that use the API.
//
// A turn of the model is described once, as a finished response. The stream of
// it is derived from that, so that both say the same. A [Step] changes what the
// next request gets: another turn, an error, a broken connection, a recording.
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
	o      Options
	closed chan struct{} // ends answers that wait

	mu      sync.Mutex
	queue   []Step
	always  Step
	choose  func(question string) Step
	log     []Recorded
	arrived int // all requests so far, also those that log has forgotten
	aborted int
	changed chan struct{} // closed and replaced when a count above changes
	once    sync.Once
}

// New returns a server that answers every request as a model would, until
// [Server.Queue], [Server.Choose] or [Server.Always] change that.
func New(o Options) *Server {
	o.Keep = cmp.Or(o.Keep, 4096)
	return &Server{o: o, closed: make(chan struct{}), changed: make(chan struct{})}
}

// Queue adds steps for the next requests, one request each. A step with a
// recording of several turns answers as many requests.
func (s *Server) Queue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range steps {
		s.queue = append(s.queue, st)
		for i := 1; i < len(st.replay); i++ {
			next := st
			next.replay = st.replay[i:]
			s.queue = append(s.queue, next)
		}
	}
}

// Always sets the step of every request that finds the queue empty.
func (s *Server) Always(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = step
}

// Choose sets a function that picks the step of a request that finds the queue
// empty, by its question: the last user message without the hints, "" without
// one. It comes before [Server.Always]. Calls of choose do not overlap, and it
// must not call the server.
func (s *Server) Choose(choose func(question string) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = choose
}

// Close ends every answer that waits. Call it before httptest.Server.Close,
// which waits for them.
func (s *Server) Close() { s.once.Do(func() { close(s.closed) }) }

// Requests returns a copy of the requests so far, oldest first, at most
// Options.Keep of them.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.log)
}

// WaitRequests returns nil when n requests have arrived since the start, or the
// error of the context.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.wait(ctx, func() bool { return s.arrived >= n })
}

// WaitAborted returns nil when the clients of n requests have left before the
// answer was complete, or the error of the context.
func (s *Server) WaitAborted(ctx context.Context, n int) error {
	return s.wait(ctx, func() bool { return s.aborted >= n })
}

// wait returns once cond, which is called under the lock, holds.
func (s *Server) wait(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// notify wakes the calls of wait. The lock is held.
func (s *Server) notify() {
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
	stop = sync.OnceFunc(func() {
		s.Close()
		_ = srv.Close()
		<-done
	})
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
	s.arrive(x, body, err == nil)
	defer func() {
		if !x.done && (err != nil || r.Context().Err() != nil) {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.aborted++
			s.notify()
		}
	}()
	if err != nil {
		return
	}
	w.Header().Set("x-request-id", x.req.id("req", "")[:36])
	if x.pause(x.step.delay) {
		x.answer()
	}
}

// arrive records a request and takes its step, so that the request after one
// that was waited for gets the next step.
func (s *Server) arrive(x *exchange, body []byte, whole bool) {
	rec := Recorded{Method: x.r.Method, Path: x.r.URL.Path, Header: x.r.Header.Clone(), Body: body}
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.notify()
	if len(s.log) >= s.o.Keep {
		s.log = slices.Delete(s.log, 0, 1)
	}
	s.log = append(s.log, rec)
	s.arrived++
	if gjson.ValidBytes(body) {
		x.req.Result = gjson.ParseBytes(body)
	}
	x.req.n = s.arrived
	if !whole {
		return
	}
	x.step = s.always
	switch {
	case len(s.queue) > 0:
		x.step = s.queue[0]
		s.queue = slices.Delete(s.queue, 0, 1)
	case s.choose != nil:
		x.step = s.choose(x.req.question())
	}
}

// answer picks the endpoint by the end of the path; base URLs have any prefix.
func (x *exchange) answer() {
	path := strings.TrimSuffix(x.r.URL.Path, "/")
	_, id, isModel := strings.Cut(path, "/models/")
	key, _ := strings.CutPrefix(x.r.Header.Get("Authorization"), "Bearer ")
	switch {
	case x.step.send != nil:
		x.step.send(x)
	case x.s.o.Key != "" && key != x.s.o.Key:
		x.fail(wrongKey(key))
	case strings.HasSuffix(path, "/responses") && x.r.Method == http.MethodPost:
		x.respond()
	case isModel && x.r.Method == http.MethodGet:
		x.json(http.StatusOK, object{"id": id, "object": "model", "created": 1765313051, "owned_by": "system"})
	default:
		x.fail(invalid(http.StatusNotFound, "", "", fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.r.URL.Path)))
	}
}

// pause waits for d. It reports whether the client still waits for an answer.
func (x *exchange) pause(d time.Duration) bool {
	if d <= 0 {
		return x.r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.r.Context().Done():
	case <-x.s.closed:
	}
	return false
}

// hang answers nothing until the client or the server closes.
func (x *exchange) hang() { x.pause(math.MaxInt64) }

// cut closes the connection: net/http does so for this panic, without a log.
func (x *exchange) cut() { panic(http.ErrAbortHandler) }

// fail sends an error.
func (x *exchange) fail(e apiError) { x.json(e.status, object{"error": e}) }

// json sends a value.
func (x *exchange) json(status int, v any) { x.body(status, "application/json", encode(v)) }

// body sends a whole body.
func (x *exchange) body(status int, contentType string, b []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.Header().Set("Content-Length", fmt.Sprint(len(b)))
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
	b, err := json.Marshal(v)
	if err != nil {
		panic("fakeapi: encoding an answer: " + err.Error())
	}
	return b
}
