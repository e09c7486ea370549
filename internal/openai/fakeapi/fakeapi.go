// Package fakeapi is an OpenAI Responses API inside the process, for --offline: it answers POST
// /responses and GET /models/{id} in the shapes of the real API. Its streams have only the event
// that ends them. From its responses test/apitest makes an API for tests, which fails, waits,
// streams, and runs responses in the background as the real one does.
//
//	fakeapi.go  the HTTP server, on a loopback port
//	sample.go   the responses, from samples.json
//
// The shapes follow https://platform.openai.com/docs/api-reference/responses and
// https://platform.openai.com/docs/api-reference/responses-streaming.
package fakeapi

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Start serves the API on a free loopback port until stop is called. It accepts every key and
// model. base is its base URL, such as http://127.0.0.1:49152/v1. The error is that of listening.
func Start() (base string, stop func(), err error) {
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return "", nil, fmt.Errorf("listening on loopback: %w", err)
	}

	server := &http.Server{
		Handler:           http.HandlerFunc(answer),
		ReadHeaderTimeout: 10 * time.Second,
	}
	go func() { _ = server.Serve(listener) }() // ends with stop
	return "http://" + listener.Addr().String() + "/v1", func() { _ = server.Close() }, nil
}

// answer answers a request after a short wait, so that people can watch its progress. A client that
// has left gets no answer.
func answer(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	time.Sleep(100 * time.Millisecond)
	if err != nil || r.Context().Err() != nil {
		return
	}

	request := gjson.ParseBytes(body)
	final := Response(request, "")
	_, model, found := strings.Cut(r.URL.Path, "/models/")
	if found {
		final = Encode(map[string]string{"id": model})
	}
	w.Header().Set("X-Request-Id", ID("req"))
	w.Header().Set("Content-Type", "application/json")
	if request.Get("stream").Bool() {
		w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
		const form = "data: {\"type\":\"response.completed\",\"response\":%s}\n\n"
		final = fmt.Appendf(nil, form, final)
	}
	_, _ = w.Write(final) // the client may have left
}

// Encode returns the JSON of a value of the API. Such values cannot fail to encode.
func Encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
