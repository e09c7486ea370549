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

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var blanks = regexp.MustCompile(` +`)

func TestProbe(t *testing.T) {
	compare.Each(t, "probes", 3, func(t *testing.T, row []string) {
		hangs := row[1] == ""
		silent := row[0] == "no answer to a question"
		limit := time.Minute
		if hangs {
			limit = time.Millisecond
		}
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		ctx, cancel := context.WithCancelCause(ctx)
		defer cancel(nil)

		api := func(w http.ResponseWriter, r *http.Request) {
			if silent && r.Method == http.MethodPost {
				cancel(call.TimeoutError(2 * time.Minute)) // what the client waits for
			}
			if hangs || silent && r.Method == http.MethodPost {
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, row[1])
		}
		server := httptest.NewServer(http.HandlerFunc(api))
		defer server.Close()

		cfg, _, err := config.Load(config.Flags{}, []string{"OPENAI_API_KEY=sk", "OPENAI_BASE_URL=" + server.URL})
		if err != nil {
			t.Fatal(err)
		}
		s, err := service.New(service.Options{
			Config:   cfg,
			Stderr:   io.Discard,
			Redactor: redact.New(),
			Getenv:   func(string) string { return "" },
		})
		if err != nil {
			t.Fatal(err)
		}
		s.Advisor = advice.Advisor{
			KeyVariable:   "K",
			ProxyVariable: "HTTPS_PROXY",
			BaseURL:       advice.Setting{Value: "https://api.example/v1", Origin: "Y"},
			KeyFlaw:       func() string { return "" },
		}
		s.Profiles = map[string]answer.Profile{"answer": {ModelSettings: call.ModelSettings{Model: "x"}}}
		checks := Run(ctx, Options{
			Service: s,
			Live:    hangs || silent,
		})

		asked := slices.IndexFunc(checks, func(c Check) bool { return c.Name == "key" })
		got := blanks.ReplaceAllString(FormatText(checks[asked:]), " ")
		compare.Equal(t, "checks", got, row[2])
	})
}
