package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
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
	query := cmp.Or(strings.Join(words, " "), "What does HTTP 404 mean?")
	call := request{method: "tools/call", params: object{"name": *tool, "arguments": object{"query": query}}}
	requests := firstRequests("smoke")
	if *ping {
		requests = append(requests, request{method: "ping", params: object{}})
	}
	if *cancel {
		silent := call
		silent.cancelled = true
		requests = append(requests, silent)
		a.note("call %d is cancelled and must stay silent", len(requests))
	}
	requests = append(requests, call)
	start := time.Now()
	var answered []string
	var writeErr error
	_, err = session(ctx, d.server, *lines || d.config.LineMode, requests, func(method string, response []byte) {
		a.note("%s: answered after %d ms", method, time.Since(start).Milliseconds())
		answered = append(answered, method)
		writeErr = cmp.Or(writeErr, printJSON(a.stdout, json.RawMessage(response)))
	})
	err = cmp.Or(writeErr, err)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}
	api := "the API"
	if f.offline {
		api = "the offline API"
	}
	a.note("smoke passed: %s in %d ms, with %s", strings.Join(answered, ", "), time.Since(start).Milliseconds(), api)
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
	info := object{"name": client, "version": version.String()}
	return []request{
		{method: "initialize", params: object{"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": info}},
		{method: "tools/list", params: object{}},
	}
}

// session sends requests to a server inside this process, all at once, and returns their responses.
// It calls arrived for each when it comes. The error is the first of a request without a result.
func session(ctx context.Context, o server.Options, lines bool, requests []request, arrived func(method string, response []byte)) ([][]byte, error) {
	var in bytes.Buffer
	send := func(message object) {
		message["jsonrpc"] = "2.0"
		body, _ := json.Marshal(message) // these values cannot fail
		_ = stdio.Write(&in, body, !lines)
	}
	for i, r := range requests {
		send(object{"id": i + 1, "method": r.method, "params": r.params})
		if r.method == "initialize" {
			send(object{"method": "notifications/initialized"})
		}
		if r.cancelled {
			send(object{"method": "notifications/cancelled", "params": object{"requestId": i + 1, "reason": "smoke"}})
		}
	}
	responses := make([][]byte, len(requests))
	out := receiver(func(message []byte) {
		if id := gjson.GetBytes(message, "id").Int(); id > 0 {
			responses[id-1] = message
			arrived(requests[id-1].method, message)
		}
	})
	err := server.New(o).MCP(ctx).Run(ctx, &stdio.Transport{In: &in, Out: out, Lines: lines, Log: o.Log})
	for i, r := range requests {
		answered, e := responses[i] != nil, gjson.GetBytes(responses[i], "error")
		switch {
		case err != nil:
		case answered && r.cancelled:
			err = fmt.Errorf("call %d was cancelled and yet answered", i+1)
		case !answered && !r.cancelled:
			err = fmt.Errorf("the server sent no response to %s", r.method)
		case e.Exists():
			err = fmt.Errorf("%s: %s (%d)", r.method, e.Get("message").String(), e.Get("code").Int())
		}
	}
	return responses, err
}

// receiver gets the messages of a server, each of which is one Write.
type receiver func(message []byte)

func (r receiver) Write(p []byte) (int, error) {
	frame, err := stdio.NewReader(bytes.NewReader(p)).Read()
	r(frame.Body)
	return len(p), err
}
