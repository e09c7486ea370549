package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// style is how the client of a session is.
type style struct {
	name      string
	framing   string        // "framed", "line", or "mixed": each message as it comes
	lineMode  bool          // MCP_LINE_MODE=1
	stateless bool          // MCP 2026-07-28: no initialize
	timeout   time.Duration // of a call; under a minute, silent scenarios may run into it
	debug     bool          // DEBUG=1
	home      int           // which of soak.homes
	pause     time.Duration // between two actions, on average
}

// hasty reports whether calls run into their timeout.
func (s style) hasty() bool { return s.timeout < time.Minute }

// session is one server and its client.
type session struct {
	style
	soak *soak
	api  *api
	*ledger
	rng  *rand.Rand // the driver's
	log  *transcript
	err  *stderr
	cmd  *exec.Cmd
	in   io.WriteCloser
	out  io.ReadCloser
	last int // what was numbered last: nonces, tokens

	lined    atomic.Bool  // the first line was answered: all answers are lines
	holdTill atomic.Int64 // the client does not read before, in nanoseconds since 1970
	leaving  atomic.Bool  // the client is going, or ends the server

	ended chan struct{} // closed when the server has gone and all is read
	exit  error         // of the server; read after ended
	later []delayed     // what the driver is going to do
}

// start runs a server. It is killed when ctx ends.
func (k *soak) start(ctx context.Context, st style, a *api, rng *rand.Rand) (*session, error) {
	s := &session{
		style: st, soak: k, api: a, ledger: newLedger(k.tally, a.finish), rng: rng,
		log: newTranscript(), err: &stderr{}, ended: make(chan struct{}),
	}
	s.cmd = exec.CommandContext(ctx, k.binary, "--stdio")
	s.cmd.Env = []string{
		"HOME=" + k.homes[st.home], "OPENAI_BASE_URL=" + a.url, "OPENAI_API_KEY=" + key,
		fmt.Sprintf("OPENAI_API_TIMEOUT=%d", st.timeout.Milliseconds()),
		fmt.Sprintf("OPENAI_MAX_RETRIES=%d", retries),
		"GODEBUG=gctrace=1", "GOTRACEBACK=all", "GORACE=atexit_sleep_ms=0",
	}
	if st.debug {
		s.cmd.Env = append(s.cmd.Env, "DEBUG=1")
	}
	if st.lineMode {
		s.cmd.Env = append(s.cmd.Env, "MCP_LINE_MODE=1")
		s.lined.Store(true)
	}
	var err error
	if s.in, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	if s.out, err = s.cmd.StdoutPipe(); err != nil {
		return nil, err
	}
	errs, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	k.tally.add(sessions)
	a.asks.Store(s)
	var pipes sync.WaitGroup
	pipes.Go(s.read)
	pipes.Go(func() {
		s.err.read(errs, func(why string) {
			// The rest of a stack comes behind its first line.
			time.AfterFunc(time.Second, func() { s.fail("stderr: %s", why) })
		})
	})
	go func() {
		pipes.Wait()
		s.exit = s.cmd.Wait()
		close(s.ended)
	}()
	return s, nil
}

// fail tells a breach, with the end of the transcript.
func (s *session) fail(format string, args ...any) {
	s.soak.fail(s.name+": "+fmt.Sprintf(format, args...), s.log.String()+s.err.tail())
}

// read accounts for what the server writes, until it ends.
func (s *session) read() {
	r := bufio.NewReader(s.out)
	for {
		for wait := time.Until(time.Unix(0, s.holdTill.Load())); wait > 0; {
			time.Sleep(wait)
			wait = time.Until(time.Unix(0, s.holdTill.Load()))
		}
		m, err := wire.Read(r)
		if err != nil {
			// Whoever ends a server may hear half a word.
			if !errors.Is(err, io.EOF) && !s.leaving.Load() && !errors.Is(err, os.ErrClosed) {
				s.fail("%v", err)
			}
			_, _ = io.Copy(io.Discard, r)
			return
		}
		s.log.add("<-", m.JSON)
		if err := s.take(m); err != nil {
			s.fail("%v", err)
		}
	}
}

// take checks one message.
func (s *session) take(m wire.Message) error {
	s.soak.tally.add(read)
	if strings.Contains(m.JSON, key) || strings.Contains(m.JSON, key[3:]) {
		return errors.New("stdout holds the API key")
	}
	lined := s.lined.Load()
	// A refusal may have been framed before the line arrived, and waited.
	if m.Framing == "framed" && lined && m.ID != "null" || m.Framing == "line" && s.framing == "framed" && !s.lineMode {
		return fmt.Errorf("an answer comes %s: %s", m.Framing, m.JSON)
	}
	if r, err := s.receive(m); err != nil {
		return err
	} else if r != nil && r.lined {
		s.lined.Store(true)
	}
	return nil
}

// quiesce waits until all is answered and nothing is left at the API, then
// until the descriptors of the connections that waited there are closed.
func (s *session) quiesce(ctx context.Context) error {
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it takes too long"))
	defer cancel()
	if err := s.settle(ctx); err != nil {
		return err
	}
	for stable := 0; stable < 5; {
		// Goroutines of a closed connection end a moment after it.
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return fmt.Errorf("waiting for the end of all requests at the API: %w", context.Cause(ctx))
		}
		if s.api.quiet() && sockets(s.cmd.Process.Pid) == 0 {
			stable++
		} else {
			stable = 0
		}
	}
	return nil
}

// wait waits for the end of the server, which must be its own.
func (s *session) wait() error {
	select {
	case <-s.ended:
		return s.exit
	case <-time.After(patience):
		return errors.New("the server does not end")
	}
}
