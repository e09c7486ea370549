// Package fakeapi is an OpenAI Responses API inside the process: it answers POST /responses, the
// requests about responses in the background, and GET /models/{id} in the shapes of the real one,
// and fails on request. It serves --offline and the tests of the program.
//
// A turn of the model is described once, as a finished response, from which its stream is derived.
// A step changes what the next request gets: another turn, an error, a broken connection, a file.
//
//	fakeapi.go     the server, what it records, and what can be waited for
//	step.go        the behaviours that can be scripted
//	exchange.go    the answer to a request: the endpoints
//	turn.go        what the model says
//	stream.go      the events of a response
//	background.go  responses that run without a connection
//
// The shapes follow https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
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

	server  *http.Server
	serving sync.WaitGroup
	jobs    sync.Map // *job by id, of the responses in the background

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

	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}
	s.URL = "http://" + listener.Addr().String() + "/v1"
	s.server = &http.Server{
		Handler:           s,
		ReadHeaderTimeout: 10 * time.Second,
	}
	s.serving.Go(func() {
		_ = s.server.Serve(listener) // It always ends with an error, caused by Close.
	})
	return s, nil
}

// Close closes the port and every connection, and returns when serving has ended. It may be
// called again.
func (s *Server) Close() {
	_ = s.server.Close()
	s.serving.Wait()
}

// maxRecorded is how many requests the server remembers.
const maxRecorded = 64

// Requests returns a copy of the last 64 requests, oldest first.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()

	return slices.Clone(s.recorded)
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
