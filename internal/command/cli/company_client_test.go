package cli

import (
	"bufio"
	"cmp"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
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
	server string // of a client that stops: its one server
	stdin  io.Writer
	stdout chan string // lines
}

func newClient(w *world, who *crowd, r *rand.Rand) *client {
	c := &client{world: w, crowd: who, habits: programs[who.Client]}
	c.http.Transport = &http.Transport{
		DisableKeepAlives: c.fresh,
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			to := w.route(r)
			if c.Stops {
				c.server = cmp.Or(c.server, to)
				to = c.server
			}
			return w.network.dialer("")(ctx, network, to)
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
	for range c.Asks {
		q := &question{crowd: c.crowd, start: time.Now()}
		c.locked(func() {
			q.name = fmt.Sprintf("q%dz", len(c.questions))
			c.questions[q.name] = q
		})
		c.ask(q)
		q.took = time.Since(q.start)
		if q.id != "" && !c.stdio {
			q.stolen = c.steal(q)
		}
		time.Sleep(c.Every)
	}
}

// steal reports whether another person gets the answer to a question, with its id.
func (c *client) steal(q *question) bool {
	other := *c.crowd
	other.Person, other.SignsIn = "erika", false
	thief := newClient(c.world, &other, rand.New(rand.NewPCG(0, 0)))
	defer thief.http.CloseIdleConnections()
	return strings.Contains(thief.request(c.t.Context(), q).text, "END:")
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
		c.send(c.t.Context(), "initialize", `"protocolVersion":"2025-06-18","capabilities":{},`+
			`"clientInfo":{"name":"a","version":"1"}`, "", "")
		fmt.Fprintln(in, `{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	}
	return func() {
		began := time.Now()
		_ = in.Close()
		for range c.stdout {
		}
		<-done
		c.locked(func() { c.slowest = max(c.slowest, time.Since(began)) })
	}
}

// send sends a request with these params, and returns its response. name is that of a tool or the
// id of a task, and trace that of a call.
func (c *client) send(ctx context.Context, method, params, name, trace string) reply {
	meta := `"traceparent":"` + trace + `"`
	if c.Token {
		meta += `,"progressToken":"p"`
	}
	if c.tasks {
		meta += `,"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
			`"io.modelcontextprotocol/clientCapabilities":` +
			`{"extensions":{"io.modelcontextprotocol/tasks":{}}}`
	}
	c.number++
	message := fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":%q,"params":{%s,"_meta":{%s}}}`,
		c.number, method, params, meta)
	if c.stdio {
		return c.sendLine(ctx, message)
	}

	if c.Stops {
		cancellation := fmt.Sprintf(`{"jsonrpc":"2.0","method":"notifications/cancelled",`+
			`"params":{"requestId":%d}}`, c.number)
		defer context.AfterFunc(ctx, func() {
			time.Sleep(time.Millisecond) // what arrives before its call cancels nothing
			resp, err := c.http.Do(c.post(c.t.Context(), cancellation))
			if err == nil {
				_ = resp.Body.Close()
			}
		})()
		ctx = context.WithoutCancel(ctx)
	}
	req := c.post(ctx, message)
	if c.tasks {
		req.Header.Set("Mcp-Protocol-Version", "2026-07-28")
		req.Header.Set("Mcp-Method", method)
		req.Header.Set("Mcp-Name", name)
	}
	r := reply{at: time.Now(), person: c.Person}
	resp, err := c.http.Do(req)
	if err != nil {
		r.err = err
		return r
	}
	defer resp.Body.Close()
	r.status = resp.StatusCode
	c.locked(func() { c.replies = append(c.replies, r) })
	lines := bufio.NewReader(resp.Body)
	for r.err == nil {
		var line string
		line, r.err = lines.ReadString('\n')
		data := strings.TrimPrefix(line, "data: ")
		switch {
		case r.status != 200:
			r.text += line
		case gjson.Get(data, "id").Int() == int64(c.number):
			r.text, r.err = data, nil
			return r
		case c.slow && line != "\n":
			time.Sleep(time.Second)
		}
	}
	if r.text != "" {
		r.err = nil
	}
	return r
}

