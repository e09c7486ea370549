package cli

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/textproto"
	"os/exec"
	"strconv"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// peer is a server that this program has started, seen from its client.
type peer struct {
	app    *app
	cmd    *exec.Cmd
	in     io.WriteCloser
	out    *bufio.Reader
	lines  bool
	last   int // id of the last request
	silent int // id of the request that must not be answered; 0: none
}

func newPeer(a *app, cmd *exec.Cmd, in io.WriteCloser, out io.Reader, lines bool) *peer {
	return &peer{app: a, cmd: cmd, in: in, out: bufio.NewReader(out), lines: lines}
}

// initialize begins the session as the client of that name.
func (p *peer) initialize(name string) error {
	err := p.call("initialize", map[string]any{
		"protocolVersion": "2025-06-18",
		"capabilities":    map[string]any{},
		"clientInfo":      map[string]any{"name": name, "version": version.Version},
	})
	if err != nil {
		return err
	}
	return p.send(map[string]any{"method": "notifications/initialized"})
}

// call sends a request, waits for its answer and prints it.
func (p *peer) call(method string, params map[string]any) error {
	p.last++
	m := map[string]any{"id": p.last, "method": method}
	if params != nil {
		m["params"] = params
	}
	begin := time.Now()
	if err := p.send(m); err != nil {
		return err
	}
	raw, err := p.answer(p.last)
	if err != nil {
		return fmt.Errorf("waiting for the answer to %s: %w", method, err)
	}
	if _, err := fmt.Fprintf(escaper{p.app.stdout}, "%s\n", raw); err != nil {
		return err
	}
	if err := checkAnswer(method, raw); err != nil {
		return err
	}
	p.app.note("%s: answered in %d ms", method, time.Since(begin).Milliseconds())
	return nil
}

// send writes messages in one go.
func (p *peer) send(messages ...map[string]any) error {
	var b bytes.Buffer
	for _, m := range messages {
		m["jsonrpc"] = "2.0"
		body, err := json.Marshal(m)
		if err != nil {
			return err
		}
		if p.lines {
			b.Write(append(body, '\n'))
		} else {
			fmt.Fprintf(&b, "Content-Length: %d\r\n\r\n%s", len(body), body)
		}
	}
	if _, err := p.in.Write(b.Bytes()); err != nil {
		return fmt.Errorf("writing to the server: %w", err)
	}
	return nil
}

// answer reads messages until the one with that id; notifications pass.
func (p *peer) answer(id int) (json.RawMessage, error) {
	for {
		raw, err := p.read()
		if err != nil {
			return nil, err
		}
		var m struct {
			ID *int `json:"id"`
		}
		switch err := json.Unmarshal(raw, &m); {
		case err != nil:
			return nil, fmt.Errorf("the server sent %q: %w", raw, err)
		case m.ID == nil:
		case *m.ID == id:
			return raw, nil
		case *m.ID == p.silent:
			return nil, fmt.Errorf("call %d was cancelled and yet answered", p.silent)
		}
	}
}

// read reads one message.
func (p *peer) read() (json.RawMessage, error) {
	if p.lines {
		b, err := p.out.ReadBytes('\n')
		if errors.Is(err, io.EOF) && len(b) == 0 {
			return nil, errors.New("the server has ended")
		}
		return bytes.TrimSpace(b), err
	}
	head, err := textproto.NewReader(p.out).ReadMIMEHeader()
	if errors.Is(err, io.EOF) && len(head) == 0 {
		return nil, errors.New("the server has ended")
	}
	if err != nil {
		return nil, err
	}
	n, err := strconv.Atoi(head.Get("Content-Length"))
	if err != nil {
		return nil, fmt.Errorf("the server sent a header without a length: %w", err)
	}
	b := make([]byte, n)
	_, err = io.ReadFull(p.out, b)
	return b, err
}

// end closes the server's input and waits for its end; what it still says
// must not be the answer that was cancelled.
func (p *peer) end() error {
	_ = p.in.Close()
	var late error
	for late == nil {
		raw, err := p.read()
		if err != nil {
			break
		}
		if p.silent != 0 && bytes.Contains(raw, fmt.Appendf(nil, `"id":%d,`, p.silent)) {
			late = fmt.Errorf("call %d was cancelled and yet answered", p.silent)
		}
	}
	if err := p.cmd.Wait(); err != nil {
		return errors.Join(late, fmt.Errorf("the server ended with: %w", err))
	}
	return late
}

// kill ends a server that does not answer.
func (p *peer) kill() {
	p.app.note("the server does not answer; ending it")
	_ = p.cmd.Process.Kill()
}
