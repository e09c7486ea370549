// Package apitest is the API of internal/openai/fakeapi for tests: it follows a script of turns,
// errors and broken connections, and records the requests.
//
//	apitest.go     the server, what it records, and what can be waited for
//	step.go        the script
//	exchange.go    the answer to a request
//	stream.go      the events of a response
//	background.go  responses that run without a connection
package apitest

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
)

// Recorded is a request as it arrived.
type Recorded struct {
	Method, Path, Query string
	Header              http.Header
	Body                []byte
}

// Server is a running API. It accepts every key and model.
type Server struct {
	URL string // the base URL, such as http://127.0.0.1:49152/v1

	jobs   sync.Map // the responses in the background, *job by id
	server *httptest.Server

	mu       sync.Mutex
	queue    []step        // of the next requests
	always   step          // of the requests after them
	recorded []Recorded    // the last requests
	arrived  int           // all requests so far
	aborted  int           // requests whose client left early
	changed  chan struct{} // closed and replaced when arrived or aborted changes
}

// New returns an API that is not on a port. It answers as a model would, except for what the steps
// say: see [Server.Script].
func New(steps ...string) (*Server, error) {
	s := &Server{changed: make(chan struct{})}
	return s, s.Script(steps...)
}

// Start serves the API of New on a free loopback port.
func Start(steps ...string) (*Server, error) {
	s, err := New(steps...)
	if err != nil {
		return nil, err
	}

	s.server = httptest.NewServer(s)
	s.URL = s.server.URL + "/v1"
	return s, nil
}

// Close closes the port and every connection, and returns when serving has ended. It may be
// called again.
func (s *Server) Close() {
	s.server.CloseClientConnections()
	s.server.Close()
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	st := s.arrive(r, body)

	complete := err == nil && st.answer(&s.jobs, w, r, body)
	left := err != nil || r.Context().Err() != nil
	if left && !complete {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.countLocked(&s.aborted)
	}
}

// maxRecorded is how many requests the server remembers.
const maxRecorded = 64

// arrive records a request and takes its step, so that the request after one that was waited
// for gets the next step.
func (s *Server) arrive(r *http.Request, body []byte) step {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.recorded = append(s.recorded, Recorded{
		Method: r.Method,
		Path:   r.URL.Path,
		Query:  r.URL.RawQuery,
		Header: r.Header.Clone(),
		Body:   body,
	})
	s.recorded = s.recorded[max(0, len(s.recorded)-maxRecorded):]
	s.countLocked(&s.arrived)

	if len(s.queue) == 0 {
		return s.always
	}
	st := s.queue[0]
	s.queue = s.queue[1:]
	return st
}

// Requests returns a copy of the last 64 requests, oldest first.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.recorded)
}

// Arrived returns how many requests have arrived.
func (s *Server) Arrived() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.arrived
}

// WaitRequests returns nil when n requests have arrived, or the error of the context.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.wait(ctx, &s.arrived, n)
}

// WaitAborted returns nil when the clients of n requests have left before the answer was
// complete, or the error of the context.
func (s *Server) WaitAborted(ctx context.Context, n int) error {
	return s.wait(ctx, &s.aborted, n)
}

func (s *Server) wait(ctx context.Context, count *int, n int) error {
	for {
		s.mu.Lock()
		reached := *count >= n
		changed := s.changed
		s.mu.Unlock()
		if reached {
			return nil
		}

		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// countLocked raises a count and wakes the calls of wait.
func (s *Server) countLocked(count *int) {
	*count++
	close(s.changed)
	s.changed = make(chan struct{})
}
