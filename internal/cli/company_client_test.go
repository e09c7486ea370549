package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// habits are those of a client program.
type habits struct {
	fresh bool // a connection for each request
	slow  bool // reads a line a second
	tasks bool // the protocol of 2026-07-28, with tasks
	stdio bool // a process of its own
}

// programs are the client programs of people.
var programs = map[string]habits{
	"":                {},
	"new connections": {fresh: true},
	"slow":            {slow: true},
	"tasks":           {fresh: true, tasks: true},
	"stdio":           {stdio: true},
	"stdio and tasks": {stdio: true, tasks: true},
}

// client is a program of a person.
type client struct {
	*world
	*crowd
	habits
	number int // of the last message
	http   http.Client
	stdin  io.Writer
	stdout chan string // lines
}

func newClient(w *world, who *crowd, r *rand.Rand) *client {
	c := &client{world: w, crowd: who, habits: programs[who.client]}
	c.http.Transport = &http.Transport{
		DisableKeepAlives: c.fresh,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return w.network.dialer("")(ctx, network, w.route(r))
		},
	}
	return c
}

// run asks the questions of a client, one after the other.
func (c *client) run() {
	defer c.http.CloseIdleConnections()
	if c.stdio {
		defer c.process()()
	}
	for range c.asks {
		q := &question{crowd: c.crowd, start: time.Now()}
		c.locked(func() {
			q.name = fmt.Sprintf("q%dz", len(c.questions))
			c.questions[q.name] = q
		})
		c.ask(q)
		q.took = time.Since(q.start)
		time.Sleep(c.every)
	}
}

// process starts a process for stdio. EOF ends it.
func (c *client) process() (end func()) {
	stdin, in := io.Pipe()
	out, stdout := io.Pipe()
	c.stdin, c.stdout = in, make(chan string)
	done := make(chan struct{})
	go func() {
		c.program(c.t.Context(), "stdio", stdin, stdout, "--stdio")
		_ = stdin.Close()
		_ = stdout.Close()
		close(done)
	}()
	go func() {
		lines := bufio.NewReader(out)
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				close(c.stdout)
				return
			}
			c.stdout <- line
		}
	}()
	if !c.tasks {
		_, _, _ = c.send(c.t.Context(), "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"a","version":"1"}}`, "")
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return func() {
		began := time.Now()
		_ = in.Close()
		for range c.stdout {
		}
		<-done
		c.locked(func() { c.ended["stdio"] = max(c.ended["stdio"], time.Since(began)) })
	}
}

// send sends a request, and returns its response.
func (c *client) send(ctx context.Context, method, params, name string) (gjson.Result, int, error) {
	c.number++
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`, c.number, method, params)
	if c.stdio {
		return c.sendLine(ctx, message)
	}
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://127.0.0.1/mcp", strings.NewReader(message))
	req.Header.Set("Authorization", "Bearer "+c.bearer(c.crowd))
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")
	if c.tasks {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		req.Header.Set("Mcp-Name", name)
	}
	sent := time.Now()
	resp, err := c.http.Do(req)
	if err != nil {
		return gjson.Result{}, 0, err
	}
	defer resp.Body.Close()
	r := reply{at: sent, person: c.person, status: resp.StatusCode}
	if resp.StatusCode != 200 {
		data, _ := io.ReadAll(resp.Body)
		r.text = string(data)
	}
	c.locked(func() { c.replies = append(c.replies, r) })
	if r.text != "" {
		return gjson.Result{Raw: r.text}, r.status, nil
	}
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n')
		data := strings.TrimPrefix(line, "data: ")
		if gjson.Get(data, "id").Int() == int64(c.number) {
			return gjson.Parse(data), 200, nil
		}
		if err != nil {
			return gjson.Result{}, 0, fmt.Errorf("no result: %w", err)
		}
		if c.slow && line != "\n" {
			time.Sleep(time.Second)
		}
	}
}

// sendLine is send over stdio.
func (c *client) sendLine(ctx context.Context, message string) (gjson.Result, int, error) {
	fmt.Fprintln(c.stdin, message)
	for {
		select {
		case line, ok := <-c.stdout:
			switch {
			case !ok:
				return gjson.Result{}, 0, io.EOF
			case gjson.Get(line, "id").Int() == int64(c.number):
				return gjson.Parse(line), 200, nil
			}
		case <-ctx.Done():
			fmt.Fprintf(c.stdin, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`+"\n",
				c.number)
			return gjson.Result{}, 0, ctx.Err()
		}
	}
}

