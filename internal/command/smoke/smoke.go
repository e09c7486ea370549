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

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/stdio"
)

// Request is one of a session.
type Request struct {
	Method    string
	Params    string // JSON
	Has       string // the path of what a terminal shows of the response
	Cancelled bool   // right after it is sent: it must get no response
	Response  gjson.Result
}

// hello are the params of initialize.
const hello = `{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"smoke","version":"1"}}`

// First returns the requests that a client begins with.
func First() []Request {
	return []Request{
		{
			Method: "initialize",
			Params: hello,
			Has:    "result.serverInfo",
		},
		{
			Method: "tools/list",
			Params: "{}",
			Has:    "result.tools.#.name",
		},
	}
}

// Session sends requests to a server inside this process, all at once, and shows each response
// when it arrives. It returns an error for the first request that has no result. After the end of
// ctx it shows nothing: the server also answers the calls that the end has cancelled.
func Session(
	ctx context.Context,
	srv *server.Server,
	log *slog.Logger,
	lines bool,
	requests []Request,
	show func(Request) error,
) error {
	responses, out := io.Pipe()
	defer responses.Close()
	t := &stdio.Transport{
		In:       input(requests, lines),
		Out:      out,
		LineMode: lines,
		Methods:  server.Methods,
		Log:      log,
	}
	go func() { out.CloseWithError(srv.MCP(ctx).Run(ctx, t)) }()

	in := stdio.NewReader(responses)
	frame, err := in.Read()
	for ; err == nil; frame, err = in.Read() {
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
		e := r.Response.Get("error")
		if e.Exists() {
			return fmt.Errorf("%s: %s", r.Method, e.Get("message").Str)
		}
	}
	return nil
}

// input returns what a client writes to send requests. Their ids count from 1.
func input(requests []Request, lines bool) io.Reader {
	var in bytes.Buffer
	send := func(format string, args ...any) {
		_ = stdio.Write(&in, fmt.Appendf(nil, format, args...), !lines)
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
