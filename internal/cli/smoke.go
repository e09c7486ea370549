package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// smoke runs a session as an MCP client does: initialize, tools/list and
// tools/call. It prints each response on a line of stdout (spec §10) and the
// verdict on stderr, and uses the offline API when there is no key.
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
	call := message{ID: 3, Method: "tools/call", Params: object{"name": *tool, "arguments": object{"query": query}}}
	messages := firstMessages("smoke")
	if *ping {
		messages = append(messages, message{ID: call.ID, Method: "ping"})
		call.ID++
	}
	if *cancel {
		messages = append(messages, call, message{Method: cancelled, Params: object{"requestId": call.ID, "reason": "smoke"}})
		a.note("call %d was cancelled and must stay silent", call.ID)
		call.ID++
	}
	start := time.Now()
	var answered []string
	err = session(ctx, d.server, *lines || d.config.LineMode, append(messages, call), func(method string, response []byte) error {
		a.note("%s: answered in %d ms", method, time.Since(start).Milliseconds())
		answered = append(answered, method)
		_, err := a.stdout.Write(escape(append(response, '\n')))
		return err
	})
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

// message is a request, or a notification if it has no ID.
type message struct {
	Version string `json:"jsonrpc"`
	ID      int64  `json:"id,omitempty"`
	Method  string `json:"method"`
	Params  object `json:"params,omitempty"`
}

const cancelled = "notifications/cancelled"

// firstMessages are the first messages of a client of that name.
func firstMessages(client string) []message {
	return []message{
		{ID: 1, Method: "initialize", Params: object{
			"protocolVersion": "2025-06-18", "capabilities": object{}, "clientInfo": object{"name": client, "version": version.String()},
		}},
		{Method: "notifications/initialized"},
		{ID: 2, Method: "tools/list"},
	}
}

// session sends messages to a server inside this process, all at once, and passes the responses to
// show in the order of the requests. It fails unless each request gets a result, except for one
// that is cancelled by the next message: that one gets no response. The session ends with ctx.
func session(ctx context.Context, o server.Options, lines bool, messages []message, show func(method string, response []byte) error) error {
	var in bytes.Buffer
	p := &peer{show: show, early: map[int64][]byte{}}
	for _, m := range messages {
		m.Version = "2.0"
		body, _ := json.Marshal(m) // these values cannot fail
		_ = stdio.Write(&in, body, !lines)
		switch {
		case m.Method == cancelled:
			p.waiting = p.waiting[:len(p.waiting)-1]
		case m.ID != 0:
			p.waiting = append(p.waiting, m)
		}
	}
	err := server.New(o).MCP(ctx).Run(ctx, &stdio.Transport{In: &in, Out: p, Lines: lines, Log: o.Log})
	switch err = cmp.Or(p.err, err); {
	case err != nil:
		return err
	case len(p.waiting) > 0:
		return errors.New("the server sent no response to " + p.waiting[0].Method)
	case len(p.early) > 0:
		return errors.New("the server answered a cancelled call")
	}
	return nil
}

// peer gets the messages of the server, each in one Write.
type peer struct {
	waiting []message        // the requests without a response
	early   map[int64][]byte // responses that waiting does not begin with, by id
	show    func(method string, response []byte) error
	err     error // of show, or in a response
}

func (p *peer) Write(b []byte) (int, error) {
	frame, err := stdio.NewReader(bytes.NewReader(b)).Read()
	p.early[gjson.GetBytes(frame.Body, "id").Int()] = frame.Body
	for err == nil && len(p.waiting) > 0 {
		request := p.waiting[0]
		response, ok := p.early[request.ID]
		if !ok {
			break
		}
		p.waiting = p.waiting[1:]
		delete(p.early, request.ID)
		err = p.show(request.Method, response)
		if e := gjson.GetBytes(response, "error"); e.Exists() {
			err = cmp.Or(err, fmt.Errorf("%s: %s (%d)", request.Method, e.Get("message").String(), e.Get("code").Int()))
		}
	}
	p.err = cmp.Or(p.err, err)
	return len(b), err
}
