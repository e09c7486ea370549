package llm

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// pipes is a listener without a network, which works in a synctest bubble.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	conn, ok := <-p
	if !ok {
		return nil, net.ErrClosed
	}

	return conn, nil
}

func (p pipes) Close() error {
	close(p)
	return nil
}

func (p pipes) Addr() net.Addr {
	return &net.TCPAddr{}
}

func (p pipes) dial(context.Context, string, string) (net.Conn, error) {
	client, server := net.Pipe()
	p <- server
	return client, nil
}

// newBackground returns a client of a fake API that plays steps, and its log.
func newBackground(
	t testing.TB, retries int, steps string,
) (*Client, *apitest.Server, *bytes.Buffer) {
	t.Helper()
	api, err := apitest.New(strings.Fields(steps)...)
	if err != nil {
		t.Fatal(err)
	}

	listener := make(pipes)
	server := &http.Server{Handler: api}
	go server.Serve(listener)
	t.Cleanup(func() { server.Close() })

	log := &bytes.Buffer{}
	transport := &http.Transport{
		DialContext:       listener.dial,
		DisableKeepAlives: true,
	}

	return newClientOf(testURL, transport, retries, log), api, log
}

// backgroundQuestion is question in the background.
func backgroundQuestion() call.Request {
	request := question()
	request.Background = true
	return request
}

// traffic lists the requests of an API: "POST background", "POST", "GET 4" for a stream after event
// 4, "GET", "cancel". All have the query of the base URL, and GETs the elements of include that the
// API repeats.
func traffic(t testing.TB, api *apitest.Server) []string {
	t.Helper()
	var all []string
	for _, r := range api.Requests() {
		query, err := url.ParseQuery(r.Query)
		if err != nil || query.Get("api-version") != "1" {
			t.Errorf("query = %q (%v)", r.Query, err)
		}

		word := r.Method
		switch {
		case strings.HasSuffix(r.Path, "/cancel"):
			word = "cancel"
		case gjson.GetBytes(r.Body, "background").Bool():
			word = "POST background"
		case query.Get("stream") == "true":
			word = "GET " + query.Get("starting_after")
		}

		all = append(all, word)

		include := query["include[]"]
		if strings.HasPrefix(word, "GET") && !slices.Equal(include, question().Include) {
			t.Errorf("include = %q", include)
		}

		store := gjson.GetBytes(r.Body, "store").Raw
		if store != "false" && store != "" {
			t.Errorf("store = %s", store)
		}
	}

	return all
}

func wantTraffic(t testing.TB, api *apitest.Server, want string) {
	t.Helper()
	wantEqual(t, "requests", strings.Join(traffic(t, api), ", "), want)
}

// eventText is the text of events since the last retry.
func eventText(events []call.Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e := e.(type) {
		case call.BlockDelta:
			b.WriteString(e.Text)
		case call.Retrying:
			b.Reset()
		}
	}

	return b.String()
}

// trace makes a call, and returns its events, its response, and what was sent, "reconnecting" and
// "retrying" in their order.
func trace(
	t *testing.T, cl *Client, api *apitest.Server, request call.Request,
) (events []call.Event, response *call.Response, sent string) {
	t.Helper()
	var words []string
	requests := 0
	add := func(word ...string) {
		all := traffic(t, api)
		words = slices.Concat(words, all[requests:], word)
		requests = len(all)
	}

	c := recorded(&events)
	record := c.Sink
	c.Sink = func(ev call.Event) {
		record(ev)
		switch ev.(type) {
		case call.Reconnecting:
			add("reconnecting")
		case call.Retrying:
			add("retrying")
		}
	}

	response, err := cl.Create(t.Context(), c, request)
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "searches", c.Searches, countSearches(response))
	add()
	return events, response, strings.Join(words, ", ")
}

