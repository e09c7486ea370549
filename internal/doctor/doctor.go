// Package doctor finds out why the server does not answer: it checks the
// configuration, the connection to the API, the models and the server's own
// protocol, and names a cure for each problem (doctor of spec §14).
//
// doctor.go runs the checks and prints them, local.go has those that need no
// network, and model.go those that ask the API for models.
//
// The package gets values and functions and knows neither files, flags nor the
// Responses API. Its output is safe to paste into an issue.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
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

// Setting returns the check of a setting: OK with text, or a failure if problem
// is not empty.
func Setting(name, text, problem, cure string) Check {
	if problem != "" {
		return Check{Name: name, Verdict: Fail, Text: problem, Cure: cure}
	}
	return Check{Name: name, Verdict: OK, Text: text}
}

// Options are the values and functions to check.
type Options struct {
	Settings []Check   // the finished checks of the configuration
	Profiles []Profile // that of answer first; none: there is no configuration

	Offline    bool   // the built-in API replaces the real one
	KeyEnv     string // variable that holds the API key
	KeySet     bool
	KeyFlaw    string // what looks wrong about the key: "it has quotes around it"
	GetKey     string // what to do to get a key and set it
	BaseURL    string
	BaseOrigin string // where the base URL is set

	Proxy         func(*http.Request) (*url.URL, error) // the rule of the HTTP client
	ProxyVariable string                                // that names the proxy for BaseURL
	Variable      func(name string) string              // environment variable, or ""

	// Model asks the API for a model through the server's HTTP client.
	Model func(ctx context.Context, id string) (json.RawMessage, *Fault)
	// Stdio runs a session with the server, in lines or in framed messages, and
	// returns the number of tools.
	Stdio func(ctx context.Context, lines bool) (tools int, err error)
	// Live asks the first model one short question; nil: no question is asked.
	Live func(ctx context.Context) Check

	Redactor *logging.Redactor
	Now      func() time.Time // nil: time.Now
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
// at most half a minute.
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
		checks = append(checks, o.key(found), o.http(found))
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
	case !o.Offline && !o.KeySet, !f.reached():
		return []Check{{Name: "live", Verdict: Warn, Text: "no question was asked", Cure: "fix the failures above"}}
	}
	c := o.Live(ctx)
	if c.Verdict != Fail {
		f.answered = o.Profiles[0].Model
	}
	return []Check{c}
}

// Failed counts the checks that failed.
func Failed(checks []Check) int {
	n := 0
	for _, c := range checks {
		if c.Verdict == Fail {
			n++
		}
	}
	return n
}

// Print writes a line for each check, with details and cure indented below:
//
//	fail  model answer     gpt-9: model not found (404)
//	      -> set another model in model_profiles.answer.model (config.yaml:3)
//
// The error is that of out.
func Print(out io.Writer, checks []Check) error {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", c.Verdict, width, c.Name, c.Text)
		for _, d := range c.Details {
			fmt.Fprintf(&b, "      %s\n", d)
		}
		if c.Cure != "" {
			fmt.Fprintf(&b, "      -> %s\n", c.Cure)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// PrintJSON writes one object: the version, the worst verdict and the checks.
// The error is that of out.
func PrintJSON(out io.Writer, checks []Check) error {
	worst := OK
	for _, c := range checks {
		if c.Verdict == Fail || c.Verdict == Warn && worst == OK {
			worst = c.Verdict
		}
	}
	b, err := unescaped.Indented(struct {
		Version string  `json:"version"`
		Verdict Verdict `json:"verdict"`
		Checks  []Check `json:"checks"`
	}{version.Version, worst, checks}, "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(b, '\n'))
	return err
}
