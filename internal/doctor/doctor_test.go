package doctor

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// healthy is a patient of whom all is well; the tests make it ill.
func healthy() Options {
	return Options{
		Config:   Config{Looked: []string{"config.yaml"}},
		Policy:   Setting{Text: "built in"},
		Debug:    Setting{Text: "off"},
		KeyEnv:   "MY_KEY",
		KeySet:   true,
		BaseURL:  "https://api.example/v1",
		Profiles: []Profile{{"answer", "gpt-5.2", "model_profiles.answer.model (default)", "effort is sent"}},
		Proxy:    func(*http.Request) (*url.URL, error) { return nil, nil },
		Variable: func(string) string { return "" },
		Model: func(context.Context, string) (json.RawMessage, *Fault) {
			return json.RawMessage(`{}`), nil
		},
		Stdio: func(context.Context, bool) (int, error) { return 3, nil },
		Now:   func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
	}
}

// find returns the last check of that name.
func find(t *testing.T, checks []Check, name string) Check {
	t.Helper()
	var found Check
	for _, c := range checks {
		if c.Name == name {
			found = c
		}
	}
	if found.Name == "" {
		t.Fatalf("no check %q in %+v", name, checks)
	}
	return found
}

func TestClearText(t *testing.T) {
	const text = "openai.base_url is plain http to "
	tests := []struct{ base, want string }{
		{"https://api.openai.com/v1", ""},
		{"http://api.example:8080/v1", text + "api.example"},
		{"HTTP://API.example/v1", text + "API.example"},
		{"http://me:secret@10.0.0.7/v1", text + "10.0.0.7"},
		{"http://[2001:db8::1]/v1", text + "2001:db8::1"},
		{"http://localhost:11434/v1", ""},
		{"http://api.localhost./v1", ""},
		{"http://127.8.9.1/v1", ""},
		{"http://[::1]:1/v1", ""},
		{"http://localhost.example/v1", text + "localhost.example"},
		{"://", ""}, // no URL at all is somebody else's complaint
		{"", ""},
	}
	for _, tt := range tests {
		got, _, _ := strings.Cut(ClearText(tt.base), ": the API key")
		if got != tt.want {
			t.Errorf("ClearText(%q) = %q, want %q", tt.base, got, tt.want)
		}
	}
}

func TestModelChecks(t *testing.T) {
	tests := []struct {
		body    string
		verdict Verdict
		text    string
	}{
		{`{}`, Warn, "gpt-5.2 was asked for, and what came back is no model; effort is sent"},
		{`[]`, Warn, "gpt-5.2 was asked for, and what came back is no model; effort is sent"},
		{`{"ok":true,"data":[{"id":"gpt-5.2"}]}`, Warn, "gpt-5.2 was asked for, and what came back is no model; effort is sent"},
		{`{"data":{"id":"gpt-5.2"}}`, OK, "gpt-5.2 is there; effort is sent"},
		{`{"id":"gpt-5.2"}`, OK, "gpt-5.2 is there; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":null}`, OK, "gpt-5.2 is there; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":["soon"]}`, OK, "gpt-5.2 is there; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"soon"}`, OK, "gpt-5.2 is there; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-21"}`, OK, "gpt-5.2 is there until 2027-03-21; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-20"}`, Warn, "gpt-5.2 is shut down on 2027-03-20 (days left: 120); effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-21T08:00:00Z"}`, Warn, "gpt-5.2 is shut down on 2026-11-21 (days left: 1); effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":1796947200}`, Warn, "gpt-5.2 is shut down on 2026-12-11 (days left: 21); effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-20"}`, Fail, "gpt-5.2 was shut down on 2026-11-20; effort is sent"},
		{`{"id":"gpt-5.2","shutdown_date":"2025-01-01"}`, Fail, "gpt-5.2 was shut down on 2025-01-01; effort is sent"},
	}
	for _, tt := range tests {
		o := healthy()
		o.Model = func(context.Context, string) (json.RawMessage, *Fault) { return json.RawMessage(tt.body), nil }
		got := find(t, Run(t.Context(), o), "model answer")
		if got.Verdict != tt.verdict || got.Text != tt.text || (got.Cure == "") != (tt.verdict == OK) {
			t.Errorf("of %s the check says %s %q -> %q, want %s %q", tt.body, got.Verdict, got.Text, got.Cure, tt.verdict, tt.text)
		}
	}
}

// Several profiles share a model: it is asked for once, the others side by side.
func TestModelsAreAskedOnce(t *testing.T) {
	o := healthy()
	o.Profiles = []Profile{{Name: "a", Model: "x"}, {Name: "b", Model: "y"}, {Name: "c", Model: "y"}, {Name: "d", Model: "z"}}
	asked := make(chan string, 10)
	o.Model = func(_ context.Context, id string) (json.RawMessage, *Fault) {
		asked <- id
		if id == "z" {
			return nil, &Fault{Status: 500, Text: "the API has an error of its own (500)", Cure: "try again later"}
		}
		return nil, nil
	}
	checks := Run(t.Context(), o)
	close(asked)
	count := map[string]int{}
	for id := range asked {
		count[id]++
	}
	if diff := cmp.Diff(map[string]int{"x": 1, "y": 1, "z": 1}, count); diff != "" {
		t.Errorf("requests by model (-want +got):\n%s", diff)
	}
	if c := find(t, checks, "model d"); c.Verdict != Warn || c.Cure != "try again later" {
		t.Errorf("a model that fails alone: %+v", c)
	}
}