// A response in the background outlives its connection. Its text comes once.
func TestBackground(t *testing.T) {
	eachRow(t, "background", func(t *testing.T, name string, row []string) {
		steps, want := row[0], row[1]
		cl, api, _ := newBackground(t, 1, steps)
		request := backgroundQuestion()
		request.NoStream = strings.HasPrefix(name, "plain")
		events, response, sent := trace(t, cl, api, request)

		wantEqual(t, "requests", sent, want)

		checkBlocks(t, events)
		last := response.Output[len(response.Output)-1]
		wantEqual(t, "text", eventText(events), last.Content[0].Text)
	})
}

// A response in the background without an id has no name, and cannot be fetched.
func TestNamelessResponse(t *testing.T) {
	cl, api := newClient(0, answer(200, `{"status":"in_progress","background":true}`))
	request := backgroundQuestion()
	request.NoStream = true
	events, _, err := watch(t, cl, request)
	wantKind(t, err, call.KindBadResponse)
	api.wantRequests(t, 1)
	for _, ev := range events {
		if _, named := ev.(call.ResponseNamed); named {
			t.Errorf("named %+v", ev)
		}
	}
}

// A whole answer was streamed, and no GET finds the end of its response. The answer is kept, and what
// the API has reported counts once.
func TestStreamedAnswer(t *testing.T) {
	stream := sseStep(
		`{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","background":true}}`,
		`{"type":"response.output_item.done","sequence_number":1,"output_index":0,"item":{"type":"web_search_call",`+
			`"id":"ws","status":"completed","action":{"type":"search","query":"q"}}}`,
		`{"type":"response.output_item.done","sequence_number":2,"output_index":1,"item":{"type":"message","id":"m",`+
			`"status":"completed","content":[{"type":"output_text","text":"Yes."}]}}`)
	for cancel, want := range map[string]string{
		`{"id":"resp_1","status":"cancelled","usage":{"input_tokens":5},"tool_usage":{"web_search":{"num_requests":1}}}`: "5 1",
		`{"id":"resp_1","status":"cancelled","usage":{"input_tokens":5}}`:                                                "5 1",
		`{"id":"resp_1","status":"cancelled"}`:                                                                           "0 1",
	} {
		bubble(t, cancel, func(t *testing.T) {
			fails := answer(500, "")
			cl, _ := newClient(0, stream, fails, fails, fails, fails, answer(200, cancel), answer(200, cancel))
			c := &call.Call{}
			_, err := cl.Create(within(t, 10*time.Second), c, backgroundQuestion())
			wantSuccess(t, err)
			wantEqual(t, "tokens, searches", fmt.Sprint(c.Usage.Input, c.Searches), want)
		})
	}
}

// The waits start anew after progress, and are as long as the API asks for. One that is too long is
// cut.
func TestReconnectWaits(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Steps string
		Least, Most float64 // seconds
	}](t, "reconnect-waits") {
		bubble(t, tt.Name, func(t *testing.T) {
			cl, _, _ := newBackground(t, 0, tt.Steps)
			start := time.Now()
			_, err := cl.Create(within(t, 30*time.Second), &call.Call{}, backgroundQuestion())
			wantSuccess(t, err)

			got := time.Since(start).Seconds()
			if got < tt.Least || got > tt.Most {
				t.Errorf("took %v s, want %v to %v", got, tt.Least, tt.Most)
			}
		})
	}
}

// Wherever the stream is cut, the events are those of a whole one, apart from the numbers in ids.
func TestCutAnywhere(t *testing.T) {
	number := regexp.MustCompile(`_0ff11e[0-9a-f]+`)
	ask := func(t *testing.T, step string) (events, sent string) {
		cl, api, _ := newBackground(t, 0, step)
		request := backgroundQuestion()
		request.ReasoningSummary = "auto"
		all, response, sent := trace(t, cl, api, request)
		return number.ReplaceAllString(script(all, response), ""), sent
	}

	whole := ""
	bubble(t, "whole", func(t *testing.T) {
		whole, _ = ask(t, "search")
	})

	for n := 1; n < 60; n++ {
		bubble(t, strconv.Itoa(n), func(t *testing.T) {
			events, sent := ask(t, fmt.Sprintf("search+cut-after=%d", n))
			want := fmt.Sprintf("POST background, reconnecting, GET %d", n-1)
			wantEqual(t, "requests", sent, want)

			events = strings.Replace(events, "call.Reconnecting {}\n", "", 1)
			wantEqual(t, "events", events, whole)
		})
	}
}

