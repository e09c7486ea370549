package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// smoke runs a session as an MCP client does. It prints each response on a line of stdout (spec
// §10) and the verdict on stderr, and uses the offline API when there is no key.
func (a *app) smoke(ctx context.Context, args []string) error {
	f := newFlags("smoke")
	f.keyless = true
	lines := f.Bool("ldjson", false, "")
	tool := f.String("tool", "answer", "")
	ping := f.Bool("ping", false, "")
	cancel := f.Bool("cancel", false, "")
	words, err := f.parse(args)
	if err != nil {
		return err
	}

	d, err := a.build(f)
	if err != nil {
		return err
	}
	defer d.close()

	requests := firstRequests("smoke")
	if *ping {
		requests = append(requests, request{method: "ping", params: object{}})
	}
	query := cmp.Or(strings.Join(words, " "), "What does HTTP 404 mean?")
	call := request{
		method: "tools/call",
		params: object{"name": *tool, "arguments": object{"query": query}},
	}
	if *cancel {
		silent := call
		silent.cancelled = true
		requests = append(requests, silent)
		a.note("call %d is cancelled and must stay silent", len(requests))
	}
	requests = append(requests, call)

	api := "the API"
	if f.offline {
		api = "the offline API"
	}
	useLines := *lines || d.config.LineMode
	return a.smokeSession(ctx, d.server, useLines, requests, api)
}

// smokeSession runs a session, and prints its responses and the verdict.
func (a *app) smokeSession(ctx context.Context, o server.Options, lines bool, requests []request, api string) error {
	start := time.Now()
	var answered []string // the methods, in the order of their responses
	var writeErr error
	arrived := func(method string, response []byte) {
		a.note("%s: answered after %d ms", method, time.Since(start).Milliseconds())
		answered = append(answered, method)
		err := printJSON(a.stdout, json.RawMessage(response))
		writeErr = cmp.Or(writeErr, err)
	}

	err := session(ctx, o, lines, requests, arrived)
	if ctx.Err() != nil {
		return errInterrupted
	}
	err = cmp.Or(writeErr, err)
	if err != nil {
		return err
	}

	methods := strings.Join(answered, ", ")
	took := time.Since(start).Milliseconds()
	a.note("smoke passed: %s in %d ms, with %s", methods, took, api)
	return nil
}

type object = map[string]any

// request is one of a session.
type request struct {
	method    string
	params    object
	cancelled bool // at once, so it must not be answered
}

// firstRequests are those that a client of that name begins with.
func firstRequests(client string) []request {
	hello := object{
		"protocolVersion": "2025-06-18",
		"capabilities":    object{},
		"clientInfo":      object{"name": client, "version": version.String()},
	}
	return []request{
		{method: "initialize", params: hello},
		{method: "tools/list", params: object{}},
	}
}

// session sends requests to a server inside this process, all at once, and calls arrived for each
// response when it comes. The error is the first of a request without a result.
func session(
	ctx context.Context,
	o server.Options,
	lines bool,
	requests []request,
	arrived func(method string, response []byte),
) error {
	responses := make([][]byte, len(requests))
	out := receiver(func(message []byte) {
		id := gjson.GetBytes(message, "id").Int()
		if id > 0 {
			responses[id-1] = message
			arrived(requests[id-1].method, message)
		}
	})

	t := &stdio.Transport{
		In:    input(requests, lines),
		Out:   out,
		Lines: lines,
		Log:   o.Log,
	}
	err := server.New(o).MCP(ctx).Run(ctx, t)
	if err != nil {
		return err
	}

	for i, r := range requests {
		answered := responses[i] != nil
		if answered && r.cancelled {
			return fmt.Errorf("call %d was cancelled and yet answered", i+1)
		}
		if !answered && !r.cancelled {
			return fmt.Errorf("the server sent no response to %s", r.method)
		}

		e := gjson.GetBytes(responses[i], "error")
		if e.Exists() {
			return fmt.Errorf("%s: %s (%d)", r.method, e.Get("message").Str, e.Get("code").Int())
		}
	}
	return nil
}

// input returns what a client writes to send requests. Their ids count from 1.
func input(requests []request, lines bool) io.Reader {
	var in bytes.Buffer
	send := func(message object) {
		message["jsonrpc"] = "2.0"
		body, _ := json.Marshal(message) // these values cannot fail
		_ = stdio.Write(&in, body, !lines)
	}

	for i, r := range requests {
		id := i + 1
		send(object{"id": id, "method": r.method, "params": r.params})
		if r.method == "initialize" {
			send(object{"method": "notifications/initialized"})
		}
		if r.cancelled {
			params := object{"requestId": id, "reason": "smoke"}
			send(object{"method": "notifications/cancelled", "params": params})
		}
	}
	return &in
}

// receiver gets the messages of a server, each of which is one Write.
type receiver func(message []byte)

func (r receiver) Write(p []byte) (int, error) {
	frame, err := stdio.NewReader(bytes.NewReader(p)).Read()
	r(frame.Body)
	return len(p), err
}
