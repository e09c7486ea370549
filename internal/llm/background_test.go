package llm

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
)

// memory connects a client to a handler without a network, so that it works in a synctest bubble.
type memory struct{ http.Handler }

// connection is the answer of a handler.
type connection struct {
	http.ResponseWriter               // the header
	headers             chan struct{} // closed when there is a status
	status              int
	body                *io.PipeWriter
}

func (c *connection) Flush() {}

func (c *connection) WriteHeader(status int) {
	if c.status == 0 {
		c.status = status
		close(c.headers)
	}
}

func (c *connection) Write(b []byte) (int, error) {
	c.WriteHeader(http.StatusOK)
	if len(b) == 0 {
		return 0, nil
	}
	return c.body.Write(b)
}

func (m memory) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body == nil {
		req.Body = http.NoBody
	}
	body, writer := io.Pipe()
	c := &connection{
		ResponseWriter: httptest.NewRecorder(),
		headers:        make(chan struct{}),
		body:           writer,
	}
	stop := context.AfterFunc(req.Context(), func() { body.CloseWithError(req.Context().Err()) })
	failed := make(chan error, 1)
	go func() {
		defer stop()
		defer func() {
			err := error(nil)
			if recover() != nil {
				err = io.ErrUnexpectedEOF
			}
			writer.CloseWithError(err)
			if c.status == 0 {
				failed <- err
			}
		}()
		m.ServeHTTP(c, req)
	}()

	select {
	case <-c.headers:
		return &http.Response{
			StatusCode: c.status,
			Header:     c.Header(),
			Body:       body,
			Request:    req,
		}, nil
	case err := <-failed:
		return nil, err
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
}

// newBackground returns a client of a fake API that plays steps, and its log.
func newBackground(t testing.TB, retries int, steps ...string) (*Client, *fakeapi.Server, *bytes.Buffer) {
	t.Helper()
	api, err := fakeapi.New(steps...)
	if err != nil {
		t.Fatal(err)
	}
	log := &bytes.Buffer{}
	return New(Options{
		BaseURL:    "http://api.test/v1?api-version=1",
		APIKey:     testKey,
		MaxRetries: retries,
		Redactor:   redact.New(testKey),
		HTTPClient: &http.Client{Transport: memory{api}},
		Logger:     slog.New(slog.NewTextHandler(log, nil)),
	}), api, log
}

// backgroundQuestion is question in the background.
func backgroundQuestion() Request {
	r := question()
	r.Background = true
	return r
}

// traffic lists the requests of an API: "POST background", "POST", "GET 4" for a stream after event
// 4, "GET", "cancel".
func traffic(t testing.TB, api *fakeapi.Server) string {
	t.Helper()
	var all []string
	for _, r := range api.Requests() {
		query, err := url.ParseQuery(r.Query)
		if err != nil {
			t.Error(err)
		}
		body := gjson.ParseBytes(r.Body)

		word := r.Method
		switch {
		case strings.HasSuffix(r.Path, "/cancel"):
			word = "cancel"
		case body.Get("background").Bool():
			word = "POST background"
		case query.Get("stream") == "true":
			word = "GET " + query.Get("starting_after")
		}
		all = append(all, word)

		if r.Method == http.MethodPost && word != "cancel" && body.Get("store").Raw != "false" {
			t.Errorf("store = %s", body.Get("store").Raw)
		}
	}
	return strings.Join(all, ", ")
}

func wantTraffic(t testing.TB, api *fakeapi.Server, want string) {
	t.Helper()
	got := traffic(t, api)
	if got != want {
		t.Errorf("requests:\n got %s\nwant %s", got, want)
	}
}

// textOf is the text of events since the last retry.
func textOf(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		switch e := e.(type) {
		case BlockDelta:
			b.WriteString(e.Text)
		case Retrying:
			b.Reset()
		}
	}
	return b.String()
}

// count counts the events of a type.
func count[T Event](events []Event) (n int) {
	for _, e := range events {
		_, ok := e.(T)
		if ok {
			n++
		}
	}
	return n
}

