package answer

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// inMemory sends requests to a fake API without a network.
type inMemory struct{ api *fakeapi.Server }

func (m inMemory) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body == nil {
		r.Body = http.NoBody
	}
	w := httptest.NewRecorder()
	m.api.ServeHTTP(w, r)
	return w.Result(), nil
}

// newBackground returns an Answerer for a fake API with these steps.
func newBackground(t *testing.T, steps ...string) *Answerer {
	t.Helper()
	api, err := fakeapi.New(steps...)
	if err != nil {
		t.Fatal(err)
	}
	a, _ := newAnswerer(func(o *Options) {
		o.Client = llm.New(llm.Options{
			APIKey:     "test-key",
			HTTPClient: &http.Client{Transport: inMemory{api}},
		})
		o.Now = time.Now
		o.Stream = "false"
	})
	return a
}

// fetchOther is for fetching a response that the API does not have, in TestFetch.
const fetchOther = 0

// What Start and then Fetch return.
func TestFetch(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps string
		after time.Duration // Fetch
		want  error         // nil: the answer
	}{
		{"running", "search+slow=10s", 30 * time.Second, ErrRunning},
		{"completed", "search+slow=1s", 5 * time.Minute, nil},
		{"incomplete", "search+incomplete+slow=1s", 5 * time.Minute, nil},
		{"deleted", "search+slow=1s", fetchOther, ErrGone},
		{"busy", "search+slow=1s 429", 5 * time.Minute, nil}, // Start has met the 429
		{"failed", "search+failed+slow=1s", 5 * time.Minute, new(llm.Error)},
		{"no text", "empty+slow=1s", 5 * time.Minute, NoTextError("no output")},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// The access dates are those of the creation, two minutes before midnight.
				time.Sleep(14*time.Hour + 58*time.Minute)
				question := Question{Query: "why"}
				plain, _ := newBackground(t, strings.Fields(tt.steps)...).Ask(t.Context(), "answer", question, nil)

				a := newBackground(t, strings.Fields(tt.steps)...)
				began := time.Now()
				id, ans, err := a.Start(t.Context(), "answer", question)
				if id == "" || ans != nil || err != nil {
					t.Fatalf("Start = %q, %v, %v, want an id", id, ans, err)
				}

				time.Sleep(tt.after)
				if tt.after == fetchOther {
					id = "resp_of_yesterday"
				}
				got, err := a.Fetch(t.Context(), "answer", id, began)
				checkError(t, err, tt.want)
				if tt.want != nil {
					return
				}
				if diff := cmp.Diff(plain.Text, got.Text); diff != "" {
					t.Errorf("text (-plain +fetched):\n%s", diff)
				}
				if diff := cmp.Diff(plain.Citations, got.Citations); diff != "" {
					t.Errorf("citations (-plain +fetched):\n%s", diff)
				}
				if got.Model != plain.Model || got.Meta.Searches != plain.Meta.Searches {
					t.Errorf("got %+v, want the model and searches of %+v", got, plain)
				}
			})
		})
	}
}

// An API that does not tell the state of a response may have the answer.
func TestFetchUnknown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newBackground(t, "search+slow=1s", "ok", "503") // Start makes two requests
		id, _, err := a.Start(t.Context(), "answer", Question{Query: "why"})
		if id == "" {
			t.Fatalf("Start: %v, want an id", err)
		}

		_, err = a.Fetch(t.Context(), "answer", id, time.Now())
		checkError(t, err, ErrUnknown)
	})
}

// checkError wants an error: nil, this one, or any *llm.Error.
func checkError(t *testing.T, got, want error) {
	t.Helper()
	_, isAPI := errors.AsType[*llm.Error](want)
	_, gotAPI := errors.AsType[*llm.Error](got)
	if isAPI && gotAPI {
		return
	}
	if !errors.Is(got, want) {
		t.Fatalf("error %v, want %v", got, want)
	}
}

// Where the API does not run a response in the background, there is nothing to fetch.
func TestStart(t *testing.T) {
	for _, tt := range []struct {
		name  string
		steps string
		want  error
	}{
		{"at once", "search", nil},
		{"refused", "refuses=background", llm.ErrNoBackground},
		{"not found", "search+slow=1s gone", llm.ErrNoBackground},
		{"echoed", "always search+slow=1s+echoes-background", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := newBackground(t, strings.Fields(tt.steps)...)
				id, ans, err := a.Start(t.Context(), "answer", Question{Query: "why"})
				checkError(t, err, tt.want)
				if id != "" || (ans == nil) != (tt.want != nil) {
					t.Errorf("Start = %q, %v, want no id", id, ans)
				}
			})
		})
	}
}
