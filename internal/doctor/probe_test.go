package doctor

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// api is a server with one answer for lookups of a model and one for questions.
type api struct {
	status int    // of a lookup; 0: the connection breaks; hangs: it gets no answer
	body   string // of a lookup
	answer string // to a question; "": not found
}

// hangs is the status of an API that does not answer.
const hangs = -1

func (a api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.Method == http.MethodPost && a.answer == "":
		w.WriteHeader(http.StatusNotFound)
	case r.Method == http.MethodPost:
		_, _ = io.WriteString(w, a.answer)
	case a.status == hangs:
		<-r.Context().Done()
	case a.status == 0:
		panic(http.ErrAbortHandler)
	default:
		w.WriteHeader(a.status)
		_, _ = io.WriteString(w, a.body)
	}
}

// The results of the checks that ask the API, as probe joins them.
const (
	answers   = "ok http: answers in N ms"
	accepted  = "ok key: K is set and accepted"
	keySet    = "ok key: K is set"
	neither   = "; effort and verbosity are not sent: it takes neither"
	isThere   = "ok model answer: x is there" + neither
	isUnknown = "warn model answer: x was not looked up" + neither + " -> see the checks above"

	refusedKey  = `{"error":{"message":"Incorrect API key","code":"invalid_api_key"}}`
	noScope     = `{"error":{"message":"Missing scopes: api.model.read"}}`
	noModel     = `{"error":{"message":"no x","param":"model","code":"model_not_found"}}`
	finalAnswer = `{"id":"r","object":"response","status":"completed","model":"x","output":[{
		"id":"m","type":"message","role":"assistant","status":"completed","content":[{
			"type":"output_text","text":"ok","annotations":[]}]}],
		"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}`
)

// probes are APIs and what doctor reports. Each problem is one failure with its hint; what follows
// from it is a warning.
var probes = []struct {
	name   string
	api    api
	change func(*Options)
	want   []string
}{
	{
		name: "model in data",
		api:  api{status: 200, body: `{"data":{"id":"x"}}`},
		want: []string{accepted, answers, isThere},
	},
	{
		name: "file without a key",
		api:  api{status: 401, body: refusedKey},
		change: func(o *Options) {
			o.Config.KeySet = false
			o.Config.KeyErr = errors.New("reading the key: f is empty")
			o.Advisor.KeyInFile = true
		},
		want: []string{
			"fail key: reading the key: f is empty -> correct the path in K, " +
				"or write a key for api.example to the file of K " +
				"(any text if that server needs none)",
			answers,
			isUnknown,
		},
	},
	{
		name: "refused key",
		api:  api{status: 401, body: refusedKey},
		want: []string{
			"fail key: K is set, but the API refused the key (401) " +
				"-> set K to a complete and current key for api.example",
			answers,
			isUnknown,
		},
	},
	{
		name:   "key in quotes and no connection",
		change: func(o *Options) { o.Advisor.KeyFlaw = "it has quotes around it" },
		want: []string{
			"warn key: K is set, but it has quotes around it -> set K to the key alone",
			"fail http: connection failed " +
				"-> check the network, openai.base_url, HTTPS_PROXY and the firewall",
			isUnknown,
		},
	},
	{
		name: "key without the scope",
		api:  api{status: 401, body: noScope},
		want: []string{
			keySet,
			"warn http: the key may not read models (401): Missing scopes: api.model.read " +
				"-> give the key that right, or see with --live whether it may ask questions",
			isUnknown,
		},
	},
	{
		name: "server without models",
		api:  api{status: 404},
		want: []string{
			keySet,
			"fail http: not found (404): Not Found " +
				"-> check openai.base_url (Y): it ends with the version, " +
				"as in https://api.openai.com/v1, or see with --live whether it answers questions",
			isUnknown,
		},
	},
	{
		name: "server that answers lookups with something else",
		api:  api{status: 200, body: `{"error":"unexpected endpoint"}`},
		want: []string{
			keySet,
			"fail http: not an answer of the Responses API: GET /models/x returned no model; " +
				"see with --live whether questions are answered -> check openai.base_url (Y)",
			isUnknown,
		},
	},
	{
		name:   "server without models that answers",
		api:    api{status: 404, answer: finalAnswer},
		change: func(o *Options) { o.Live = true },
		want: []string{
			accepted,
			answers,
			"ok model answer: x answers questions, but cannot be looked up" + neither,
			"warn live: x answered in N s with 3 tokens; streaming is refused " +
				"-> an OpenAI organization has to be verified for it, at " + advice.VerifyPage +
				"; until then, or if the server cannot stream, answers come in one piece",
		},
	},
	{
		name:   "no answer to a question",
		api:    api{status: 200, body: `{"id":"x"}`},
		change: func(o *Options) { o.Live = true },
		want: []string{
			accepted,
			answers,
			isThere,
			"fail live: not found (404): Not Found " +
				"-> check openai.base_url (Y): it ends with the version, " +
				"as in https://api.openai.com/v1",
		},
	},
	{
		name:   "no answer, which ends the lookups",
		api:    api{status: hangs},
		change: func(o *Options) { o.Live = true },
		want: []string{
			keySet,
			"fail http: no answer within 15s -> " +
				"check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later",
			isUnknown,
			"warn live: no question was asked -> fix the failures above",
		},
	},
	{
		name: "no such model",
		api:  api{status: 404, body: noModel},
		want: []string{
			accepted,
			answers,
			"fail model answer: x: model not found -> M is x (Y): name another model there",
		},
	},
}

func TestProbe(t *testing.T) {
	for _, tt := range probes {
		t.Run(tt.name, func(t *testing.T) {
			server := httptest.NewServer(tt.api)
			defer server.Close()
			limit := time.Minute
			if tt.api.status == hangs {
				limit = time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()

			got := probeChecks(ctx, t, server.URL, tt.change)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
}

var (
	duration = regexp.MustCompile(`[0-9.]+( m?s)\b`)
	reason   = regexp.MustCompile(`(connection failed): .*( ->)`) // that the system gives
)

// probeChecks runs doctor for an API with one profile, which change may alter, and returns the
// checks that ask the API: verdict, name, text and hint.
func probeChecks(
	ctx context.Context,
	t *testing.T,
	baseURL string,
	change func(*Options),
) (lines []string) {
	t.Helper()
	from := advice.Setting{Name: "M", Value: "x", From: "Y"}
	o := Options{
		Config: load(t, "", "OPENAI_API_KEY=sk-test"),
		Client: llm.Options{BaseURL: baseURL, APIKey: "sk-test"},
		Advisor: advice.Advisor{
			Key:     "K",
			Proxy:   "HTTPS_PROXY",
			BaseURL: advice.Setting{Value: "https://api.example/v1", From: "Y"},
			Models:  map[string]advice.Setting{"answer": from},
		},
		Profiles: map[string]answer.Profile{"answer": {Model: "x"}},
		Getenv:   func(string) string { return "" },
		Session:  func(context.Context, bool) (int, error) { return 3, nil },
	}
	if change != nil {
		change(&o)
	}

	names := []string{"key", "http", "model answer", "live"}
	for _, c := range Run(ctx, o) {
		if !slices.Contains(names, c.Name) {
			continue
		}
		s := fmt.Sprintf("%s %s: %s", c.Verdict, c.Name, c.Text)
		if c.Hint != "" {
			s += " -> " + c.Hint
		}
		s = duration.ReplaceAllString(s, "N$1")
		lines = append(lines, reason.ReplaceAllString(s, "$1$2"))
	}
	return lines
}
