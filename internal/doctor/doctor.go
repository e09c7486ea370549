// Package doctor finds out why the server does not answer: it checks the
// configuration, the way to the API step by step, the models and the server's
// own protocol, and names a cure for whatever is wrong (doctor of spec §14).
//
// It is given values and functions and knows neither files, flags nor the
// Responses API. What it reports is safe to paste into an issue: the API key is
// not among what it is given, and URLs are shown without user and query.
package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"runtime"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Verdict is the outcome of a check.
type Verdict string

// The verdicts. A warning works today.
const (
	OK   Verdict = "ok"
	Warn Verdict = "warn"
	Fail Verdict = "fail"
)

// Check is one thing that was looked at.
type Check struct {
	Name    string   `json:"name"`
	Verdict Verdict  `json:"verdict"`
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	Cure    string   `json:"cure,omitempty"` // what to do, unless the verdict is OK
}

// limit bounds a run without the live call.
const limit = 30 * time.Second

// Options are what there is to look at.
type Options struct {
	Config Config
	Policy Setting
	Debug  Setting

	Offline    bool   // the built-in API takes the place of the real one
	KeyEnv     string // variable that holds the API key
	KeySet     bool
	GetKey     string // what to do to get one and set it
	BaseURL    string
	BaseOrigin string    // where the base URL was set
	Profiles   []Profile // at least one
	RootsFlaw  string    // why the file that SSL_CERT_FILE names is of no use, or ""

	// Proxy is the rule of the HTTP client, usually http.ProxyFromEnvironment.
	Proxy func(*http.Request) (*url.URL, error)
	// Variable returns an environment variable, "" when it is not set.
	Variable func(name string) string
	// Model asks the API for a model, over the HTTP client of the server. The
	// context carries a trace of the connection.
	Model func(ctx context.Context, id string) (json.RawMessage, *Fault)
	// Stdio speaks with the server in framed messages or in lines and returns
	// the number of its tools.
	Stdio func(ctx context.Context, lines bool) (tools int, err error)
	// Live asks the model of the first profile one short question; nil: none is
	// asked. It bounds itself.
	Live func(ctx context.Context) (*Answer, *Fault)
	// Now tells the time; nil: time.Now.
	Now func() time.Time
}

// Config is how the configuration was read.
type Config struct {
	Looked   []string // the files looked for, in order
	File     string   // the one that was read, or ""
	Origins  []string // what is not a default, and where it comes from
	Warnings []string
	Err      error // why there is no configuration; nothing else counts then
}

// Setting is a file that the configuration names.
type Setting struct {
	Text    string // what is in effect
	Problem string // why that is not what was asked for, or ""
	Where   string // what to correct
}

// Profile is a model as a tool uses it.
type Profile struct {
	Name  string // answer
	Model string
	Where string // the setting that names the model
	Sent  string // which parameters go with it
}

// About says what a Fault is the fault of.
type About int

// What a fault can be about, beside the connection or the API itself.
const (
	AboutOther   About = iota
	AboutKey           // the API does not accept it
	AboutModel         // the API does not know it
	AboutScope         // the key may not ask for models
	AboutAddress       // something answers there, and it is not the API
)

// Fault is why a request failed, put into words.
type Fault struct {
	About  About
	Status int // HTTP status; 0 when no answer came
	Text   string
	Cure   string
}

// Answer is what came of the live question.
type Answer struct {
	Text    string // who answered, how fast, whether streamed
	Problem string // what is wrong with an answer all the same, or ""
	Cure    string
}

// Run checks everything and returns the checks in a fixed order. It ends with
// ctx, and without the live call within 30 seconds.
func Run(ctx context.Context, o Options) []Check {
	if o.Now == nil {
		o.Now = time.Now
	}
	bounded, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdio := make(chan Check, 1)
	go func() { stdio <- o.stdio(bounded) }()

	checks := append([]Check{programCheck(), platformCheck()}, o.configChecks()...)
	if o.Config.Err != nil {
		return append(checks, <-stdio)
	}
	way := o.explore(bounded)
	checks = append(checks, o.Policy.check("policy"), o.Debug.check("debug"), o.keyCheck(way), o.baseCheck())
	live := o.live(ctx, way)
	checks = append(checks, way.checks...)
	checks = append(checks, o.modelChecks(way)...)
	checks = append(checks, <-stdio)
	if live != nil {
		checks = append(checks, *live)
	}
	return checks
}

func programCheck() Check {
	return Check{Name: "version", Verdict: OK, Text: version.Name + " " + version.Version}
}

func platformCheck() Check {
	return Check{Name: "platform", Verdict: OK, Text: fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())}
}

// stdio speaks with the server as a client would, in both framings.
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

// live asks the question, if one is to be asked and there is a way to the API.
// An answer proves the address right that knew nothing of models.
func (o *Options) live(ctx context.Context, w *way) *Check {
	if o.Live == nil {
		return nil
	}
	c := &Check{Name: "live", Verdict: OK}
	if !o.Offline && !o.KeySet || !w.reached {
		c.Verdict, c.Text, c.Cure = Warn, "nothing was asked", "mend what failed above"
		return c
	}
	answer, fault := o.Live(ctx)
	if fault != nil {
		c.Verdict, c.Text, c.Cure = Fail, fault.Text, fault.Cure
		return c
	}
	c.Text = answer.Text
	if answer.Problem != "" {
		c.Verdict, c.Text, c.Cure = Warn, answer.Text+"; "+answer.Problem, answer.Cure
	}
	w.vindicate(o.Profiles[0].Model)
	return c
}
