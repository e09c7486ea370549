package doctor

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
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

// The results of the checks that ask the API, failures last, with one blank between columns.
const (
	answers   = "ok http answers\n"
	accepted  = "ok key K is set and accepted\n"
	keySet    = "ok key K is set\n"
	neither   = "; effort and verbosity are not sent: it takes neither\n"
	isThere   = "ok model answer x is there" + neither
	isUnknown = "warn model answer x was not looked up" + neither + " -> see the other checks\n"

	noAPI = " -> check openai.base_url (Y): it ends with the version, " +
		"as in https://api.openai.com/v1"

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
	live   bool
	change func(*Options)
	want   string
}{
	{
		name: "model in data",
		api:  api{status: 200, body: `{"data":{"id":"x"}}`},
		want: accepted + answers + isThere,
	},

	{
		name: "file without a key",
		api:  api{status: 401, body: refusedKey},
		change: func(o *Options) {
			o.Config.KeySet = false
			o.Config.KeyErr = errors.New("reading the key: f is empty")
			o.Advisor.KeyInFile = true
		},
		want: answers + isUnknown +
			"fail key reading the key: f is empty\n -> correct the path in K, " +
			"or write a key for api.example to the file of K " +
			"(any text if that server needs none)\n",
	},

	{
		name: "refused key",
		api:  api{status: 401, body: refusedKey},
		want: answers + isUnknown +
			"fail key K is set, but the API refused the key (401)\n" +
			" -> set K to a complete and current key for api.example\n",
	},

	{
		name:   "key in quotes and no connection",
		change: func(o *Options) { o.Advisor.KeyFlaw = "it has quotes around it" },
		want: "warn key K is set, but it has quotes around it\n -> set K to the key alone\n" +
			isUnknown +
			"fail http connection failed\n" +
			" -> check the network, openai.base_url, HTTPS_PROXY and the firewall\n",
	},

	{
		name: "key without the scope",
		api:  api{status: 401, body: noScope},
		want: keySet +
			"warn http the key may not read models: Missing scopes: api.model.read\n" +
			" -> give the key that right, or see with --live whether it may ask questions\n" +
			isUnknown,
	},

	{
		name: "server without models",
		api:  api{status: 404},
		want: keySet + isUnknown + "fail http not found (404): Not Found\n" + noAPI +
			", or see with --live whether it answers questions\n",
	},

	{
		name: "server that answers lookups with something else",
		api:  api{status: 200, body: `{"error":"unexpected endpoint"}`},
		want: keySet + isUnknown +
			"fail http not an answer of the Responses API: GET /models/x returned no model; " +
			"see with --live whether questions are answered\n -> check openai.base_url (Y)\n",
	},

	{
		name: "server without models that answers",
		api:  api{status: 404, answer: finalAnswer},
		live: true,
		want: accepted + answers +
			"ok model answer x answers questions, but cannot be looked up" + neither +
			"warn live x answered with 3 tokens; streaming is refused\n" +
			" -> an OpenAI organization has to be verified for it, at " + advice.VerifyPage +
			"; until then, or if the server cannot stream, answers come in one piece\n",
	},

	{
		name: "no answer to a question",
		api:  api{status: 200, body: `{"id":"x"}`},
		live: true,
		want: accepted + answers + isThere + "fail live not found (404): Not Found\n" + noAPI + "\n",
	},

	{
		name: "no answer, which ends the lookups",
		api:  api{status: hangs},
		live: true,
		want: keySet + isUnknown +
			"warn live no question was asked\n -> fix the failures\n" +
			"fail http no answer within 15s\n" +
			" -> check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later\n",
	},

	{
		name: "no such model",
		api:  api{status: 404, body: noModel},
		want: accepted + answers +
			"fail model answer x: model not found\n -> M is x (Y): name another model there\n",
	},
}

// varying matches blanks beyond the first, the reason that the system gives, and durations.
var varying = regexp.MustCompile(`( ) +|(connection failed): .*|(answered) in [0-9.]+ s`)

// Each API has one profile.
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

			o := Options{Live: tt.live, Backend: Backend{
				Config: load(t, "", "OPENAI_API_KEY=sk-test"),
				Client: llm.Options{BaseURL: server.URL, APIKey: "sk-test"},
				Advisor: advice.Advisor{
					Key:     "K",
					Proxy:   "HTTPS_PROXY",
					BaseURL: advice.Setting{Value: "https://api.example/v1", From: "Y"},
					Models:  map[string]advice.Setting{"answer": {Name: "M", Value: "x", From: "Y"}},
				},
				Profiles: map[string]answer.Profile{"answer": {Model: "x"}},
			}}
			o.Getenv = func(string) string { return "" }
			if tt.change != nil {
				tt.change(&o)
			}

			checks := Run(ctx, o)
			asked := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "key" })
			got := varying.ReplaceAllString(Text(checks[asked:]), "$1$2$3")

			compare.Equal(t, "checks", got, tt.want)
		})
	}
}
