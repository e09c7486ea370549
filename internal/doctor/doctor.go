// Package doctor finds out why the server does not answer: it checks the
// configuration, the connection to the API, the models and the server's own
// protocol, and names a cure for each problem (doctor of spec §14).
//
// doctor.go runs the checks, local.go has those that need no network, model.go
// those that ask the API for models, and print.go the output.
//
// The package gets values and functions and knows neither files, flags nor the
// Responses API. Its output is safe to paste into an issue.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Verdict is the result of a check.
type Verdict string

// The verdicts. With a warning the server works.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
)

// Check is the report about one subject.
type Check struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	Cure    string   `json:"cure,omitempty"` // what to do, unless the verdict is OK
}

// Options are the values and functions to check.
type Options struct {
	// Settings are the finished checks of the configuration.
	Settings []Check
	// Profiles are the models, that of answer first. Without profiles there is
	// no configuration, and only Settings and Stdio are reported.
	Profiles []Profile

	Offline    bool // the built-in API replaces the real one
	Key        Key
	BaseURL    string
	BaseOrigin string // where the base URL was set; "" or default: nowhere

	// Proxy is the rule of the HTTP client, usually http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// ProxyVariable is the variable that names the proxy for BaseURL.
	ProxyVariable string
	// Variable returns an environment variable, or "".
	Variable func(name string) string

	// Model asks the API for a model through the server's HTTP client.
	Model func(ctx context.Context, id string) (json.RawMessage, *Fault)
	// Stdio runs a session with the server, in lines or in framed messages, and
	// returns the number of tools.
	Stdio func(ctx context.Context, lines bool) (tools int, err error)
	// Live asks the model of the first profile one short question. nil: no
	// question is asked. It limits its own time.
	Live func(ctx context.Context) Check

	Redactor *logging.Redactor
	Now      func() time.Time // nil: time.Now
}

// Key is the API key, without its value.
type Key struct {
	Variable string // that holds it
	Set      bool
	Flaw     string // what looks wrong about it, such as "it has quotes around it", or ""
	Get      string // what to do to get one and set it
}

// Profile is a model as a tool uses it.
type Profile struct {
	Name  string // answer
	Model string
	Where string // the setting that names the model
	Sent  string // which parameters are sent with it
}

// About is the subject of a Fault.
type About int

// The subjects, other than the connection and the API in general.
const (
	AboutOther   About = iota
	AboutKey           // the API refuses it
	AboutModel         // the API does not have it
	AboutScope         // the key may not ask for models
	AboutAddress       // the server at the address is not the API, or has no models
)

// Fault is why a request failed.
type Fault struct {
	About  About
	Status int // HTTP status; 0 without a response
	Text   string
	Cure   string
}

// Run makes the checks and returns them in a fixed order. Without Live it takes
// at most 30 seconds.
func Run(ctx context.Context, o Options) []Check {
	if o.Now == nil {
		o.Now = time.Now
	}
	checks := append([]Check{
		{Name: "version", Verdict: OK, Text: version.Name + " " + version.Version},
		{Name: "platform", Verdict: OK, Text: fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())},
	}, o.Settings...)
	if len(o.Profiles) == 0 {
		checks = append(checks, o.stdio(ctx))
	} else {
		checks = append(checks, o.base(), o.proxy())
		found := o.lookUp(ctx)
		live := o.live(ctx, found)
		checks = append(checks, o.key(found))
		checks = append(checks, o.http(found)...)
		for _, p := range o.Profiles {
			checks = append(checks, o.model(p, found))
		}
		checks = append(append(checks, o.stdio(ctx)), live...)
	}
	for i := range checks {
		c := &checks[i]
		c.Text, c.Cure = o.clean(c.Text), o.clean(c.Cure)
		for j, d := range c.Details {
			c.Details[j] = o.clean(d)
		}
	}
	return checks
}

// clean removes secrets, which servers and files may repeat, and what a
// terminal would obey.
func (o *Options) clean(s string) string { return text.OneLine(o.Redactor.Redact(s)) }

// stdio runs a session with the server, in both framings.
func (o *Options) stdio(ctx context.Context) Check {
	c := Check{Name: "stdio", Verdict: OK}
	for _, lines := range []bool{false, true} {
		framing := "Content-Length framing"
		if lines {
			framing = "lines"
		}
		tools, err := o.Stdio(ctx, lines)
		if err != nil {
			c.Verdict, c.Text = Fail, fmt.Sprintf("initialize and tools/list in %s: %v", framing, err)
			c.Cure = "run smoke, with and without --ldjson, and report what it prints"
			return c
		}
		c.Text = fmt.Sprintf("initialize and tools/list answer with %d tools, in both framings", tools)
	}
	return c
}

// live asks the question if the API can be reached.
func (o *Options) live(ctx context.Context, f *findings) []Check {
	switch {
	case o.Live == nil:
		return nil
	case !o.Offline && !o.Key.Set, !f.reached():
		return []Check{{Name: "live", Verdict: Warn, Text: "no question was asked", Cure: "fix the failures above"}}
	}
	c := o.Live(ctx)
	if c.Verdict != Fail {
		f.answered = o.Profiles[0].Model
	}
	return []Check{c}
}
