package main_test

import (
	"context"
	"encoding/json"
	"errors"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// sdkClient is the official client with the program as its server.
type sdkClient struct {
	*mcp.ClientSession
	ctx  context.Context
	api  *api
	cmd  *exec.Cmd
	told chan float64 // the progress of calls, as the client heard it
	wire *buffer      // each message, "read: " or "write: " before it
	err  *buffer
}

// The official client, asking for each protocol version that it knows, does
// with the program all that a client does. "" lets it choose.
func TestSDKClient(t *testing.T) {
	t.Parallel()
	for _, wanted := range append([]string{""}, mcp.SupportedProtocolVersions()...) {
		t.Run("version "+wanted, func(t *testing.T) {
			t.Parallel()
			c := connectSDK(t, wanted)
			t.Run("initialize", func(t *testing.T) { c.began(t, wanted) })
			t.Run("ping", c.pings)
			t.Run("tools list", c.lists)
			t.Run("tools call", c.calls)
			t.Run("progress", c.progress)
			t.Run("cancel", c.cancels)
			t.Run("EOF", c.ends)
		})
	}
}

func connectSDK(t *testing.T, wanted string) *sdkClient {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	c := &sdkClient{ctx: ctx, api: newAPI(t), told: make(chan float64, 1000), wire: &buffer{}, err: &buffer{}}
	c.cmd = exec.CommandContext(ctx, binary, "--stdio")
	c.cmd.Env = environment(t.TempDir(), "OPENAI_BASE_URL="+c.api.url, "OPENAI_API_KEY="+key)
	c.cmd.Stderr = c.err
	client := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
			c.told <- r.Params.Progress
		},
	})
	var err error
	c.ClientSession, err = client.Connect(ctx, &mcp.LoggingTransport{
		// Closing sends a signal to what is still there then: none in time.
		Transport: &mcp.CommandTransport{Command: c.cmd, TerminateDuration: patience},
		Writer:    c.wire,
	}, &mcp.ClientSessionOptions{ProtocolVersion: wanted})
	if err != nil {
		t.Fatalf("connecting: %v\n%s", err, c.err)
	}
	return c
}

// began checks what the client asked for, and what they agreed on.
func (c *sdkClient) began(t *testing.T, wanted string) {
	asked, agreed := wanted, "2025-06-18"
	if wanted == "" || wanted == "2026-07-28" {
		asked, agreed = "2026-07-28", "2026-07-28"
	}
	first, _, _ := strings.Cut(c.wire.String(), "\n")
	if stateless := strings.Contains(first, `"server/discover"`); stateless != (agreed == "2026-07-28") || !strings.Contains(first, asked) {
		t.Errorf("the client begins with %s, want it to ask for %s", first, asked)
	}
	r := c.InitializeResult()
	if r.ProtocolVersion != agreed {
		t.Errorf("protocol version %s, want %s", r.ProtocolVersion, agreed)
	}
	if diff := cmp.Diff(&mcp.ServerCapabilities{Tools: &mcp.ToolCapabilities{}}, r.Capabilities); diff != "" {
		t.Errorf("capabilities (-want +got):\n%s", diff)
	}
	if r.ServerInfo == nil || r.ServerInfo.Name != "openai-responses-mcp" {
		t.Errorf("server %+v", r.ServerInfo)
	}
}

// pings is answered in every session. The stateless protocol has dropped it;
// whoever sends it all the same is not turned away.
func (c *sdkClient) pings(t *testing.T) {
	if err := c.Ping(c.ctx, nil); err != nil {
		t.Errorf("ping: %v", err)
	}
	if !strings.Contains(c.wire.String(), `"method":"ping"`) {
		t.Error("the client has sent no ping")
	}
}

