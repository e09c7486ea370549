package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
)

// way is what was learned on the way to the API.
type way struct {
	checks   []Check // proxy, dns, tcp, tls, http: as far as the way went
	reached  bool    // an HTTP answer came
	accepted bool    // the answer was that of the API, which took the key
	key      *Fault  // the API refused the key
	secret   bool    // questions are answered, but what models there are is not told
	answered string  // the model that has answered a question, or ""
	models   map[string]lookup
}

// lookup is what the API said of a model.
type lookup struct {
	body  json.RawMessage
	fault *Fault
}

// explore asks the API for the first model and watches how the request gets
// there; then it asks for the others, side by side over the same connection.
func (o *Options) explore(ctx context.Context) *way {
	w := &way{models: map[string]lookup{}}
	p, c := newProbe(ctx, o)
	if c != nil {
		w.checks = append(w.checks, *c)
	}
	if p == nil {
		return w
	}
	first := o.Profiles[0].Model
	body, fault := p.ask(ctx, o, first)
	if fault != nil && fault.Status == 0 && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		// No stage took too long: it is doctor that has run out of time.
		fault = &Fault{Text: fmt.Sprintf("no answer came within %v", limit), Cure: "run doctor again; this machine or its network is very busy"}
	}
	w.models[first] = lookup{body, fault}
	w.reached = fault == nil || fault.Status != 0
	w.accepted = fault == nil || w.reached && fault.About == AboutModel
	if fault != nil && fault.About == AboutKey {
		w.key = fault
	}
	if fault == nil || fault.About != AboutKey || fault.Status != 0 { // else nothing was sent
		w.checks = append(w.checks, o.trusted(p.report(fault))...)
	}
	if w.accepted {
		o.lookUp(ctx, w)
	}
	return w
}

// lookUp asks for the models that are left, each once.
func (o *Options) lookUp(ctx context.Context, w *way) {
	ctx, cancel := context.WithTimeout(ctx, httpLimit)
	defer cancel()
	var left []string
	for _, p := range o.Profiles {
		if _, known := w.models[p.Model]; !known && !slices.Contains(left, p.Model) {
			left = append(left, p.Model)
		}
	}
	answers := make([]lookup, len(left))
	var wg sync.WaitGroup
	for i, id := range left {
		wg.Go(func() { answers[i].body, answers[i].fault = o.Model(ctx, id) })
	}
	wg.Wait()
	for i, id := range left {
		w.models[id] = answers[i]
	}
}

// vindicate takes the complaint back that the address is wrong: questions are
// answered there, though no models are told of. Some compatible servers are so,
// and the API to a key that may not see them. The model that answered is there,
// whatever was said of it.
func (w *way) vindicate(model string) {
	w.answered = model
	i := slices.IndexFunc(w.checks, func(c Check) bool { return c.Name == stageHTTP && c.Verdict != OK })
	if i >= 0 {
		w.checks[i] = Check{Name: stageHTTP, Verdict: OK, Text: "questions are answered; GET /models is not"}
		w.secret = true
	}
}

// Limits of the stages; together less than that of the whole run.
const (
	dnsLimit  = 5 * time.Second
	tcpLimit  = 5 * time.Second
	tlsLimit  = 5 * time.Second
	httpLimit = 7 * time.Second
)

// errSlow ends a request whose stage took too long.
var errSlow = errors.New("the stage took too long")

// probe watches one request. Its hooks are called from the goroutines of the
// HTTP client, also after the request has ended.
type probe struct {
	target, proxy *url.URL
	variable      string // that names the proxy

	mu     sync.Mutex
	stage  string            // the one under way
	passed map[string]string // what is known of those behind
	begun  time.Time         // when that began
	slow   bool              // the stage under way exceeded its limit
	ended  bool
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// newProbe finds out about the proxy. Without a probe the check says why;
// without a check there is nothing to say about a proxy but that there is none.
func newProbe(ctx context.Context, o *Options) (*probe, *Check) {
	c := Check{Name: stageProxy, Verdict: Fail}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, o.BaseURL, nil)
	if err != nil {
		c.Name, c.Text, c.Cure = stageHTTP, "openai.base_url is no URL", "correct openai.base_url (OPENAI_BASE_URL)"
		return nil, &c
	}
	p := &probe{target: req.URL, passed: map[string]string{}, variable: ProxyVariable(o.BaseURL, o.Variable)}
	// What is no URL gets http:// put before it, and is one then. The error and
	// the path would show it, and with it a password.
	if p.proxy, err = o.Proxy(req); err != nil || p.proxy != nil && (p.proxy.Hostname() == "" || strings.Trim(p.proxy.Path, "/") != "") {
		c.Text, c.Cure = "the address of the proxy is no URL", "correct "+p.variable+": http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT"
		return nil, &c
	}
	if p.proxy == nil {
		c = o.direct(req.URL)
		return p, &c
	}
	return p, nil // the report tells how it went
}

// direct explains why no proxy is used: the HTTP client passes silently over an
// address that it cannot read.
func (o *Options) direct(target *url.URL) Check {
	c := Check{Name: stageProxy, Verdict: OK, Text: "none"}
	name := ProxyVariable(o.BaseURL, o.Variable)
	switch {
	case o.Variable(name) == "":
	case loopback(target.Hostname()):
		c.Text = "none, this machine is reached directly"
	case cmp.Or(o.Variable("NO_PROXY"), o.Variable("no_proxy")) != "":
		c.Text = "none, by NO_PROXY"
	default:
		c.Verdict, c.Text, c.Cure = Warn, name+" is set and not used: it is no URL of a proxy", "correct "+name
	}
	return c
}

// ProxyVariable is the variable that names the proxy on the way to base, in
// small letters when only they are set. variable returns the value of one.
func ProxyVariable(base string, variable func(name string) string) string {
	name := "HTTPS_PROXY"
	if u, err := url.Parse(strings.TrimSpace(base)); err == nil && u.Scheme == "http" {
		name = "HTTP_PROXY"
	}
	if small := strings.ToLower(name); variable(name) == "" && variable(small) != "" {
		return small
	}
	return name
}

// address is what may be shown of the proxy: neither user nor password.
func (p *probe) address() string { return p.proxy.Scheme + "://" + p.proxy.Host }

// ask sends the request that is watched.
func (p *probe) ask(ctx context.Context, o *Options, model string) (json.RawMessage, *Fault) {
	ctx, p.cancel = context.WithCancelCause(ctx)
	defer p.cancel(nil)
	defer p.end()
	return o.Model(httptrace.WithClientTrace(ctx, p.trace()), model)
}

// begin enters a stage, if it is not under way already: several addresses of a
// host are tried side by side.
func (p *probe) begin(stage string, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.stage == stage {
		return
	}
	p.stage, p.begun = stage, time.Now()
	if p.timer != nil {
		p.timer.Stop()
	}
	p.timer = time.AfterFunc(limit, func() { p.late(stage) })
}

func (p *probe) late(stage string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended && p.stage == stage {
		p.slow = true
		p.cancel(errSlow)
	}
}

// pass leaves a stage behind.
func (p *probe) pass(stage, format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.ended {
		p.passed[stage] = fmt.Sprintf(format, args...)
	}
}

// elapsed is how long the stage under way has taken.
func (p *probe) elapsed() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return time.Since(p.begun)
}

func (p *probe) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ended = true
	if p.timer != nil {
		p.timer.Stop()
	}
}
