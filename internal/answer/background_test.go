package answer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var why = Question{Query: "why"}

// inMemory sends requests to a fake API without a network.
type inMemory struct{ api *apitest.Server }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	m.api.ServeHTTP(w, r)
	return w.Result(), nil
}

// newBackground returns an Answerer for a fake API with these steps.
func newBackground(t *testing.T, steps string) *Answerer {
	t.Helper()
	api, err := apitest.New(strings.Fields(steps)...)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := newAnswerer(func(o *Options) {
		o.Client = llm.New(llm.Options{
			APIKey:     "test-key",
			HTTPClient: &http.Client{Transport: inMemory{api}},
		})
		o.Stream = "false"
		p := o.Profiles["answer"]
		p.Background = true
		o.Profiles["background"] = p
	})
	return a
}

// leave asks a question in the background, and returns the id of the response, which goes on.
func leave(t *testing.T, a *Answerer) (id string) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(t.Context())
	call := &llm.Call{Tool: "background"}
	call.Sink = func(ev llm.Event) {
		if created, ok := ev.(llm.Created); ok {
			id = created.ID
			cancel(llm.ErrDetached)
		}
	}
	_, err := a.Ask(ctx, call, why)
	if !errors.Is(err, llm.ErrDetached) {
		t.Fatalf("error %v, want %v", err, llm.ErrDetached)
	}
	return id
}

// What Fetch returns of a response.
func TestFetch(t *testing.T) {
	const slow = "search+slow=1s"
	const unknown = "the answer is not complete, as far as is known"
	for _, tt := range []struct {
		name  string
		steps string
		after time.Duration // Fetch
		want  string        // start of the error; "<nil>": the answer
	}{
		{"running", "search+slow=10s", 30 * time.Second, "the answer is not complete"},
		{"completed", slow, 5 * time.Minute, "<nil>"},
		{"incomplete", slow + "+incomplete", 5 * time.Minute, "<nil>"},
		{"deleted", slow, 0, "the API does not have the answer"},
		{"busy", slow + " 429", 0, unknown},
		{"unavailable", slow + " 503", 0, unknown},
		{"another key", slow + " 401", 0, unknown},
		{"a web page", slow + " garbage", 0, unknown},
		{"failed", slow + "+failed", 5 * time.Minute, "calling the Responses API: "},
		{"no text", "empty+slow=1s", 5 * time.Minute, "no output"},
		{"cancelled", slow, 0, "context canceled"},
		{"cancelled when complete", slow, 5 * time.Minute, "<nil>"},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			plainly := newBackground(t, tt.steps)
			time.Sleep(23*time.Hour + 28*time.Minute) // two minutes before the next midnight
			plain, _ := plainly.Ask(t.Context(), &llm.Call{Tool: "answer"}, why)
			a := newBackground(t, tt.steps)
			began := time.Now()
			id := leave(t, a)
			time.Sleep(tt.after)
			if tt.name == "deleted" {
				id = "resp_of_yesterday"
			}

			call := &llm.Call{Tool: "background"}
			if strings.HasPrefix(tt.name, "cancelled") {
				compare.Equal(t, "error", a.o.Client.Cancel(t.Context(), call, id), nil)
			}

			got, err := a.Fetch(t.Context(), call, id, began)
			if !strings.HasPrefix(fmt.Sprint(err), tt.want) {
				t.Fatalf("error %v, want %v", err, tt.want)
			}
			if err != nil {
				return
			}

			figures := cmpopts.IgnoreFields(Meta{}, "Elapsed", "ResponseID", "RequestID", "Retries")
			compare.Equal(t, "answer", got, plain, figures)
		})
	}
}

// The time of an answer is that of the API, or until it is fetched if the API does not say it.
func TestFetchElapsed(t *testing.T) {
	for name, tt := range map[string]struct {
		times string
		want  time.Duration
	}{
		"said":     {`"created_at":100,"completed_at":110,`, 10 * time.Second},
		"not said": {`"created_at":100,`, time.Minute},
	} {
		bubble(t, name, func(t *testing.T) {
			body := completed(message("", "Yes."))
			a, _ := newAnswerer(nil, "{"+tt.times+body[1:])
			call := &llm.Call{Tool: "answer"}
			ans, err := a.Fetch(t.Context(), call, "resp_1", time.Now().Add(-time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "elapsed", ans.Meta.Elapsed, tt.want)
		})
	}
}