func (c *sdkClient) lists(t *testing.T) {
	list, err := c.ListTools(c.ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, tool := range list.Tools {
		names = append(names, tool.Name)
	}
	if diff := cmp.Diff([]string{"answer", "answer_detailed", "answer_quick"}, names); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// call asks a tool and returns its answer.
func (c *sdkClient) call(t *testing.T, params *mcp.CallToolParams) answered {
	t.Helper()
	res, err := c.CallTool(c.ctx, params)
	if err != nil {
		t.Fatalf("%s: %v\n%s", params.Name, err, c.err)
	}
	text, ok := res.Content[0].(*mcp.TextContent)
	if res.IsError || len(res.Content) != 1 || !ok {
		t.Fatalf("%s: result %+v, want one text", params.Name, res)
	}
	var got answered
	if err := json.Unmarshal([]byte(text.Text), &got); err != nil || got.Answer == "" {
		t.Errorf("%s: answer %q, %v", params.Name, text.Text, err)
	}
	return got
}

func question(tool, query string) *mcp.CallToolParams {
	return &mcp.CallToolParams{Name: tool, Arguments: map[string]any{"query": query}}
}

func (c *sdkClient) calls(t *testing.T) {
	for _, name := range []string{"answer", "answer_detailed", "answer_quick"} {
		c.call(t, question(name, "HTTP 404"))
	}
	if got := c.call(t, question("answer", "What is the weather in Tokyo today?")); !got.UsedSearch || len(got.Citations) == 0 {
		t.Errorf("answer %+v, want one with citations", got)
	}
	for _, params := range []*mcp.CallToolParams{question("none", "x"), {Name: "answer"}} {
		if _, err := c.CallTool(c.ctx, params); err == nil {
			t.Errorf("%+v was answered", params)
		}
	}
}

// progress grows while a call is answered, and ends before the result.
func (c *sdkClient) progress(t *testing.T) {
	params := question("answer", "What is the weather in Tokyo today?")
	params.SetProgressToken("watched")
	c.call(t, params)
	var lines []string
	for line := range strings.Lines(c.wire.String()) {
		switch {
		case strings.Contains(line, `"progressToken":"watched"`) && strings.HasPrefix(line, "read: "):
			lines = append(lines, "progress")
		case strings.HasPrefix(line, "read: ") && len(lines) > 0:
			lines = append(lines, "result")
		}
	}
	if n := len(lines); n < 2 || slices.Index(lines, "result") != n-1 {
		t.Errorf("the server sends %v, want progress and then the result", lines)
	}
	c.heard(t, len(lines)-1)
}

// heard waits for so many notifications, which increase.
func (c *sdkClient) heard(t *testing.T, n int) {
	t.Helper()
	last := 0.0
	for range n {
		select {
		case p := <-c.told:
			if p <= last {
				t.Errorf("progress %v after %v", p, last)
			}
			last = p
		case <-c.ctx.Done():
			t.Fatalf("waiting for progress: %v", c.ctx.Err())
		}
	}
}

// cancels gives a call up that is answered in part and then no further. The
// server gives its request up, says nothing more of it, and answers the next.
func (c *sdkClient) cancels(t *testing.T) {
	step, err := fakeapi.ParseStep("hang-after=6")
	if err != nil {
		t.Fatal(err)
	}
	c.api.Queue(step)
	params := question("answer", "HTTP 404")
	params.SetProgressToken("given up")
	ctx, cancel := context.WithCancel(c.ctx)
	ended := make(chan error, 1)
	go func() {
		_, err := c.CallTool(ctx, params)
		ended <- err
	}()
	c.heard(t, 2)
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the call ended with %v", err)
	}
	if err := c.api.WaitAborted(c.ctx, 1); err != nil {
		t.Errorf("the request of the cancelled call goes on: %v", err)
	}
	c.call(t, question("answer", "HTTP 404"))
	after, found := regexp.MustCompile(`"method":"tools/call".*"given up"`).FindStringIndex(c.wire.String()), 0
	if after == nil {
		t.Fatalf("the call is not in %s", c.wire)
	}
	for line := range strings.Lines(c.wire.String()[after[0]:]) {
		if strings.HasPrefix(line, "read: ") && !strings.Contains(line, `"progressToken":"given up"`) {
			found++
		}
	}
	if found != 1 {
		t.Errorf("%d answers since the call that was cancelled, want that of the next one alone:\n%s", found, c.wire)
	}
}

// ends closes the program's input, which ends it well.
func (c *sdkClient) ends(t *testing.T) {
	if err := c.Close(); err != nil {
		t.Errorf("closing: %v", err)
	}
	if s := c.cmd.ProcessState; s == nil || s.ExitCode() != 0 {
		t.Errorf("the program ended with %v", s)
	}
	if c.err.String() != "" {
		t.Errorf("stderr: %s", c.err)
	}
	checkOutput(t, "stdout", c.wire.String())
}
