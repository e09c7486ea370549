// Package smoke runs a session with a server in this process, as an MCP client does (spec §10).
package smoke

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/stdio"
)

// Request is a request of a session.
type Request struct {
	Method    string
	Params    string       // JSON
	ShownPath string       // gjson path of the part of the response that a terminal shows
	Cancelled bool         // it is cancelled right after it is sent, and must get no response
	Response  gjson.Result // set by Run
}

// initializeParams are the params of initialize.
const initializeParams = `{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"smoke","version":"1"}}`

// OpeningRequests returns the requests that a client begins with.
func OpeningRequests() []Request {
	return []Request{
		{
			Method:    "initialize",
			Params:    initializeParams,
			ShownPath: "result.serverInfo",
		},
		{
			Method:    "tools/list",
			Params:    "{}",
			ShownPath: "result.tools.#.name",
		},
	}
}

// Run sends all requests at once to srv, and calls show with each response when it arrives. With
// lineMode each message is a line; else it has a header. The error is about the first request
// without a response, with an error or, if it is Cancelled, with a response. After the end of ctx
// Run shows nothing: the server would also answer the calls that this end cancels.
func Run(
	ctx context.Context,
	srv *server.Server,
	log *slog.Logger,
	lineMode bool,
	requests []Request,
	show func(Request) error,
) error {
	responses, out := io.Pipe()
	defer responses.Close()
	t := &stdio.Transport{
		In:       input(requests, lineMode),
		Out:      out,
		LineMode: lineMode,
		Methods:  server.Methods,
		Log:      log,
	}
	go func() { out.CloseWithError(srv.SDKServer(ctx, call.Person{}).Run(ctx, t)) }()

	reader := stdio.NewReader(responses)
	frame, err := reader.Read()
	for ; err == nil; frame, err = reader.Read() {
		if ctx.Err() != nil {
			return ctx.Err()
		}

		response := gjson.ParseBytes(frame.Body)
		id := response.Get("id").Int()
		if id == 0 {
			continue
		}
		requests[id-1].Response = response
		err = show(requests[id-1])
		if err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}

	for _, r := range requests {
		answered := r.Response.Exists()
		if answered == r.Cancelled {
			return fmt.Errorf("%s: cancelled is %t, answered is %t", r.Method, r.Cancelled, answered)
		}
		e := r.Response.Get("error.message")
		if r.Response.Get("result.isError").Bool() { // with tool_errors: result
			e = r.Response.Get("result.content.0.text")
		}
		if e.Exists() {
			return fmt.Errorf("%s: %s", r.Method, e.Str)
		}
	}
	return nil
}

// input returns what a client writes to stdin to send requests. Their ids count from 1.
func input(requests []Request, lineMode bool) io.Reader {
	var in bytes.Buffer
	send := func(format string, args ...any) {
		_ = stdio.WriteFrame(&in, fmt.Appendf(nil, format, args...), !lineMode)
	}

	for i, r := range requests {
		id := i + 1
		send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, r.Method, r.Params)
		if r.Method == "initialize" {
			send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		if r.Cancelled {
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled",`+
				`"params":{"requestId":%d}}`, id)
		}
	}
	return &in
}