// A call that ends early cancels its response, once the API has named it. What the API says that
// the response has used counts; what it does not say is unknown. At the time limit a response that
// is complete is the answer.
func TestEarlyEnd(t *testing.T) {
	causes := map[string]error{
		"cancelled":  context.Canceled,
		"time limit": context.DeadlineExceeded,
		"answered":   context.DeadlineExceeded,
		"shutdown":   call.KindShutdown.Errorf("shutdown"),
		"detached":   call.ErrLeaveAtAPI,
		"connection": io.ErrUnexpectedEOF,
	}
	eachRow(t, "early-end", func(t *testing.T, name string, row []string) {
		cause, steps, want, seconds, used := causes[row[0]], row[1], row[2], row[3], row[4]
		cl, api, _ := newBackground(t, 1, steps)
		start := time.Now()
		var events []call.Event
		c := recorded(&events)
		ctx := endsAfter(t, 10*time.Second, cause)
		if row[0] == "connection" { // and no time is left to ask again
			ctx = within(t, time.Millisecond)
		}
		request := backgroundQuestion()
		request.NoStream = strings.HasPrefix(name, "plain")
		response, err := cl.Create(ctx, c, request)

		if row[0] == "answered" {
			cause = nil
		}
		if err == nil {
			last := response.Output[len(response.Output)-1]
			wantEqual(t, "text", eventText(events), last.Content[0].Text)
		}
		checkBlocks(t, events)
		wantCause(t, err, cause)
		wantTraffic(t, api, want)
		wantEqual(t, "seconds", fmt.Sprint(time.Since(start).Seconds()), seconds)
		got := fmt.Sprint(c.Usage.Total, c.Searches, c.UnreportedRequests, c.UnreportedBegun)
		wantEqual(t, "tokens, searches, unknown requests, begun ones", got, used)
	})
}

// What counts of a response that was cancelled is the usage of one that has ended.
func TestCancelledUsage(t *testing.T) {
	eachRow(t, "cancelled-usage", func(t *testing.T, _ string, row []string) {
		cancel, get, want := row[0], row[1], row[2]
		steps := slices.Concat(played("begun"), []step{answer(200, cancel), answer(200, get)})
		cl, api := newClient(0, steps...)
		c := &call.Call{}
		_, err := cl.Create(endsAfter(t, time.Second, context.Canceled), c, backgroundQuestion())
		wantCause(t, err, context.Canceled)
		got := fmt.Sprint(len(api.sent), c.Usage.Input+c.Usage.Output, c.Searches)
		wantEqual(t, "requests, tokens, searches", got, want)
		wantEqual(t, "requests after the end", api.late, 0)
	})

	bubble(t, "the API says not to ask again", func(t *testing.T) {
		steps := append(played("begun"), answer(503, "", "X-Should-Retry", "false"))
		cl, api := newClient(0, steps...)
		ctx := endsAfter(t, time.Second, context.Canceled)
		_, err := cl.Create(ctx, &call.Call{}, backgroundQuestion())
		wantCause(t, err, context.Canceled)
		api.wantRequests(t, len(steps))
	})
}

