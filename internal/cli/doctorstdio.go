package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
)

// selfTestLimit bounds one conversation with the server inside this process.
const selfTestLimit = 5 * time.Second

// selfTest starts the server on a pair of pipes, greets it as a client does and
// returns the number of its tools.
func (a *app) selfTest(ctx context.Context, lines bool) (tools int, err error) {
	ctx, cancel := context.WithTimeout(ctx, selfTestLimit)
	defer cancel()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	discard := slog.New(slog.DiscardHandler)
	s := server.New(server.Options{Log: discard}) // no tool is called
	ended := make(chan error, 1)
	go func() {
		err := s.Run(ctx, &stdio.Transport{In: serverIn, Out: serverOut, Methods: server.Methods(), Log: discard})
		serverOut.Close()
		ended <- err
	}()
	// A server that hangs must not hold up its client: the pipes break.
	stop := context.AfterFunc(ctx, func() {
		in.CloseWithError(errors.New("no answer in time"))
		serverOut.CloseWithError(errors.New("no answer in time"))
	})
	defer stop()

	tools, err = greet(in, out, lines)
	in.Close()
	_, _ = io.Copy(io.Discard, out)
	return tools, errors.Join(err, <-ended)
}

// greet is the client's half of the conversation.
func greet(in io.WriteCloser, out io.Reader, lines bool) (tools int, err error) {
	var answers bytes.Buffer
	p := newPeer(&app{stdout: &answers, stderr: io.Discard}, nil, in, out, lines)
	err = p.initialize("doctor")
	answers.Reset()
	if err == nil {
		err = p.call("tools/list", map[string]any{})
	}
	if err != nil {
		return 0, err
	}
	var list struct {
		Result struct {
			Tools []struct{ Name string } `json:"tools"`
		} `json:"result"`
	}
	if err := json.Unmarshal(answers.Bytes(), &list); err != nil {
		return 0, fmt.Errorf("reading the answer to tools/list: %w", err)
	}
	if len(list.Result.Tools) == 0 {
		return 0, errors.New("the answer to tools/list has no tools")
	}
	return len(list.Result.Tools), nil
}
