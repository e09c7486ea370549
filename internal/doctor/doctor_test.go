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
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// healthy has nothing to complain about; the tests change parts of it.
func healthy() Options {
	return Options{
		Settings:      []Check{{Name: "config", Verdict: OK, Text: "read config.yaml", Details: []string{"server.debug from DEBUG"}}},
		KeyEnv:        "MY_KEY",
		KeySet:        true,
		BaseURL:       "https://api.example/v1",
		Profiles:      []Profile{{"answer", "gpt-5.2", "model_profiles.answer.model (default)", "effort is sent"}},
		Proxy:         func(*http.Request) (*url.URL, error) { return nil, nil },
		ProxyVariable: "HTTPS_PROXY",
		Variable:      func(string) string { return "" },
		Model:         model(`{"id":"gpt-5.2"}`, nil),
		Stdio:         func(context.Context, bool) (int, error) { return 3, nil },
		Now:           func() time.Time { return time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC) },
	}
}

func model(body string, f *Fault) func(context.Context, string) (json.RawMessage, *Fault) {
	return func(context.Context, string) (json.RawMessage, *Fault) { return json.RawMessage(body), f }
}

// lines returns the checks as `verdict name: text -> cure`, without those that
// always pass.
func lines(checks []Check) []string {
	list := []string{}
	for _, c := range checks {
		switch c.Name {
		case "version", "platform", "config", "base url", "proxy", "stdio":
			if c.Verdict == OK {
				continue
			}
		}
		list = append(list, strings.TrimSuffix(string(c.Verdict)+" "+c.Name+": "+c.Text+" -> "+c.Cure, " -> "))
	}
	return list
}

// Each problem is one failure with its cure; what follows from it is a warning.
func TestFaults(t *testing.T) {
	const http = "ok http: answers in 0 ms"
	tests := []struct {
		name   string
		change func(*Options)
		want   []string
	}{
		{"healthy", func(*Options) {}, []string{"ok key: MY_KEY is set and accepted", http, "ok model answer: gpt-5.2 is there; effort is sent"}},
		{"offline", func(o *Options) { o.Offline, o.KeySet = true, false },
			[]string{"ok key: none is needed with --offline", http, "ok model answer: gpt-5.2 is there; effort is sent"}},
		{"no key", func(o *Options) {
			o.KeySet, o.GetKey = false, "make one"
			o.Model = model("", &Fault{About: AboutKey, Status: 401, Text: "refused", Cure: "renew it"})
		}, []string{"fail key: MY_KEY is not set -> make one where the client starts the server; setup CLIENT shows how, --offline needs none",
			http, "warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above"}},
		{"refused key", func(o *Options) {
			o.Model = model("", &Fault{About: AboutKey, Status: 401, Text: "the API refused the key (401)", Cure: "renew it"})
		}, []string{"fail key: MY_KEY is set, but the API refused the key (401) -> renew it",
			http, "warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above"}},
		{"a key that cannot be sent", func(o *Options) {
			o.Model = model("", &Fault{About: AboutKey, Text: "the key has a line break", Cure: "one line"})
		}, []string{"fail key: MY_KEY is set, but the key has a line break -> one line",
			"warn http: no request was sent -> fix the failure above", "warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above"}},
		{"no connection, and a key in quotes", func(o *Options) {
			o.KeyFlaw = "it has quotes around it"
			o.Model = model("", &Fault{Text: "connection refused by 10.0.0.1:443", Cure: "check the firewall"})
			o.Live = func(context.Context) Check { panic("asked without a connection") }
		}, []string{"warn key: MY_KEY is set, but it has quotes around it -> put the key alone into MY_KEY",
			"fail http: connection refused by 10.0.0.1:443 -> check the firewall",
			"warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above",
			"warn live: no question was asked -> fix the failures above"}},
		{"a key that may not read models", func(o *Options) {
			o.Model = model("", &Fault{About: AboutScope, Status: 403, Text: "access denied (403)", Cure: "see with --live"})
		}, []string{"ok key: MY_KEY is set", "warn http: access denied (403) -> see with --live",
			"warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above"}},
		{"a server without models that answers", func(o *Options) {
			o.Model = model("", &Fault{About: AboutAddress, Status: 404, Text: "not found", Cure: "check the URL"})
			o.Live = func(context.Context) Check { return Check{"live", OK, "fine", nil, ""} }
		}, []string{"ok key: MY_KEY is set and accepted", "ok http: questions are answered; GET /models is not",
			"ok model answer: gpt-5.2 was not looked up: the server does not list models; effort is sent", "ok live: fine"}},
		{"a server without models", func(o *Options) {
			o.Model = model("", &Fault{About: AboutAddress, Status: 404, Text: "not found", Cure: "check the URL"})
		}, []string{"ok key: MY_KEY is set", "fail http: not found -> check the URL",
			"warn model answer: gpt-5.2 was not looked up; effort is sent -> fix the failure above"}},
		{"unlisted models, one of which answers", func(o *Options) {
			o.Profiles = append(o.Profiles, Profile{Name: "answer_quick", Model: "other", Where: "MODEL_QUICK"})
			o.Model = model("", &Fault{About: AboutModel, Status: 404, Text: "model not found (404)"})
			o.Live = func(context.Context) Check { return Check{"live", Warn, "not streamed", nil, "nothing"} }
		}, []string{"ok key: MY_KEY is set and accepted", http,
			"warn model answer: gpt-5.2: questions are answered, but the server does not list it; effort is sent -> nothing, if the answers are those of the model that you want",
			"fail model answer_quick: other: model not found (404) -> set another model in MODEL_QUICK", "warn live: not streamed -> nothing"}},
		{"a question that fails", func(o *Options) {
			o.Live = func(context.Context) Check { return Check{"live", Fail, "quota exceeded", nil, "pay"} }
		}, []string{"ok key: MY_KEY is set and accepted", http, "ok model answer: gpt-5.2 is there; effort is sent", "fail live: quota exceeded -> pay"}},
		{"the session fails", func(o *Options) {
			o.Profiles = nil
			o.Stdio = func(_ context.Context, lines bool) (int, error) {
				if lines {
					return 0, errors.New("the server has ended")
				}
				return 3, nil
			}
		}, []string{"fail stdio: initialize and tools/list in lines: the server has ended -> run smoke, with and without --ldjson, and report what it prints"}},
		{"plain http", func(o *Options) { o.BaseURL = "http://me:secret@10.0.0.7/v1?key=secret" },
			[]string{"warn base url: openai.base_url is plain http to 10.0.0.7: the API key is sent unencrypted -> use https, or a server on this machine",
				"ok key: MY_KEY is set and accepted", http, "ok model answer: gpt-5.2 is there; effort is sent"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := healthy()
				tt.change(&o)
				if diff := cmp.Diff(tt.want, lines(Run(t.Context(), o))); diff != "" {
					t.Errorf("checks (-want +got):\n%s", diff)
				}
			})
		})
	}
}