// Three calls that are stopped after 2 s leave a person able to ask, also where the API does not
// say what they have used.
func TestStops(t *testing.T) {
	eachRow(t, "stops", func(t *testing.T, _ string, row []string) {
		steps, atOnce := row[1], row[2]
		cl, _, _ := newBackground(t, 0, "always "+steps)
		request := question()
		request.Background = row[0] == "background"
		request.NoStream = row[0] == "plain"
		b := budget.New(budget.Options{Limits: budget.Limits{TokensPerDay: 1_000_000}})
		take := func() (*call.Call, *budget.Taken, error) {
			c := &call.Call{Tool: "answer_detailed"}
			taken, err := b.Take(c)
			return c, taken, err
		}

		for range 3 {
			c, taken, err := take()
			wantSuccess(t, err)
			_, err = cl.Create(endsAfter(t, 2*time.Second, context.Canceled), c, request)
			wantCause(t, err, context.Canceled)
			taken.Settle(c, budget.End{})
		}

		passed := -1
		var err error
		for ; err == nil; passed++ {
			_, _, err = take()
		}
		wantEqual(t, "calls at once afterwards", fmt.Sprint(passed), atOnce)
	})
}

// What a call learns about background holds for the calls after it. There is one warning.
func TestBackgroundMemory(t *testing.T) {
	eachRow(t, "background-memory", func(t *testing.T, _ string, row []string) {
		steps, want := row[0], row[1]
		cl, api, log := newBackground(t, 1, steps)
		for range 2 {
			_, err := create(t, cl, backgroundQuestion())
			if err != nil {
				wantKind(t, err, call.KindBadRequest)
			}
		}

		wantTraffic(t, api, want)
		wantWarnings(t, log, 1)
	})
}

// played returns the steps that a row of a table names.
func played(names string) (steps []step) {
	const (
		created = `{"type":"response.created","sequence_number":0,
			"response":{"id":"resp_1","background":true}}`
		ye = `{"type":"response.output_text.delta","sequence_number":1,"item_id":"m","delta":"Ye"}`
		s  = `{"type":"response.output_text.delta","sequence_number":2,"item_id":"m","delta":"s."}`
	)
	completed := `{"type":"response.completed","sequence_number":3,"response":` + finished + `}`
	encrypted := func(body, anew string) string {
		return strings.Replace(body, "resp_1", "resp_"+strings.Repeat(anew, 200), 1)
	}
	byName := map[string]step{
		"half":    sseStep(created, ye, `{"type":"keepalive"}`),
		"whole":   sseStep(created, ye, s, completed),
		"object":  succeed,
		"other":   answer(200, strings.Replace(finished, "resp_1", "resp_2", 1)),
		"half-a":  sseStep(encrypted(created, "a"), ye),
		"b":       answer(200, encrypted(finished, "b")),
		"page":    answer(200, "<html>"),
		"403":     answer(403, "<html>"),
		"too-old": answer(400, `{"error":{"message":"too old"}}`),
		"words":   answer(400, `{"error":{"message":"background can only be used with store"}}`),
		"begun":   hangs(sseStep(created)),
		"more":    hangs(sseStep(ye)),
		"part":    hangs(answer(200, finished[:20])),
		"silent":  silent,
		"nothing": connected(sseStep()),
		"broken":  connected(broken(io.ErrUnexpectedEOF)),
		"refused": broken(syscall.ECONNREFUSED),
		"wait":    answer(429, rateLimited, "Retry-After", "60"),
		"limited": answer(429, rateLimited),
		"busy":    answer(409, "", "Retry-After", "60"),
	}
	for name := range strings.FieldsSeq(names) {
		next := byName[name]
		if next == nil {
			status, _ := strconv.Atoi(name)
			next = answer(status, "")
		}
		steps = append(steps, next)
	}
	return steps
}

// silentBody is a body, or the rest of one, that never comes.
type silentBody struct{ ctx context.Context }

func (b silentBody) Read([]byte) (int, error) {
	<-b.ctx.Done()
	return 0, b.ctx.Err()
}

// hangs is a step whose answer stops.
func hangs(next step) step {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := next(req)
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, silentBody{req.Context()}))
		return resp, err
	}
}

