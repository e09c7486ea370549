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

	"github.com/tidwall/gjson"

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
	if !f.offline && !cfg.KeySet {
		a.note("%s is not set: smoke uses the offline API", cfg.KeyEnv)
		f.offline = true
	}
	cmd, p, err := a.startServer(ctx, f, *lines || cfg.LineMode)
	if err != nil {
		return err
	}
	// One call may take the timeout; without an overflow there is time to start.
	kill := time.AfterFunc(max(cfg.Timeout(), cfg.Timeout()+10*time.Second), func() {
		a.note("the server does not answer; ending it")
		_ = cmd.Process.Kill()
	})
	defer kill.Stop()
	err = a.exchange(p, "initialize", initializeParams("smoke"))
	if err == nil {
		err = p.send("notifications/initialized", 0, nil)
	}
	if err == nil {
		err = a.exchange(p, "tools/list", map[string]any{})
	}
	if err == nil && *ping {
		err = a.exchange(p, "ping", nil)
	}
	if err == nil && *cancel {
		// A response to this call would arrive before the next, or at the end.
		err = p.cancelled("tools/call", call)
		a.note("call %d was cancelled and must stay silent", p.silent)
	}
	if err == nil {
		err = a.exchange(p, "tools/call", call)
	}
	err = errors.Join(err, p.end())
	if ended := cmd.Wait(); ended != nil {
		err = errors.Join(err, fmt.Errorf("running the server: %w", ended))
	}
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// startServer runs this program as a server with the flags of f and connects to
// its pipes.
func (a *app) startServer(ctx context.Context, f *flags, lines bool) (*exec.Cmd, *peer, error) {
	args := []string{"--stdio", fmt.Sprintf("--offline=%t", f.offline)}
	if f.config.ConfigSet {
		args = append(args, "--config="+f.config.Config)
	}
	if f.config.ModelSet {
		args = append(args, "--model="+f.config.Model)
	}
	if f.config.DebugSet && f.config.Debug {
		args = append(args, strings.TrimSuffix("--debug="+f.config.DebugFile, "="))
	}
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
	if err = errors.Join(errIn, errOut); err == nil {
		err = cmd.Start()
	}
	if err != nil {
		return nil, nil, fmt.Errorf("starting %q: %w", self, err)
	}
	return cmd, newPeer(in, out, lines), nil
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
	if err == nil {
		a.note("%s: answered in %d ms", method, time.Since(begin).Milliseconds())
	}
	return err
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

// call sends a request and returns its response. If that is an error, it
// returns both.
func (p *peer) call(method string, params map[string]any) (json.RawMessage, error) {
	p.last++
	if err := p.send(method, p.last, params); err != nil {
		return nil, err
	}
	for {
		raw, err := p.read()
		if err != nil {
			return nil, fmt.Errorf("waiting for the response to %s: %w", method, err)
		}
		r := gjson.ParseBytes(raw)
		if r.Get("id").Int() != int64(p.last) {
			continue // a notification
		}
		if e := r.Get("error"); e.Exists() {
			return raw, fmt.Errorf("%s: %s (%d)", method, e.Get("message").String(), e.Get("code").Int())
		}
		return raw, nil
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

// read reads one message.
func (p *peer) read() (json.RawMessage, error) {
	frame, err := p.out.Read()
	switch {
	case errors.Is(err, io.EOF):
		return nil, errEnded
	case err != nil:
		return nil, fmt.Errorf("reading from the server: %w", err)
	case p.silent != 0 && gjson.GetBytes(frame.Body, "id").Int() == int64(p.silent):
		return nil, fmt.Errorf("call %d was cancelled and yet answered", p.silent)
	}
	return frame.Body, nil
}

// end closes the input of the server and reads the rest of its output.
func (p *peer) end() error {
	_ = p.in.Close()
	for {
		if _, err := p.read(); errors.Is(err, errEnded) {
			return nil
		} else if err != nil {
			return err
		}
	}
}