func TestModel(t *testing.T) {
	const noModel = "warn model answer: gpt-5.2 was asked for, and what came back is not a model"
	tests := []struct{ body, want string }{
		{`{}`, noModel},
		{`[]`, noModel},
		{`{"ok":true,"data":[{"id":"gpt-5.2"}]}`, noModel},
		{`{"data":{"id":"gpt-5.2"}}`, "ok model answer: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":null}`, "ok model answer: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":["soon"]}`, "ok model answer: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":"some day"}`, "ok model answer: gpt-5.2 is there"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-21"}`, "ok model answer: gpt-5.2 is there until 2027-03-21"},
		{`{"id":"gpt-5.2","shutdown_date":"2027-03-20"}`, "warn model answer: gpt-5.2 is shut down on 2027-03-20 (days left: 120)"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-21T08:00:00Z"}`, "warn model answer: gpt-5.2 is shut down on 2026-11-21 (days left: 1)"},
		{`{"id":"gpt-5.2","shutdown_date":"2026-11-20"}`, "fail model answer: gpt-5.2 was shut down on 2026-11-20"},
	}
	for _, tt := range tests {
		o := healthy()
		o.Model = model(tt.body, nil)
		all := lines(Run(t.Context(), o))
		if got, _, _ := strings.Cut(all[len(all)-1], "; "); got != tt.want {
			t.Errorf("of %s: %q, want %q", tt.body, got, tt.want)
		}
	}
}