// open is a step whose body does not end until the context of its request does.
func open(s step) step {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := s(req)
		rest, end := io.Pipe()
		context.AfterFunc(req.Context(), func() { _ = end.CloseWithError(req.Context().Err()) })
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, rest))
		return resp, err
	}
}

// An error whose body does not end is the error, and a temporary one is retried.
func TestOpenErrorBody(t *testing.T) {
	for status, want := range map[int]int{401: 1, 429: 2, 503: 2} {
		bubble(t, fmt.Sprint(status), func(t *testing.T) {
			client, api := newClient(1, open(answer(status, apiBody("", "", "", "no"))))
			_, err := create(t, client, question())
			e := asError(t, err)
			wantEqual(t, "status, message", fmt.Sprint(e.Status, e.Message), fmt.Sprint(status, "no"))
			api.wantRequests(t, want)
		})
	}
}

// silent is a step without an answer.
func silent(req *http.Request) (*http.Response, error) {
	<-req.Context().Done()
	return nil, req.Context().Err()
}

// Servers that send all events again, an event without a number, or no stream. A connection that
// says nothing is given up: the answer comes on another one.
func TestOtherStreams(t *testing.T) {
	eachRow(t, "other-streams", func(t *testing.T, _ string, row []string) {
		steps := played(row[0])
		cl, api := newClient(1, steps...)
		began := time.Now()
		events, _, err := watch(t, cl, backgroundQuestion())
		wantSuccess(t, err)
		wantEqual(t, "text", eventText(events), "Yes.")

		api.wantRequests(t, len(steps))
		isGET := func(params map[string]any) bool { return params == nil }
		posts := slices.DeleteFunc(api.sent, isGET)
		wantEqual(t, "POSTs", fmt.Sprint(len(posts)), row[1])
		silence, _ := time.ParseDuration(row[2])
		waits := time.Since(began) - silence
		if waits < 0 || waits > 10*time.Second {
			t.Errorf("the waits took %v", waits)
		}
	})

	bubble(t, "in the foreground", func(t *testing.T) {
		cl, api := newClient(0, played("begun")...)
		_, err := cl.Create(within(t, 5*time.Minute), &call.Call{}, question())
		wantKind(t, err, call.KindTimeout)
		api.wantRequests(t, 1)
	})
}

// What is not of the API about this response does not end a call: it asks again.
func TestStrangeGet(t *testing.T) {
	eachRow(t, "strange", func(t *testing.T, _ string, row []string) {
		status, _ := strconv.Atoi(row[0])
		strange := answer(status, row[2], "Location", row[1])
		running := answer(200, `{"id":"resp_1","status":"in_progress","background":true}`)
		cl, api := newClient(0, running, running, strange, strange, succeed)
		request := backgroundQuestion()
		request.NoStream = true
		_, err := create(t, cl, request)
		wantSuccess(t, err)
		api.wantRequests(t, 5)
	})
}

// The state of a response counts, also if the context of its GET ends once it is read.
func TestEndOfGet(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	failed := answer(200, `{"status":"failed","error":{"code":"invalid_prompt","message":"No."}}`)
	cl, _ := newClient(0, func(req *http.Request) (*http.Response, error) {
		resp, err := failed(req)
		resp.Body = endingBody{resp.Body, end}
		return resp, err
	})
	r, err := cl.Get(ctx, &call.Call{}, "resp_1", "gpt-5.2", nil, true)
	wantSuccess(t, err)
	wantKind(t, r.Failure, call.KindFiltered)
}