// post returns an HTTP request with a message.
func (c *client) post(ctx context.Context, message string) *http.Request {
	req := serving.Request(ctx, http.MethodPost, "http://127.0.0.1/mcp", c.bearer(c.crowd), message)
	req.Header.Set("Mcp-Session-Id", fmt.Sprintf("%p", c))
	return req
}

// sendLine is send over stdio.
func (c *client) sendLine(ctx context.Context, message string) reply {
	fmt.Fprintln(c.stdin, message)
	c.locked(func() { c.lines++ })
	for {
		select {
		case line, ok := <-c.stdout:
			switch {
			case !ok:
				return reply{err: io.EOF}
			case gjson.Get(line, "id").Int() == int64(c.number):
				return reply{status: 200, text: line}
			}
		case <-ctx.Done():
			fmt.Fprintf(c.stdin, `{"jsonrpc":"2.0","method":"notifications/cancelled",`+
				`"params":{"requestId":%d}}`+"\n", c.number)
			return reply{err: ctx.Err()}
		}
	}
}

// request asks a question, or for its answer.
func (c *client) request(ctx context.Context, q *question) reply {
	switch {
	case q.id != "" && c.tasks:
		return c.send(ctx, "tasks/get", `"taskId":"`+q.id+`"`, q.id, "")
	case q.id != "":
		return c.send(ctx, "tools/call", `"name":"answer_result","arguments":{"id":"`+q.id+`"}`,
			"answer_result", "")
	}
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
	r := c.send(ctx, "tools/call", `"name":"`+tool+`","arguments":{"query":"`+q.name+` please"}`,
		tool, trace)
	a.end = time.Now()
	return r
}

// ask asks a question until it is answered, as an agent does, or until the client leaves.
func (c *client) ask(q *question) {
	ctx, cancel := context.WithTimeout(c.t.Context(), 4*callTime)
	defer cancel()
	if c.Leaves > 0 {
		stays, leave := context.WithTimeout(ctx, c.Leaves)
		defer leave()
		if c.ends(stays, q) {
			return
		}

		q.left = q.start.Add(c.Leaves)
		q.stopped = q.id == "" || c.tasks && c.Back == 0
		if q.stopped && q.id != "" {
			c.send(ctx, "tasks/cancel", `"taskId":"`+q.id+`"`, q.id, "")
		}
		if q.stopped {
			return
		}
		time.Sleep(c.Back)
	}
	q.gaveUp = !c.ends(ctx, q)
}

// ends goes on with a question, and reports whether it ends before ctx.
func (c *client) ends(ctx context.Context, q *question) bool {
	for {
		began := time.Now()
		r := c.request(ctx, q)
		q.longest = max(q.longest, time.Since(began))
		if ctx.Err() != nil {
			return q.read(r)
		}
		wait := q.next(r)
		if wait < 0 || !sleepContext(ctx, wait) {
			return wait < 0
		}
	}
}

// read reads the answer, if it is there.
func (q *question) read(r reply) bool {
	q.answered = strings.Contains(r.text, "END:"+q.name)
	return q.answered
}

// next returns how long a client waits after a response until it goes on with the question, below 0
// if that is over.
func (q *question) next(r reply) time.Duration {
	result := gjson.Get(r.text, "result")
	late := gjson.Parse(result.Get("content.0.text").Str)
	q.last().waiting = late.Get("status").Str == "waiting"
	refused := r.status != 200 || strings.Contains(r.text, `"too many calls: `)
	switch {
	case q.read(r):
		return -1
	case r.err != nil && len(q.broken) < 20:
		q.broken = append(q.broken, r.err.Error())
		return time.Second
	case r.err == nil && refused && len(q.refused) < 100:
		q.refused = append(q.refused, fmt.Sprint(r.status, " ", r.text))
		return time.Second
	case q.last().waiting && len(q.attempts) < 100:
		return 0
	case late.Get("status").Str == "working":
		q.id = late.Get("id").Str
		return 0
	case result.Get("status").Str == "working":
		q.id = result.Get("taskId").Str
		return 5 * time.Second
	}
	q.text = fmt.Sprint(r.text, r.err)
	return -1
}
