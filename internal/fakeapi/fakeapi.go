// Package fakeapi is an OpenAI Responses API inside the process: it answers POST /responses, the
// requests about responses in the background, and GET /models/{id} in the shapes of the real one.
// It serves --offline. The tests of the program use it through test/apitest, which makes it fail.
//
// A turn of the model is a sample of a finished response, from which its stream is derived.
//
//	fakeapi.go     the API, on a port of this machine
//	exchange.go    the answer to a request: the endpoints
//	turn.go        what the model says: samples.json, with what the request asks for
//	stream.go      the events of a response
//	background.go  responses that run without a connection
//
// The shapes follow https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// API answers requests. It accepts every key and model. The zero value is ready for use.
type API struct {
	requests atomic.Int64 // number of requests so far
	jobs     sync.Map     // the responses in the background, *job by id
}

// Step is how one request is answered. With the zero value the API answers as a model would.
type Step struct {
	Delay time.Duration // time before anything is sent
	Slow  time.Duration // time between two events
	Turn  string        // what the model says: ok, search, uncited; "": it decides

	// Edit changes the finished response, as JSON; nil: it stays.
	Edit func(response []byte) []byte
	// Replace answers after the delay in place of the API, as Answer does; nil: the API answers.
	Replace func(w http.ResponseWriter, r *http.Request) (complete bool)
}

// Server is an API on a port.
type Server struct {
	URL string // the base URL, such as http://127.0.0.1:49152/v1

	server  *http.Server
	serving sync.WaitGroup
}

// Start serves an API on a free loopback port. It answers every request by the same step.
func Start(step Step) (*Server, error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, fmt.Errorf("listening on loopback: %w", err)
	}

	api := &API{}
	handle := func(w http.ResponseWriter, r *http.Request) {
		api.Answer(w, r, step)
	}
	s := &Server{
		URL: "http://" + listener.Addr().String() + "/v1",
		server: &http.Server{
			Handler:           http.HandlerFunc(handle),
			ReadHeaderTimeout: 10 * time.Second,
		},
	}
	s.serving.Go(func() {
		_ = s.server.Serve(listener) // It always ends with an error, caused by Close.
	})
	return s, nil
}

// Close closes the port and every connection, and returns when serving has ended.
func (s *Server) Close() {
	_ = s.server.Close()
	s.serving.Wait()
}
