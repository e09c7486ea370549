package doctor

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// neither is what the model of the tests takes.
const neither = "; effort and verbosity are not sent: it takes neither\n"

// probes are servers that are not OpenAI's, and what doctor reports, failures last, with one blank
// between columns. The script of doctor has the others.
var probes = []struct {
	name   string
	lookup string // the answer to a lookup of a model; "": none
	want   string
}{
	{
		"model in data",
		`{"data":{"id":"x"}}`,
		"ok key K is set and accepted\nok http answers\nok model answer x is there" + neither,
	},

	{
		"something else",
		`{"error":"unexpected endpoint"}`,
		"ok key K is set\n" +
			"warn models no model was looked up\n -> see the other checks\n" +
			"fail http not an answer of the Responses API: GET /models/x returned no model; " +
			"see with --live whether questions are answered\n -> check openai.base_url (Y)\n",
	},

	{
		"no answer, which ends the lookups",
		"",
		"ok key K is set\n" +
			"warn models no model was looked up\n -> see the other checks\n" +
			"warn live no question was asked\n -> fix the failures\n" +
			"fail http no answer within 15s\n" +
			" -> check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later\n",
	},
}

var blanks = regexp.MustCompile(` +`)

func TestProbe(t *testing.T) {
	for _, tt := range probes {
		t.Run(tt.name, func(t *testing.T) {
			hangs := tt.lookup == ""
			limit := time.Minute
			if hangs {
				limit = time.Millisecond
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()

			api := func(w http.ResponseWriter, r *http.Request) {
				if hangs {
					<-r.Context().Done()
				}
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, tt.lookup)
			}
			server := httptest.NewServer(http.HandlerFunc(api))
			defer server.Close()

			s := &service.Service{
				Config: &config.Config{Derived: &config.Derived{KeySet: true, Location: time.UTC}},
				Connect: func(string) *llm.Client {
					return llm.New(llm.Options{BaseURL: server.URL, APIKey: "sk-test"})
				},
				Advisor: advice.Advisor{
					Key:     "K",
					Proxy:   "HTTPS_PROXY",
					BaseURL: advice.Setting{Value: "https://api.example/v1", From: "Y"},
				},
				Profiles: map[string]answer.Profile{"answer": {Model: "x"}},
				Getenv:   func(string) string { return "" },
			}
			checks := Run(ctx, Options{
				Service: s,
				Live:    hangs,
			})

			asked := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "key" })
			got := blanks.ReplaceAllString(Text(checks[asked:]), " ")
			compare.Equal(t, "checks", got, tt.want)
		})
	}
}
