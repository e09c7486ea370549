package server

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	secret = "Zq7XbT0wPl94mKfR8uHs"
	limit  = 5 * time.Minute // of a call
)

// figures are the Meta of the answers of research.
var figures = answer.Meta{
	Reported:   call.Reported{Usage: call.Usage{Input: 3, Total: 5}, Searches: 2},
	ResponseID: "resp_" + secret,
	Queries:    []string{strings.Repeat("q", maxStepChars+1)},
	FollowUp:   "answer",
}

// cited is the page that they cite.
var cited = cite.Citation{URL: "https://a.example/", IsAccessDate: true}

// research answers a question with its own text after a minute. Some first words change that:
//
//	brief    after a second
//	instant  at once, and the API names the response
//	named    the API names the response after a second
//	unsent   an error before anything was sent
//	fail     an error of the API at once; "fail late" after a minute
//	panic    a panic
//
// With the second word "large", the answer has 10 MiB.
func research(
	ctx context.Context, c *call.Call, q answer.Question,
) (*answer.Answer, error) {
	duration := time.Minute
	word, second, _ := strings.Cut(q.Query, " ")
	if word == "unsent" {
		return nil, &call.APIError{Kind: call.KindAuth, Status: 401}
	}
	c.Requests = 1
	switch word {
	case "brief":
		duration = time.Second
	case "fail":
		if second == "late" {
			time.Sleep(duration)
		}
		return nil, &call.APIError{
			Kind:      call.KindServer,
			Status:    503,
			Type:      "t" + secret,
			Message:   secret,
			RequestID: "req",
			Attempts:  3,
		}
	case "panic":
		panic("bug")
	case "instant":
		c.Emit(call.ResponseNamed{ID: "resp_1"})
		duration = 0
	case "named": // by the API
		time.Sleep(time.Second)
		c.Emit(call.ResponseNamed{ID: "resp_1"})
	}
	c.Emit(call.Search{Action: "search", Query: "a"})

	a := &answer.Answer{Text: q.Query, Citations: []cite.Citation{cited}, Model: "<m>", Meta: figures}
	if second == "large" {
		a.Text = strings.Repeat("x", 10<<20)
	}
	select {
	case <-time.After(duration):
		return a, nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// running returns how many calls run.
func (s *Server) running() int {
	_, n, _ := s.options.People.Counts()
	return n
}

// newServer returns a server in debug, and where it puts the calls observed.
func newServer(changes ...func(*Options)) (*Server, *[]CallEnd) {
	var calls []CallEnd
	var mu sync.Mutex
	o := Options{
		Ask:      research,
		Explain:  func(_ string, err error) string { return err.Error() },
		Redactor: redact.New(secret),
		Settings: Settings{Debug: true, Timeout: limit},
		People:   people.New(people.Bounds{MaxCalls: 1}),
		Observe: func(ended CallEnd) {
			mu.Lock()
			defer mu.Unlock()
			calls = append(calls, ended)
		},
		Log: slog.New(slog.DiscardHandler),
	}

	for _, change := range changes {
		change(&o)
	}
	return New(o), &calls
}

// The _meta of requests: of a client with tasks, one without, and one of 2025-06-18.
const (
	stateless    = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	capabilities = `"io.modelcontextprotocol/clientCapabilities":`
	extension    = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

	withTasks    = `{` + stateless + `,` + capabilities + extension + `}`
	withoutTasks = `{` + stateless + `,` + capabilities + `{}}`
	initialized  = `{` + capabilities + extension + `}`
)

// withProgress is the _meta of a request whose client wants its progress.
func withProgress(meta string) string {
	return strings.Replace(meta, "{", `{"progressToken":1,`, 1)
}

// withoutLimit takes tasks and any number of calls.
func withoutLimit(o *Options) {
	o.Detach.OffersTasks = true
	o.People.Bounds.MaxCalls = 2000
}

// peer is the client's side of a session.
type peer struct {
	*testing.T
	server *Server
	in     io.Writer
	out    *bufio.Reader
	calls  *[]CallEnd              // that were observed
	end    context.CancelCauseFunc // of the calls of the session
	sent   int                     // requests
}

// inSession runs a test in a session, which ends with the test.
func inSession(t *testing.T, test func(p *peer), changes ...func(*Options)) {
	synctest.Test(t, func(t *testing.T) { test(newPeer(t, changes...)) })
}

// newPeer starts a server and a session with it, which end with the test.
func newPeer(t *testing.T, changes ...func(*Options)) *peer {
	ctx, cancel := context.WithCancel(t.Context())
	s, calls := newServer(append([]func(*Options){withoutLimit}, changes...)...)
	in, input := io.Pipe()
	output, out := io.Pipe()
	t.Cleanup(func() {
		s.Close()
		cancel()
		input.Close()
	})
	session, end := context.WithCancelCause(ctx)
	go s.SDKServer(session, call.Person{}).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
	return &peer{T: t, server: s, in: input, out: bufio.NewReader(output), calls: calls, end: end}
}

// initialize begins a session of 2025-06-18.
func (p *peer) initialize() {
	p.Helper()
	r := p.request("initialize", `{}`, `"protocolVersion":"2025-06-18","capabilities":{},`+
		`"clientInfo":{"name":"x","version":"1"}`)
	p.want(r, `"capabilities":{"tools":{}}`)
}

// write sends a message.
func (p *peer) write(message string) {
	p.Helper()
	if _, err := fmt.Fprintln(p.in, message); err != nil {
		p.Fatal(err)
	}
}

// receive returns the next result, or {"error": …}.
func (p *peer) receive() gjson.Result {
	p.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		p.Fatal(err)
	}
	if r := gjson.Get(line, "result"); r.Exists() {
		return r
	}
	return gjson.Parse(line)
}

// send sends a request.
func (p *peer) send(method, meta, params string) {
	p.Helper()
	p.sent++
	const format = `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"_meta":%s,%s}}`
	p.write(fmt.Sprintf(format, p.sent, method, meta, params))
}

// request sends a request and returns its result.
func (p *peer) request(method, meta, params string) gjson.Result {
	p.Helper()
	p.send(method, meta, params)
	return p.receive()
}

// call calls the tool detailed.
func (p *peer) call(meta, query string) gjson.Result {
	p.Helper()
	return p.request("tools/call", meta, detailedCall(query))
}

// messages returns the messages about a request, and its result.
func (p *peer) messages() (all []string, result gjson.Result) {
	p.Helper()
	for {
		r := p.receive()
		if !r.Get("method").Exists() {
			return all, r
		}
		all = append(all, r.Get("params.message").Str)
	}
}

// Parameters of requests.
func answerCall(query string) string {
	return fmt.Sprintf(`"name":"answer","arguments":{"query":%q}`, query)
}

func detailedCall(query string) string {
	return strings.Replace(answerCall(query), "answer", detailed, 1)
}

func byID(id string) string { return fmt.Sprintf(`"taskId":%q`, id) }

// start begins a task and returns its id.
func (p *peer) start(query string) string {
	p.Helper()
	return p.call(withTasks, query).Get("taskId").Str
}

// task sends a request about a task.
func (p *peer) task(method, id string) gjson.Result {
	p.Helper()
	return p.request("tasks/"+method, withTasks, byID(id))
}

// want checks parts of a result.
func (p *peer) want(r gjson.Result, parts ...string) {
	p.Helper()
	for _, part := range parts {
		compare.Contains(p, "result", r.Raw, part)
	}
}

// wantTask checks parts of what tasks/get says.
func (p *peer) wantTask(id string, parts ...string) gjson.Result {
	p.Helper()
	r := p.task("get", id)
	p.want(r, parts...)
	return r
}