// A response in the background outlives its connection. Its text comes once.
func TestBackground(t *testing.T) {
	for _, tt := range []struct {
		name       string
		steps      string
		want       string // the requests
		reconnects int
		retries    int
		warnings   int
	}{
		{"not cut", "ok", "POST background", 0, 0, 0},
		{"cut", "cut-after=5", "POST background, GET 4", 1, 0, 0},
		{"cut before the id", "cut-after=0 ok", "POST background, POST background", 0, 1, 0},
		{"cut after the id", "cut-after=1", "POST background, GET 0", 1, 0, 0},
		{
			"cut again and again",
			"always cut-after=9",
			"POST background, GET 8, GET 17, GET 26",
			3, 0, 0,
		},
		{
			"cut again and again without a new event",
			"cut-after=5 cut-after=0",
			"POST background, GET 4, GET",
			2, 0, 0,
		},
		{
			"cut before an answer",
			"cut-after=5 cut cut ok",
			"POST background, GET 4, GET 4, GET 4",
			3, 0, 0,
		},
		{"error event", "error", "POST background, GET 2", 1, 0, 0},
		{"too old", "cut-after=5+too-old", "POST background, GET 4, GET", 2, 0, 0},
		{
			"429",
			"cut-after=5+poll-429",
			"POST background, GET 4, GET 4",
			2, 0, 0,
		},
		{
			"429 for the state",
			"cut-after=5+too-old ok 429=2",
			"POST background, GET 4, GET, GET",
			2, 0, 0,
		},
		{
			"500 for the state",
			"cut-after=5+too-old ok 500 503",
			"POST background, GET 4, GET, GET, GET",
			2, 0, 0,
		},
		{"gone", "cut-after=5+gone", "POST background, GET 4, POST", 1, 1, 1},
		{
			"gone after a stream",
			"cut-after=5 cut-after=5 404",
			"POST background, GET 4, GET 9, POST",
			2, 1, 0,
		},
		{"ignored", "ignores-background", "POST background", 0, 0, 0},
		{
			"ignored and cut",
			"ignores-background+cut-after=5 ok",
			"POST background, POST background",
			0, 1, 0,
		},
		{
			"echoed and not there",
			"echoes-background+cut-after=5",
			"POST background, GET 4, POST",
			1, 1, 1,
		},
		{"refused", "refuses-background", "POST background, POST", 0, 0, 1},
		{"refused because of store", "refuses-background=store", "POST background, POST", 0, 0, 1},
		{"failed", "failed ok", "POST background, POST background", 0, 1, 0},
		{
			"failed after a cut",
			"failed+cut-after=3",
			"POST background, GET 2, POST background",
			1, 1, 0,
		},
		{"incomplete after a cut", "incomplete+cut-after=5", "POST background, GET 4", 1, 0, 0},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, log := newBackground(t, 1, strings.Fields(tt.steps)...)
			events, r, err := collect(c.Stream(t.Context(), backgroundQuestion()))
			if err != nil {
				t.Fatal(err)
			}

			wantTraffic(t, api, tt.want)
			checkBlocks(t, events)
			text := r.Output[len(r.Output)-1].Content[0].Text
			if got := textOf(events); got != text {
				t.Errorf("text = %q, want %q", got, text)
			}
			if got := count[Reconnecting](events); got != tt.reconnects {
				t.Errorf("%d reconnections, want %d", got, tt.reconnects)
			}
			if got := count[Retrying](events); got != tt.retries {
				t.Errorf("%d Retrying events, want %d", got, tt.retries)
			}
			if r.Retries != tt.retries {
				t.Errorf("%d retries, want %d", r.Retries, tt.retries)
			}
			if got := strings.Count(log.String(), "level=WARN"); got != tt.warnings {
				t.Errorf("%d warnings, want %d:\n%s", got, tt.warnings, log)
			}
		})
	}
}

// Wherever the stream is cut, the events are those of a whole one.
func TestCutAnywhere(t *testing.T) {
	ask := func(t *testing.T, step string) (events string, requests string) {
		c, api, _ := newBackground(t, 0, step)
		r := backgroundQuestion()
		r.ReasoningSummary = "auto"
		all, _, err := collect(c.Stream(t.Context(), r))
		if err != nil {
			t.Fatal(err)
		}
		isReconnecting := func(ev Event) bool { return ev == Reconnecting{} }
		return script(slices.DeleteFunc(all, isReconnecting)), traffic(t, api)
	}

	whole := ""
	bubble(t, "whole", func(t *testing.T) { whole, _ = ask(t, "search") })
	for n := 1; n < 60; n++ {
		bubble(t, strconv.Itoa(n), func(t *testing.T) {
			events, requests := ask(t, fmt.Sprintf("search+cut-after=%d", n))
			want := fmt.Sprintf("POST background, GET %d", n-1)
			if requests != want {
				t.Errorf("requests = %q, want %q", requests, want)
			}
			if diff := cmp.Diff(whole, events); diff != "" {
				t.Errorf("events (-whole +cut):\n%s", diff)
			}
		})
	}
}

