package cli

import (
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
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// smoke runs a session as an MCP client does: initialize, tools/list and
// tools/call. It prints each response on a line of stdout (spec §10) and the
// verdict on stderr, and uses the offline API when there is no key.
func (a *app) smoke(ctx context.Context, args []string) error {
	f := newFlags("smoke")
	lines := f.Bool("ldjson", false, "")
	tool := f.String("tool", "answer", "")
	ping := f.Bool("ping", false, "")
	cancel := f.Bool("cancel", false, "")
	words, err := f.parse(args)
	if err != nil {
		return err
	}
	cfg, _, err := a.config(f)
	if err != nil {
		return err
	}
	if !f.offline && !cfg.KeySet {
		a.note("%s is not set: smoke uses the offline API", cfg.KeyEnv)
		f.offline = true
	}
	d, err := a.build(f)
	if err != nil {
		return err
	}
	defer d.close()
	query := cmp.Or(strings.Join(words, " "), "What does HTTP 404 mean?")
	call := object{"name": *tool, "arguments": object{"query": query}}

	start := time.Now()
	var answered []string
	p := connect(ctx, a.serverOptions(d), *lines || cfg.LineMode)
	show := func(method string, params object) {
		begin := time.Now()
		if response := p.call(method, params); response != nil {
			a.note("%s: answered in %d ms", method, time.Since(begin).Milliseconds())
			answered = append(answered, method)
			if _, err := (escaper{a.stdout}).Write(append(response, '\n')); err != nil {
				p.err = err
			}
		}
	}
	show("initialize", initializeParams("smoke"))
	p.send(0, "notifications/initialized", nil)
	show("tools/list", nil)
	if *ping {
		show("ping", nil)
	}
	if *cancel { // a response would arrive before that to the next request
		p.last++
		p.silent = p.last
		p.send(p.silent, "tools/call", call)
		p.send(0, "notifications/cancelled", object{"requestId": p.silent, "reason": "smoke"})
		a.note("call %d was cancelled and must stay silent", p.silent)
	}
	show("tools/call", call)
	err = p.end()
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

// initializeParams are the parameters of initialize for a client of that name.
func initializeParams(client string) object {
	return object{
		"protocolVersion": "2025-06-18",
		"capabilities":    object{},
		"clientInfo":      object{"name": client, "version": version.String()},
	}
}

// peer is the client's side of a session. After an error it does nothing.
type peer struct {
	in     io.WriteCloser
	out    io.ReadCloser
	reader *stdio.Reader
	framed bool
	last   int        // id of the last request
	silent int        // id of the request that must not be answered; 0: none
	ended  chan error // gets the result of the server
	err    error
}

// connect starts a server inside this process. The session ends with ctx.
func connect(ctx context.Context, o server.Options, lines bool) *peer {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	p := &peer{in: in, out: out, reader: stdio.NewReader(out), framed: !lines, ended: make(chan error, 1)}
	go func() {
		p.ended <- server.New(o).MCP(ctx).Run(ctx, &stdio.Transport{In: serverIn, Out: serverOut, Lines: lines, Log: o.Log})
		_ = serverOut.Close()
	}()
	context.AfterFunc(ctx, func() { _ = in.Close() })
	return p
}

// send writes one message; an id of 0 makes it a notification.
func (p *peer) send(id int, method string, params object) {
	body, err := json.Marshal(struct {
		JSONRPC string `json:"jsonrpc"`
		ID      int    `json:"id,omitempty"`
		Method  string `json:"method"`
		Params  object `json:"params,omitempty"`
	}{"2.0", id, method, params})
	if err == nil && p.err == nil {
		err = stdio.Write(p.in, body, p.framed)
	}
	if err != nil {
		p.err = fmt.Errorf("sending %s to the server: %w", method, err)
	}
}

// call sends a request and returns its response.
func (p *peer) call(method string, params object) json.RawMessage {
	p.last++
	p.send(p.last, method, params)
	for p.err == nil {
		raw := p.read()
		if errors.Is(p.err, io.EOF) {
			p.err = io.ErrUnexpectedEOF // not the end that end waits for
		}
		if p.err != nil {
			p.err = fmt.Errorf("waiting for the response to %s: %w", method, p.err)
		} else if r := gjson.ParseBytes(raw); r.Get("id").Int() == int64(p.last) { // not a notification
			if e := r.Get("error"); e.Exists() {
				p.err = fmt.Errorf("%s: %s (%d)", method, e.Get("message").String(), e.Get("code").Int())
			}
			return raw
		}
	}
	return nil
}

// read reads one message. After the last one the error is io.EOF.
func (p *peer) read() json.RawMessage {
	frame, err := p.reader.Read()
	p.err = err
	if p.silent != 0 && gjson.GetBytes(frame.Body, "id").Int() == int64(p.silent) {
		p.err = fmt.Errorf("call %d was cancelled and yet answered", p.silent)
	}
	return frame.Body
}

// end closes the input of the server, waits for its end, and returns the first
// error of the session.
func (p *peer) end() error {
	_ = p.in.Close()
	for p.err == nil {
		p.read()
	}
	_ = p.out.Close()
	if err := <-p.ended; errors.Is(p.err, io.EOF) {
		return err
	}
	return p.err
}