// Profiles share models: each is asked for once, within the limit.
func TestLookUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := healthy()
		o.Profiles = []Profile{{Name: "a", Model: "x"}, {Name: "b", Model: "y"}, {Name: "c", Model: "y"}, {Name: "d", Model: "z"}}
		asked := make(chan string, 10)
		o.Model = func(ctx context.Context, id string) (json.RawMessage, *Fault) {
			asked <- id
			if id == "y" {
				<-ctx.Done()
				return nil, &Fault{Text: "timed out", Cure: "raise request.timeout_ms"}
			}
			return json.RawMessage(`{"id":"` + id + `"}`), nil
		}
		begin := time.Now()
		got := lines(Run(t.Context(), o))
		want := "warn model b: y could not be looked up: no answer within 15s; -> check the network, the firewall, openai.base_url and HTTPS_PROXY; try again later"
		if len(asked) != 3 || got[3] != want || time.Since(begin) != lookupLimit {
			t.Errorf("%d requests in %v: %q", len(asked), time.Since(begin), got)
		}
	})
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
		{"://", ""},
	}
	for _, tt := range tests {
		if got, _, _ := strings.Cut(ClearText(tt.base), ": the API key"); got != tt.want {
			t.Errorf("ClearText(%q) = %q, want %q", tt.base, got, tt.want)
		}
	}
}

func TestProxy(t *testing.T) {
	const bad = "fail proxy: the address in HTTPS_PROXY is not a URL"
	tests := []struct {
		base, proxy string // proxy as net/http returns it; "error": its error
		env         map[string]string
		want        string
	}{
		{"https://api.example/v1", "", nil, "ok proxy: none"},
		{"https://api.example/v1", "http://me:secret@proxy.example:3128", nil, "ok proxy: http://proxy.example:3128 (HTTPS_PROXY)"},
		{"https://api.example/v1", "", map[string]string{"HTTPS_PROXY": "%zz"}, "warn proxy: HTTPS_PROXY is set but not used: it is not the URL of a proxy"},
		{"https://api.example/v1", "", map[string]string{"HTTPS_PROXY": "http://p", "NO_PROXY": ".example"}, "ok proxy: none, because of NO_PROXY"},
		{"http://localhost/v1", "", map[string]string{"HTTPS_PROXY": "http://p"}, "ok proxy: none, as the API is on this machine"},
		{"https://api.example/v1", "error", nil, bad},
		{"https://api.example/v1", "http://http://me:secret@proxy:port", nil, bad},
		{"https://api.example/v1", "http://://me:secret@proxy", nil, bad},
	}
	for _, tt := range tests {
		o := healthy()
		o.BaseURL = tt.base
		o.Variable = func(name string) string { return tt.env[name] }
		o.Proxy = func(*http.Request) (*url.URL, error) {
			switch tt.proxy {
			case "":
				return nil, nil
			case "error":
				return nil, errors.New("http://me:secret@%zz")
			}
			return url.Parse(tt.proxy)
		}
		c := o.proxy()
		if got := string(c.Verdict) + " proxy: " + c.Text; got != tt.want || strings.Contains(c.Cure, "secret") || (c.Cure == "") != (c.Verdict == OK) {
			t.Errorf("%s through %q with %v: %s -> %s, want %s", tt.base, tt.proxy, tt.env, got, c.Cure, tt.want)
		}
	}
}

func TestPrint(t *testing.T) {
	o := healthy()
	o.Redactor = logging.NewRedactor("hidden-key")
	o.Settings = append(o.Settings, Check{"config", Warn, "config.yaml:3: server.transport: ignored\x07", nil, "remove it"})
	o.BaseURL, o.BaseOrigin = "https://me:secret@10.0.0.7/v1?key=secret", "OPENAI_BASE_URL"
	o.Model = model("", &Fault{Status: 500, Text: "the server said hidden-key", Cure: "try again"})
	synctest.Test(t, func(t *testing.T) {
		checks := Run(t.Context(), o)
		checks[1].Text = "linux/amd64, go1.26" // depends on the machine
		var text, doc strings.Builder
		if err := errors.Join(Print(&text, checks), PrintJSON(&doc, checks)); err != nil {
			t.Fatal(err)
		}
		want, err := os.ReadFile("testdata/report.txt")
		if err != nil {
			t.Fatal(err)
		}
		got := strings.ReplaceAll(text.String(), version.Version, "VERSION")
		if diff := cmp.Diff(strings.ReplaceAll(string(want), "\r\n", "\n"), got); diff != "" {
			t.Errorf("not testdata/report.txt (-want +got):\n%s", diff)
		}
		var back struct {
			Version string
			Verdict Verdict
			Checks  []Check
		}
		if err := json.Unmarshal([]byte(doc.String()), &back); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(checks, back.Checks); diff != "" || back.Verdict != Fail || back.Version != version.Version || Failed(checks) != 1 {
			t.Errorf("as JSON: version %q, verdict %q (-want +got):\n%s", back.Version, back.Verdict, diff)
		}
	})
}
