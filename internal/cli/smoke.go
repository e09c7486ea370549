package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"
)

// question is what smoke asks when it is not told what.
const question = "What does HTTP 404 mean?"

// smoke starts this program as an MCP client does, sends initialize,
// tools/list and tools/call, and prints each answer as a line on stdout
// (spec §10). It asks the real API when there is a key, else the built-in one.
func (a *app) smoke(ctx context.Context, args []string) error {
	f := newFlags("smoke")
	lines := f.Bool("ldjson", false, "")
	tool := f.String("tool", "answer", "")
	ping := f.Bool("ping", false, "")
	cancel := f.Bool("cancel", false, "")
	err := f.parse(args)
	switch {
	case errors.Is(err, errHelp):
		return a.help()
	case err != nil:
		return err
	}
	cfg, _, err := a.config(f)
	if err != nil {
		return err
	}
	ask := strings.Join(f.Args(), " ")
	if ask == "" {
		ask = question
	}
	server := []string{"--stdio"}
	if variable, _, set := cfg.Credential(); f.offline || !set {
		server = append(server, "--offline")
		if !f.offline {
			a.note("%s is not set: the answer comes from the built-in offline API", variable)
		}
	}
	c, err := a.start(ctx, append(server, f.forward()...), *lines || cfg.LineMode)
	if err != nil {
		return err
	}
	// The longest call, and a little for the start where there is an end to the sum.
	longest := cfg.Timeout()
	over := time.AfterFunc(max(longest, longest+10*time.Second), c.kill)
	defer over.Stop()
	err = errors.Join(c.converse(*tool, ask, *ping, *cancel), c.end())
	if err != nil && ctx.Err() != nil {
		return errInterrupted
	}
	return err
}

// forward are the flags that the server is to have as well.
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

// start runs this very program with args and connects to its pipes.
func (a *app) start(ctx context.Context, args []string, lines bool) (*peer, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Env = a.env
	cmd.Stderr = a.stderr
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 2 * time.Second
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe to %s: %w", self, err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, fmt.Errorf("making a pipe from %s: %w", self, err)
	}
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting %s: %w", self, err)
	}
	return newPeer(a, cmd, in, out, lines), nil
}

// converse is the conversation: each request waits for its answer.
func (p *peer) converse(tool, ask string, ping, cancel bool) error {
	err := p.initialize("smoke")
	if err == nil {
		err = p.call("tools/list", map[string]any{})
	}
	if err == nil && ping {
		err = p.call("ping", nil)
	}
	if err == nil && cancel {
		err = p.cancelled(tool, ask)
	}
	if err == nil {
		err = p.call("tools/call", toolCall(tool, ask))
	}
	return err
}

func toolCall(tool, ask string) map[string]any {
	return map[string]any{"name": tool, "arguments": map[string]any{"query": ask}}
}

// cancelled sends a call and takes it back. Nothing is waited for: an answer
// to it would meet the next call, or the end, and be found out there.
func (p *peer) cancelled(tool, ask string) error {
	p.last++
	p.silent = p.last
	err := p.send(
		map[string]any{"id": p.last, "method": "tools/call", "params": toolCall(tool, ask)},
		map[string]any{"method": "notifications/cancelled", "params": map[string]any{"requestId": p.last, "reason": "smoke"}},
	)
	if err == nil {
		p.app.note("call %d was cancelled and must stay silent", p.last)
	}
	return err
}

// checkAnswer turns an answer that reports an error into an error.
func checkAnswer(method string, raw json.RawMessage) error {
	var r struct {
		Error *struct {
			Code    int    `json:"code"`
			Message string `json:"message"`
		} `json:"error"`
	}
	if err := json.Unmarshal(raw, &r); err != nil {
		return fmt.Errorf("reading the answer to %s: %w", method, err)
	}
	if r.Error != nil {
		return fmt.Errorf("%s: %s (%d)", method, r.Error.Message, r.Error.Code)
	}
	return nil
}