func TestLive(t *testing.T) {
	asked := false
	o := healthy()
	o.Live = func(context.Context) (*Answer, *Fault) { asked = true; return &Answer{Text: "fine"}, nil }

	// A server that answers, but tells of no models, is no wrong address.
	o.Model = func(context.Context, string) (json.RawMessage, *Fault) {
		return nil, &Fault{About: AboutAddress, Status: 404, Text: "not found", Cure: "check the URL"}
	}
	checks := Run(t.Context(), o)
	if Failed(checks) != 0 || find(t, checks, "http").Verdict != OK || find(t, checks, "live").Text != "fine" {
		t.Errorf("a server without models: %+v", checks)
	}
	if c := find(t, checks, "model answer"); c.Verdict != OK || !strings.Contains(c.Text, "the server does not tell") {
		t.Errorf("its model: %+v", c)
	}

	// A model that answers is there, listed or not; of others the list counts.
	o.Profiles = append(o.Profiles, Profile{Name: "answer_quick", Model: "other"}, Profile{Name: "answer_detailed", Model: o.Profiles[0].Model})
	o.Model = func(context.Context, string) (json.RawMessage, *Fault) {
		return nil, &Fault{About: AboutModel, Status: 404, Text: "model not found (404)", Cure: "name another"}
	}
	checks = Run(t.Context(), o)
	for name, want := range map[string]Verdict{"model answer": Warn, "model answer_detailed": Warn, "model answer_quick": Fail} {
		c := find(t, checks, name)
		if c.Verdict != want || c.Cure == "" || strings.Contains(c.Text, "questions are answered; the server does not list it") != (want == Warn) {
			t.Errorf("of a model that is not listed: %+v", c)
		}
	}
	if o.Profiles = o.Profiles[:1]; Failed(Run(t.Context(), o)) != 0 {
		t.Error("a model that answers, and is not listed, fails")
	}

	asked, o.KeySet = false, false
	if c := find(t, Run(t.Context(), o), "live"); c.Verdict != Warn || asked {
		t.Errorf("without a key: asked %v, %+v", asked, c)
	}
	o.KeySet = true
	o.Live = func(context.Context) (*Answer, *Fault) { return nil, &Fault{Text: "quota exceeded", Cure: "pay"} }
	if c := find(t, Run(t.Context(), o), "live"); c.Verdict != Fail || c.Cure != "pay" {
		t.Errorf("a question that fails: %+v", c)
	}
}

func TestStdioFails(t *testing.T) {
	o := healthy()
	o.Stdio = func(_ context.Context, lines bool) (int, error) {
		if lines {
			return 0, errors.New("the server has ended")
		}
		return 3, nil
	}
	c := find(t, Run(t.Context(), o), "stdio")
	if c.Verdict != Fail || c.Text != "initialize and tools/list in lines: the server has ended" {
		t.Errorf("stdio: %+v", c)
	}
}

// Without a configuration there is nothing to connect to, but the program
// itself is still examined.
func TestBrokenConfig(t *testing.T) {
	o := healthy()
	o.Config.Err = errors.New("config.yaml:2: not YAML")
	o.Profiles, o.Model = nil, nil
	var names []string
	for _, c := range Run(t.Context(), o) {
		names = append(names, c.Name)
	}
	if got := strings.Join(names, " "); got != "version platform config stdio" {
		t.Errorf("checks: %s", got)
	}
}

func TestPrint(t *testing.T) {
	o := healthy()
	o.Config.File = "config.yaml"
	o.Config.Origins = []string{"server.debug from DEBUG"}
	o.Config.Warnings = []string{"config.yaml:3: server.transport: ignored\x1b[2J"}
	o.Policy = Setting{Problem: `reading policy "p.md": no such file`, Where: "policy.system.path (config.yaml:5)"}
	o.BaseURL, o.BaseOrigin = "http://me:secret@10.0.0.7/v1?key=secret", "OPENAI_BASE_URL"
	o.Model = func(context.Context, string) (json.RawMessage, *Fault) {
		return nil, &Fault{About: AboutKey, Status: 401, Text: "the API refused the key (401)", Cure: "renew it"}
	}
	checks := Run(t.Context(), o)
	checks[1].Text = "linux/amd64, go1.26" // differs from machine to machine
	var text, doc strings.Builder
	if err := errors.Join(Print(&text, checks), PrintJSON(&doc, checks)); err != nil {
		t.Fatal(err)
	}
	want, err := os.ReadFile("testdata/report.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := strings.ReplaceAll(text.String(), version.Version, "VERSION")
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("the report is not testdata/report.txt (-want +got):\n%s", diff)
	}
	var back struct {
		Version string
		Verdict Verdict
		Checks  []Check
	}
	if err := json.Unmarshal([]byte(doc.String()), &back); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(checks, back.Checks); diff != "" || back.Verdict != Fail || back.Version != version.Version {
		t.Errorf("as JSON: version %q, verdict %q (-want +got):\n%s", back.Version, back.Verdict, diff)
	}
	if Failed(checks) != 2 {
		t.Errorf("Failed = %d, want 2", Failed(checks))
	}
}