// params are those of a message about a question, with its trace.
func (c *client) params(members, trace string) string {
	meta := ""
	if trace != "" {
		meta += fmt.Sprintf(`,"traceparent":%q`, trace)
	}
	if c.token {
		meta += `,"progressToken":"p"`
	}
	if c.tasks {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":` +
			`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	return fmt.Sprintf(`{%s,"_meta":{%s}}`, members, strings.TrimPrefix(meta, ","))
}

// call calls a tool with a question.
func (c *client) call(ctx context.Context, q *question) (r gjson.Result, status int, err error) {
	a := &attempt{question: q, start: time.Now()}
	var trace string
	c.locked(func() {
		trace = fmt.Sprintf("00-%032x-%016x-01", len(c.attempts)+1, 1)
		c.attempts[trace] = a
		q.attempts = append(q.attempts, a)
	})
	tool := "answer"
	if c.tasks {
		tool = "answer_detailed"
	}
	members := fmt.Sprintf(`"name":%q,"arguments":{"query":"%s please"}`, tool, q.name)
	r, status, err = c.send(ctx, "tools/call", c.params(members, trace), tool)
	a.end = time.Now()
	return r, status, err
}

// ask asks a question until it is answered, as an agent does.
func (c *client) ask(q *question) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*callTime)
	defer cancel()
	stays, leave := ctx, func() {}
	if c.leaves > 0 {
		stays, leave = context.WithTimeout(ctx, c.leaves)
		defer leave()
	}
	result, poll := "answer_result", `"name":"answer_result","arguments":{"id":%q}`
	for {
		var r gjson.Result
		var status int
		var err error
		switch {
		case q.id == "":
			r, status, err = c.call(stays, q)
		case c.tasks:
			_ = sleepContext(stays, 5*time.Second)
			r, status, err = c.send(stays, "tasks/get", c.params(fmt.Sprintf(`"taskId":%q`, q.id), ""), q.id)
		default:
			r, status, err = c.send(stays, "tools/call", c.params(fmt.Sprintf(poll, q.id), ""), result)
		}
		content := gjson.Parse(r.Get("result.content.0.text").Str)
		last := q.attempts[len(q.attempts)-1]
		switch {
		case ctx.Err() != nil:
			q.never = true
		case stays.Err() != nil && strings.Contains(r.Raw, "END:"+q.name):
			q.answered = true
		case stays.Err() != nil:
			q.left = q.start.Add(c.leaves)
			stays = ctx
			q.stopped = q.id == "" || c.tasks && c.back == 0
			if q.stopped && q.id != "" {
				_, _, _ = c.send(ctx, "tasks/cancel", c.params(fmt.Sprintf(`"taskId":%q`, q.id), ""), q.id)
			}
			if q.stopped {
				break
			}
			time.Sleep(c.back)
			continue
		case err != nil && len(q.broken) < 20:
			q.broken = append(q.broken, err.Error())
			_ = sleepContext(stays, time.Second)
			continue
		case status != 200 && len(q.refused) < 100:
			q.refused = append(q.refused, fmt.Sprint(status, " ", r.Raw))
			_ = sleepContext(stays, time.Second)
			continue
		case content.Get("status").Str == "waiting":
			last.result = "waiting"
			continue
		case content.Get("status").Str == "working":
			q.id = content.Get("id").Str
			continue
		case r.Get("result.status").Str == "working":
			q.id = r.Get("result.taskId").Str
			continue
		case strings.Contains(r.Raw, "END:"+q.name):
			q.answered = true
		}
		q.text = r.Raw
		if err != nil {
			q.text += err.Error()
		}
		return
	}
}