// If the API refuses the include of a GET, the GET goes without it. The request is not made again
// without it, not even if all GETs fail.
func TestRefusedInclude(t *testing.T) {
	cancelled := false
	refuse := func(req *http.Request) (*http.Response, error) {
		isCancel := strings.HasSuffix(req.URL.Path, "/cancel")
		wantEqual(t, "a second question", req.Method == http.MethodPost && !isCancel, false)
		cancelled = cancelled || isCancel
		return answer(400, `{"error":{"message":"No.","param":"include"}}`)(req)
	}
	withoutInclude := func(req *http.Request) (*http.Response, error) {
		wantEqual(t, "query", req.URL.RawQuery, "api-version=1")
		return succeed(req)
	}
	include := []string{"web_search_call.action.sources"}
	cl, api := newClient(0, refuse, withoutInclude)
	r, err := cl.Get(t.Context(), &call.Call{}, "resp_1", "gpt-5.2", include, true)
	wantEqual(t, "outcome", meaning(t, r, err), "completed: Yes.")
	api.wantRequests(t, 2)

	begun := answer(200, `{"id":"resp_1","status":"queued","background":true}`)
	strict := func(req *http.Request) (*http.Response, error) {
		if req.URL.Query().Has("include[]") {
			return refuse(req)
		}
		return succeed(req)
	}
	lost := answer(404, `{"error":{"message":"Not found."}}`)
	for name, tt := range map[string]struct {
		steps []step
		want  string
	}{
		"refused":           {[]step{refuse, withoutInclude}, "completed: Yes."},
		"lost":              {[]step{refuse, lost, lost, succeed}, "completed: Yes."},
		"after a failure":   {[]step{refuse, answer(503, ""), strict, strict}, "completed: Yes."},
		"refused for ever":  {slices.Repeat([]step{refuse}, 50), "parameter: No."},
		"at the time limit": {[]step{silent, answer(400, ""), refuse, withoutInclude}, "completed: Yes."},
	} {
		bubble(t, name, func(t *testing.T) {
			cancelled = false
			cl, _ := newClient(3, slices.Insert(tt.steps, 0, begun)...)
			r, err := cl.Create(within(t, 4*time.Second), &call.Call{}, backgroundQuestion())
			wantEqual(t, "outcome", meaning(t, r, err), tt.want)
			wantEqual(t, "cancelled", cancelled, err != nil)
		})
	}
}

// If GETs say until the time limit that the model has no background, the request is made again in
// the foreground.
func TestBackgroundRefusedByGET(t *testing.T) {
	refuse := answer(400, `{"error":{"message":"No.","param":"background"}}`)
	steps := slices.Repeat([]step{func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodPost && !strings.HasSuffix(req.URL.Path, "/cancel") {
			return succeed(req)
		}
		return refuse(req)
	}}, 50)
	bubble(t, "", func(t *testing.T) {
		begun := answer(200, `{"id":"resp_1","status":"queued","background":true}`)
		cl, _ := newClient(3, slices.Insert(steps, 0, begun)...)
		r, err := cl.Create(within(t, 4*time.Second), &call.Call{}, backgroundQuestion())
		wantEqual(t, "outcome", meaning(t, r, err), "completed: Yes.")
	})
}

// A cancellation is repeated once after a temporary failure. After a 400 the response has ended.
func TestCancel(t *testing.T) {
	for want, steps := range map[string][]step{
		"0 after 2":   {answer(500, ""), succeed},
		"503 after 2": {answer(500, ""), answer(503, ""), succeed},
		"404 after 1": {answer(404, ""), succeed},
		"0 after 1":   {answer(400, ""), succeed},
	} {
		bubble(t, want, func(t *testing.T) {
			cl, api := newClient(0, steps...)
			err := cl.Cancel(t.Context(), &call.Call{}, "resp_1")
			status := 0
			if err != nil {
				status = asError(t, err).Status
			}
			wantEqual(t, "status", fmt.Sprintf("%d after %d", status, len(api.sent)), want)
		})
	}
}

// endingBody is a body that ends a context when it is closed.
type endingBody struct {
	io.Reader
	end context.CancelFunc
}

func (b endingBody) Close() error {
	b.end()
	return nil
}