// A call that ends early cancels its response, once the API has named it.
func TestEarlyEnd(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps string
		cause error // of the context that ends after 10 s; nil: the time limit
		want  string
		kind  Kind
		takes time.Duration // until the call returns
	}{
		{
			"cancelled",
			"hang-after=5+slow=1s",
			context.Canceled,
			"POST background, cancel",
			KindCanceled,
			10 * time.Second,
		},
		{
			"time limit",
			"hang-after=5+slow=1s",
			nil,
			"POST background, cancel",
			KindTimeout,
			10 * time.Second,
		},
		{
			"the response is complete",
			"hang-after=5",
			context.Canceled,
			"POST background, cancel",
			KindCanceled,
			10 * time.Second,
		},
		{
			"the cancel hangs",
			"hang-after=5+slow=1s hang",
			context.Canceled,
			"POST background, cancel",
			KindCanceled,
			13 * time.Second,
		},
		{
			"before the id",
			"hang",
			context.Canceled,
			"POST background",
			KindCanceled,
			10 * time.Second,
		},
		{
			"in the foreground",
			"ignores-background+hang-after=5",
			context.Canceled,
			"POST background",
			KindCanceled,
			10 * time.Second,
		},
		{
			"the response goes on",
			"hang-after=5+slow=1s",
			ErrDetached,
			"POST background",
			KindCanceled,
			10 * time.Second,
		},
		{
			"the state is refused",
			"cut-after=5 401 401",
			context.Canceled,
			"POST background, GET 4, GET, cancel",
			KindAuth,
			0,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newBackground(t, 1, strings.Fields(tt.steps)...)
			start := time.Now()
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if tt.cause == nil {
				var stop func()
				ctx, stop = context.WithTimeout(ctx, 10*time.Second)
				defer stop()
			} else {
				time.AfterFunc(10*time.Second, func() { cancel(tt.cause) })
			}
			_, err := c.Create(ctx, backgroundQuestion())

			wantKind(t, err, tt.kind)
			wantTraffic(t, api, tt.want)
			took := time.Since(start)
			if tt.takes > 0 && took != tt.takes {
				t.Errorf("took %v, want %v", took, tt.takes)
			}
		})
	}
}

// A plain answer says that the response is queued. Its end is asked for.
func TestPlainBackground(t *testing.T) {
	for _, tt := range []struct {
		name, steps, want string
	}{
		{"runs", "slow=30ms", "POST background, GET, GET"},
		{"gone", "gone", "POST background, GET, POST"},
		{"ignored", "ignores-background", "POST background"},
		{"failed", "failed", "POST background, GET, POST background, GET"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newBackground(t, 1, tt.steps)
			r := backgroundQuestion()
			r.Plain = true
			events, _, err := collect(c.Stream(t.Context(), r))
			if err != nil {
				t.Fatal(err)
			}

			wantTraffic(t, api, tt.want)
			checkBlocks(t, events)
			if n := count[Reconnecting](events); n > 0 {
				t.Errorf("%d reconnections, want none", n)
			}
		})
	}
}

// What a call learns about background holds for the calls after it.
func TestBackgroundMemory(t *testing.T) {
	for _, tt := range []struct{ name, steps, want string }{
		{
			"refused",
			"refuses-background always refuses-background",
			"POST background, POST, POST",
		},
		{
			"never found",
			"cut-after=5+gone",
			"POST background, GET 4, POST, POST",
		},
		{
			"found once",
			"cut-after=5 ok cut-after=5+gone",
			"POST background, GET 4, POST background, GET 4, POST",
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, log := newBackground(t, 1, strings.Fields(tt.steps)...)
			for range 2 {
				_, err := c.Create(t.Context(), backgroundQuestion())
				if err != nil {
					t.Fatal(err)
				}
			}
			wantTraffic(t, api, tt.want)
			if n := strings.Count(log.String(), "level=WARN"); n > 1 {
				t.Errorf("%d warnings, want at most one:\n%s", n, log)
			}
		})
	}
}

// A GET has the query of the base URL, and of include what the API repeats.
func TestBackgroundQuery(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api, _ := newBackground(t, 0, "cut-after=5+too-old")
		_, err := c.Create(t.Context(), backgroundQuestion())
		if err != nil {
			t.Fatal(err)
		}

		const element = "include%5B%5D=web_search_call.action.sources"
		want := []string{
			"api-version=1",
			"api-version=1&" + element + "&starting_after=4&stream=true",
			"api-version=1&" + element,
		}
		var got []string
		for _, r := range api.Requests() {
			got = append(got, r.Query)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("queries (-want +got):\n%s", diff)
		}
	})
}

