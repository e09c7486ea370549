package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// smoke runs a session as an MCP client does. It prints each response on a line of stdout (spec
// §10), in a terminal what it has, and the verdict on stderr. It uses the offline API when there is
// no key.
func (a *app) smoke(ctx context.Context, args []string) error {
	f := newFlags("smoke")
	f.keyless = true
	lines := f.Bool("ldjson", false, "")
	tool := "answer"
	f.Func("tool", "", oneOf(&tool, "answer", "answer_detailed", "answer_quick"))
	ping := f.Bool("ping", false, "")
	cancel := f.Bool("cancel", false, "")
	words, err := f.parse(args)
	if err != nil {
		return err
	}

	s, err := a.build(f)
	if err != nil {
		return err
	}
	defer s.close()

	requests := firstRequests()
	if *ping {
		requests = append(requests, request{
			method: "ping",
			params: "{}",
			has:    "result",
		})
	}
	query := cmp.Or(strings.Join(words, " "), "What does HTTP 404 mean?")
	quoted, _ := json.Marshal(query) // a string cannot fail
	call := request{
		method: "tools/call",
		params: fmt.Sprintf(`{"name":%q,"arguments":{"query":%s}}`, tool, quoted),
		has:    "result.content.0.text",
	}
	if *cancel {
		requests = append(requests, call)
		requests[len(requests)-1].cancelled = true
	}
	requests = append(requests, call)

	start := time.Now()
	width := terminal.Columns(a.stdout)
	show := func(r request) error {
		if width == 0 {
			return printJSON(a.stdout, json.RawMessage(r.response.Raw))
		}
		ms := time.Since(start).Milliseconds()
		has := text.OneLine(r.response.Get(r.has).String())
		line := fmt.Sprintf("%-10s %6d ms  %s", r.method, ms, has)
		_, err := fmt.Fprintln(a.stdout, text.Truncate(line, width))
		return err
	}
	err = session(ctx, s.server, *lines || s.Config.LineMode, requests, show)
	if err != nil {
		return err
	}
	a.note("smoke passed in %d ms", time.Since(start).Milliseconds())
	return nil
}

// request is one of a session.
type request struct {
	method    string
	params    string // JSON
	has       string // the path of what a terminal shows of the response
	cancelled bool   // right after it is sent: it must get no response
	response  gjson.Result
}

// hello are the params of initialize.
const hello = `{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"smoke","version":"1"}}`

// firstRequests are those that a client begins with.
func firstRequests() []request {
	return []request{
		{
			method: "initialize",
			params: hello,
			has:    "result.serverInfo",
		},
		{
			method: "tools/list",
			params: "{}",
			has:    "result.tools.#.name",
		},
	}
}

// session sends requests to a server inside this process, all at once, and shows each response when
// it arrives. It returns an error for the first request that has no result. After the end of ctx it
// shows nothing: the server also answers the calls that the end has cancelled.
func session(
	ctx context.Context,
	o server.Options,
	lines bool,
	requests []request,
	show func(request) error,
) error {
	responses, out := io.Pipe()
	defer responses.Close()
	t := &stdio.Transport{
		In:    input(requests, lines),
		Out:   out,
		Lines: lines,
		Log:   o.Log,
	}
	go func() { out.CloseWithError(server.New(o).MCP(ctx).Run(ctx, t)) }()

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
		requests[id-1].response = response
		err = show(requests[id-1])
		if err != nil {
			return err
		}
	}
	if !errors.Is(err, io.EOF) {
		return err
	}

	for _, r := range requests {
		answered := r.response.Exists()
		if answered == r.cancelled {
			return fmt.Errorf("%s: cancelled is %t, answered is %t", r.method, r.cancelled, answered)
		}
		e := r.response.Get("error")
		if e.Exists() {
			return fmt.Errorf("%s: %s", r.method, e.Get("message").Str)
		}
	}
	return nil
}

// input returns what a client writes to send requests. Their ids count from 1.
func input(requests []request, lines bool) io.Reader {
	var in bytes.Buffer
	send := func(format string, args ...any) {
		_ = stdio.Write(&in, fmt.Appendf(nil, format, args...), !lines)
	}

	for i, r := range requests {
		id := i + 1
		send(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, id, r.method, r.params)
		if r.method == "initialize" {
			send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
		}
		if r.cancelled {
			send(`{"jsonrpc":"2.0","method":"notifications/cancelled",`+
				`"params":{"requestId":%d}}`, id)
		}
	}
	return &in
}
