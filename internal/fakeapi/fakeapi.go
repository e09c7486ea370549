// Package fakeapi is an OpenAI Responses API that runs inside the process: it
// answers POST /responses and GET /models/{id} in the shapes of the real one,
// and misbehaves on request. It backs --offline and the tests of every package
// that talks to the API.
//
// A turn is described once, as output items, and rendered as one JSON response
// or as the event stream of it, so that both say the same. A [Step] changes what
// the next request gets: another turn, an error, a broken connection.
//
// The shapes follow https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// maxBody bounds a request body. The real API refuses far smaller ones; a test
// of a long question needs a few MiB.
const maxBody = 64 << 20

// Options says how a [Server] behaves. The zero value accepts every key and
// every model.
type Options struct {
	// Models is what GET /models/{id} knows, and then also the only models that
	// POST /responses takes. Empty: [DefaultModels] for the first, any for the second.
	Models []Model
	// Key is the one API key that is accepted. Empty: requests need none.
	Key string
	// Keep is how many requests [Server.Requests] remembers. Zero: 4096.
	Keep int
	// Now tells the time of created_at and Recorded.At. Nil: time.Now.
	Now func() time.Time
}

// Server is the API. It is an [http.Handler], safe for concurrent use; make one
// with [New].
type Server struct {
	o      Options
	closed chan struct{} // ends what hangs

	mu      sync.Mutex
	queue   []use
	always  *use
	choose  func(question string) Step
	log     []*Recorded
	arrived int // requests so far, the forgotten ones too
	aborted int
	changed chan struct{}     // closed and replaced when a count above changes
	calls   map[string]issued // function calls that wait for their output
	once    sync.Once
}

// use is a step and how many requests it has answered.
type use struct {
	step Step
	n    int
}

// New returns a server that answers every request by its own judgement until
// [Server.Queue] or [Server.Always] say otherwise.
func New(o Options) *Server {
	o.Keep = cmp.Or(o.Keep, 4096)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Server{
		o:       o,
		closed:  make(chan struct{}),
		changed: make(chan struct{}),
		calls:   map[string]issued{},
	}
}

// Queue adds behaviours for the next requests, one request a step, in order. A
// step that replays a recording of several turns answers as many requests.
func (s *Server) Queue(steps ...Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, st := range steps {
		s.queue = append(s.queue, use{step: st})
	}
}

// Always sets the behaviour of every request that finds the queue empty.
func (s *Server) Always(step Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.always = &use{step: step}
}

// Choose sets how the behaviour of a request that finds the queue empty is
// chosen: by its question, which is what the user said last, without the hints
// behind it; "" when the request asks nothing. choose wins over [Server.Always].
// It is called for one request at a time and must not call the server.
func (s *Server) Choose(choose func(question string) Step) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.choose = choose
}

// Close ends every answer that hangs or dawdles, as a server does that goes
// down. Call it before httptest.Server.Close, which waits for them.
func (s *Server) Close() {
	s.once.Do(func() { close(s.closed) })
}

// next takes the behaviour of a request, and how many requests it answered
// before this one. The lock is held.
func (s *Server) next(body []byte) (Step, int) {
	if s.choose != nil && len(s.queue) == 0 {
		return s.choose(questionOf(body)), 0
	}
	u := s.always
	if len(s.queue) > 0 {
		u = &s.queue[0]
	}
	if u == nil {
		return Step{}, 0
	}
	st, n := u.step, u.n
	u.n++
	if len(s.queue) > 0 && u.n >= max(1, len(st.replay)) {
		s.queue = slices.Delete(s.queue, 0, 1)
	}
	return st, n
}

// ServeHTTP answers one request: recorded first, then the step, then the route.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, readErr := readBody(r)
	x := &exchange{s: s, w: w, r: r, body: body}
	rec := s.arrive(x, readErr == nil)
	defer func() {
		// A client may well leave once it has everything; that is no departure.
		if !x.done && (x.gone || r.Context().Err() != nil) {
			s.abort(rec)
		}
	}()
	if readErr != nil {
		x.gone = true // The body never came whole: nobody waits for an answer.
		return
	}
	h := w.Header()
	h.Set("x-request-id", "req_"+opaque("req", x.seed)[:32])
	h.Set("openai-version", "2020-10-01")
	h.Set("openai-processing-ms", "1")

	if !x.wait(x.step.delay) {
		return
	}
	if x.step.wire != nil {
		x.step.wire(x)
		return
	}
	if f := s.authorize(r); f != nil {
		x.fail(f)
		return
	}
	x.route()
}

// route picks the endpoint by the end of the path: the prefix is the business
// of whoever configured the base URL.
func (x *exchange) route() {
	path := strings.TrimSuffix(x.r.URL.Path, "/")
	_, id, found := strings.Cut(path, "/models/")
	switch {
	case strings.HasSuffix(path, "/responses"):
		if x.r.Method != http.MethodPost {
			x.fail(wrongMethod(x.r))
			return
		}
		x.respond()
	case strings.HasSuffix(path, "/models") && x.r.Method == http.MethodGet:
		x.json(http.StatusOK, x.s.modelList())
	case found && x.r.Method == http.MethodGet:
		x.model(id)
	default:
		x.fail(&fault{status: http.StatusNotFound, body: apiError{
			Message: fmt.Sprintf("Invalid URL (%s %s)", x.r.Method, x.r.URL.Path),
			Type:    "invalid_request_error",
		}})
	}
}