// The events of a stream whose server numbers none, or sends all of them again.
func TestOtherStreams(t *testing.T) {
	const created = `{"type":"response.created",%s"response":{"id":"resp_1","background":true}}`
	const delta = `{"type":"response.output_text.delta",%s"item_id":"m","delta":"%s"}`
	const completed = `{"type":"response.completed",%s"response":` + finished + `}`
	number := func(n int) string { return fmt.Sprintf(`"sequence_number":%d,`, n) }
	all := []string{
		fmt.Sprintf(created, number(0)),
		fmt.Sprintf(delta, number(1), "Ye"),
		fmt.Sprintf(delta, number(2), "s."),
		fmt.Sprintf(completed, number(3)),
	}
	for _, tt := range []struct {
		name     string
		steps    []step
		requests int
	}{
		{
			"not numbered",
			[]step{
				sseStep(fmt.Sprintf(created, ""), fmt.Sprintf(delta, "", "Ye")),
				answer(200, finished),
			},
			2,
		},
		{
			"from the start again",
			[]step{sseStep(all[:2]...), sseStep(all...)},
			2,
		},
		{
			"an object in place of the stream",
			[]step{sseStep(all[:2]...), answer(200, finished)},
			2,
		},
		{
			"refused in words",
			[]step{refusedAs("", "background can only be used with store"), sseStep(all...)},
			2,
		},
		{
			"no GET",
			[]step{sseStep(all[:2]...), answer(405, ""), sseStep(all...)},
			3,
		},
		{
			"a web page in place of the response",
			[]step{sseStep(all[:2]...), answer(200, "<html>"), answer(200, finished)},
			3,
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newClient(t, 1, tt.steps...)
			events, _, err := collect(c.Stream(t.Context(), backgroundQuestion()))
			if err != nil {
				t.Fatal(err)
			}
			api.wantRequests(t, tt.requests)
			if got := textOf(events); got != "Yes." {
				t.Errorf("text = %q, want %q", got, "Yes.")
			}
		})
	}
}

// Start returns a response that can be fetched, or an answer.
func TestStart(t *testing.T) {
	for _, tt := range []struct {
		name, steps string
		want        string
		status      string
		kind        Kind
	}{
		{"runs", "slow=1s", "POST background, GET", "queued", Kind{}},
		{"complete when it is fetched", "ok", "POST background, GET", "completed", Kind{}},
		{"answered at once", "ignores-background", "POST background", "completed", Kind{}},
		{"refused", "refuses-background", "POST background", "", KindFailed},
		{"not there", "gone", "POST background, GET", "", KindFailed},
		{"429 for the state", "slow=1s+poll-429", "POST background, GET, GET", "queued", Kind{}},
		{"rate limit", "429 slow=1s", "POST background, POST background, GET", "queued", Kind{}},
		{"the state is refused", "slow=1s 401", "POST background, GET, cancel", "", KindAuth},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, api, _ := newBackground(t, 1, strings.Fields(tt.steps)...)
			r, err := c.Start(t.Context(), question())

			wantKind(t, err, tt.kind)
			wantTraffic(t, api, tt.want)
			if got := errors.Is(err, ErrNoBackground); got != (tt.kind == KindFailed) {
				t.Errorf("error = %v", err)
			}
			if err == nil && r.Status != tt.status {
				t.Errorf("status = %q, want %q", r.Status, tt.status)
			}
		})
	}
}

// Get tells every state; only a response that is not there is an error.
func TestGet(t *testing.T) {
	for _, tt := range []struct {
		name, steps string
		cancel      bool // before the GET
		status      string
		failure     Kind // of the response
		kind        Kind // of the error
	}{
		{"runs", "slow=1s", false, "queued", Kind{}, Kind{}},
		{"completed", "ok", false, "completed", Kind{}, Kind{}},
		{"incomplete", "incomplete", false, "incomplete", Kind{}, Kind{}},
		{"failed", "slow=10ms+failed", false, "failed", KindServer, Kind{}},
		{"cancelled", "slow=1s", true, "cancelled", KindFailed, Kind{}},
		{"cancelled after its end", "ok", true, "completed", Kind{}, Kind{}},
		{"unknown", "refuses-background", false, "", Kind{}, KindNotFound},
		{"429", "ok ok 429", false, "", Kind{}, KindRateLimit},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, _, _ := newBackground(t, 0, strings.Fields(tt.steps)...)
			id := "resp_unknown"
			started, err := c.Start(t.Context(), question())
			if err == nil {
				id = started.ID
			}
			time.Sleep(time.Second)
			if tt.cancel {
				err := c.Cancel(t.Context(), id)
				if err != nil {
					t.Error(err)
				}
			}

			r, err := c.Get(t.Context(), id, question().Include)
			wantKind(t, err, tt.kind)
			if err != nil {
				if got := asError(t, err).Lost(); got != (tt.name == "unknown") {
					t.Errorf("lost = %v", got)
				}
				return
			}
			if r.Status != tt.status {
				t.Errorf("status = %q, want %q", r.Status, tt.status)
			}
			if r.Failure != nil && r.Failure.Kind != tt.failure {
				t.Errorf("failure = %v, want %v", r.Failure, tt.failure)
			}
			if r.CreatedAt == 0 {
				t.Error("there is no created_at")
			}
		})
	}
}
