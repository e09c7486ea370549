package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// smoke starts this program as an MCP client does, sends initialize, tools/list
// and tools/call, and prints each response on a line of stdout (spec §10). It
// uses the offline API when there is no key.
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
	if len(words) == 0 {
		words = []string{"What does HTTP 404 mean?"}
	}
	call := map[string]any{"name": *tool, "arguments": map[string]any{"query": strings.Join(words, " ")}}
	server := []string{"--stdio"}
	if f.offline || !cfg.KeySet() {
		server = append(server, "--offline")
	}
	if !f.offline && !cfg.KeySet() {
		a.note("%s is not set: smoke uses the offline API", cfg.KeyEnv())
	}
	cmd, p, err := a.startServer(ctx, append(server, f.forward()...), *lines || cfg.LineMode)
	if err != nil {
		return err
	}
	// One call may take the timeout; without an overflow there is time to start.
	limit := max(cfg.Timeout(), cfg.Timeout()+10*time.Second)
	kill := time.AfterFunc(limit, func() {
		a.note("the server does not answer; ending it")
		_ = cmd.Process.Kill()
	})
	defer kill.Stop()
	err = errors.Join(a.converse(p, call, *ping, *cancel), p.end())
	if ended := cmd.Wait(); ended != nil && ctx.Err() == nil {
		err = errors.Join(err, fmt.Errorf("the server ended with: %w", ended))
	}
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// forward returns the flags that the server gets too.
func (f *flags) forward() []string {
	var out []string
	if f.config.ConfigSet {
		out = append(out, "--config", f.config.Config)
	}
	if f.config.ModelSet {
		out = append(out, "--model", f.config.Model)
	}
	if f.config.DebugSet && f.config.Debug {
		out = append(out, strings.TrimSuffix("--debug="+f.config.DebugFile, "="))
	}
	return out
}

// startServer runs this program with args and connects to its pipes.
func (a *app) startServer(ctx context.Context, args []string, lines bool) (*exec.Cmd, *peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env, cmd.Stderr = a.env, a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	in, errIn := cmd.StdinPipe()
	out, errOut := cmd.StdoutPipe()
	err = errors.Join(errIn, errOut)
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("starting %q: %w", self, err)
	}
	return cmd, newPeer(in, out, lines), nil
}

// converse sends the requests, each after the response to the one before, and
// prints the responses. The call that it cancels is not waited for: a response
// to it would arrive before the next one, or at the end.
func (a *app) converse(p *peer, call map[string]any, ping, cancel bool) error {
	if err := a.exchange(p, "initialize", initializeParams("smoke")); err != nil {
		return err
	}
	if err := p.send("notifications/initialized", 0, nil); err != nil {
		return err
	}
	if err := a.exchange(p, "tools/list", map[string]any{}); err != nil {
		return err
	}
	if ping {
		if err := a.exchange(p, "ping", nil); err != nil {
			return err
		}
	}
	if cancel {
		if err := p.cancelled("tools/call", call); err != nil {
			return err
		}
		a.note("call %d was cancelled and must stay silent", p.silent)
	}
	return a.exchange(p, "tools/call", call)
}

// exchange sends a request and prints its response.
func (a *app) exchange(p *peer, method string, params map[string]any) error {
	begin := time.Now()
	raw, err := p.call(method, params)
	if raw != nil {
		if _, err := (escaper{a.stdout}).Write(append(raw, '\n')); err != nil {
			return err
		}
	}
	if err != nil {
		return err
	}
	a.note("%s: answered in %d ms", method, time.Since(begin).Milliseconds())
	return nil
}

// peer is the client's side of a session.
type peer struct {
	in     io.WriteCloser
	out    *stdio.Reader
	framed bool
	last   int // id of the last request
	silent int // id of the request that must not be answered; 0: none
}

func newPeer(in io.WriteCloser, out io.Reader, lines bool) *peer {
	return &peer{in: in, out: stdio.NewReader(out), framed: !lines}
}

// initializeParams are the parameters of initialize for a client of that name.
func initializeParams(client string) map[string]any {
	return map[string]any{
		"protocolVersion": "2025-06-18",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": client, "version": version.Version},
	}
}

// send writes one message; an id of 0 makes it a notification.
func (p *peer) send(method string, id int, params map[string]any) error {
	m := map[string]any{"jsonrpc": "2.0", "method": method}
	if id != 0 {
		m["id"] = id
	}
	if params != nil {
		m["params"] = params
	}
	body, err := json.Marshal(m)
	if err == nil {
		err = stdio.Write(p.in, body, p.framed)
	}
	if err != nil {
		return fmt.Errorf("sending %s to the server: %w", method, err)
	}
	return nil
}

// call sends a request and returns its response, also together with the error
// that the response is.
func (p *peer) call(method string, params map[string]any) (json.RawMessage, error) {
	p.last++
	if err := p.send(method, p.last, params); err != nil {
		return nil, err
	}
	for {
		raw, id, failure, err := p.read()
		switch {
		case err != nil:
			return nil, fmt.Errorf("waiting for the response to %s: %w", method, err)
		case id == p.last:
			if failure != nil {
				failure = fmt.Errorf("%s: %w", method, failure)
			}
			return raw, failure
		}
	}
}

// cancelled sends a request and cancels it.
func (p *peer) cancelled(method string, params map[string]any) error {
	p.last++
	p.silent = p.last
	if err := p.send(method, p.last, params); err != nil {
		return err
	}
	return p.send("notifications/cancelled", 0, map[string]any{"requestId": p.last, "reason": "smoke"})
}

var errEnded = errors.New("the server has ended")

// read reads one message. id is 0 for a notification, and failure the error
// that a response holds.
func (p *peer) read() (raw json.RawMessage, id int, failure, err error) {
	frame, err := p.out.Read()
	if errors.Is(err, io.EOF) {
		return nil, 0, nil, errEnded
	}
	if err != nil {
		return nil, 0, nil, fmt.Errorf("reading from the server: %w", err)
	}
	var m struct {
		ID    int `json:"id"`
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(frame.Body, &m); err != nil {
		return nil, 0, nil, fmt.Errorf("the server sent %q: %w", frame.Body, err)
	}
	if m.ID != 0 && m.ID == p.silent {
		return nil, 0, nil, fmt.Errorf("call %d was cancelled and yet answered", p.silent)
	}
	if m.Error != nil {
		failure = fmt.Errorf("%s (%d)", m.Error.Message, m.Error.Code)
	}
	return frame.Body, m.ID, failure, nil
}

// end closes the input of the server and reads the rest of its output.
func (p *peer) end() error {
	_ = p.in.Close()
	for {
		_, _, _, err := p.read()
		if errors.Is(err, errEnded) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}
