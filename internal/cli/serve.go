package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// tokensVariable holds the bearer tokens of serve.
const tokensVariable = "MCP_HTTP_TOKENS"

// serving is a parsed command line of serve.
type serving struct {
	*flags
	address, path string
	drain         time.Duration
	maxCalls      int
	anonymous     bool
	hosts         []string
}

func parseServe(args []string) (*serving, error) {
	f := &serving{flags: newFlags("serve")}
	f.StringVar(&f.address, "http", "", "")
	f.StringVar(&f.path, "path", "/mcp", "")
	f.DurationVar(&f.drain, "drain", 0, "")
	f.IntVar(&f.maxCalls, "max-calls", 256, "")
	f.BoolVar(&f.anonymous, "allow-anonymous", false, "")
	f.Func("allowed-host", "", func(s string) error {
		f.hosts = append(f.hosts, strings.ToLower(s))
		return nil
	})
	words, err := f.parse(joinDebug(args))
	problem := ""
	switch {
	case err != nil:
		return nil, err
	case len(words) > 0:
		problem = fmt.Sprintf("unexpected argument %q", words[0])
	case f.address == "":
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !strings.HasPrefix(f.path, "/") || strings.ContainsAny(f.path, "{} "):
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", f.path)
	case f.path == "/healthz" || f.path == "/readyz" || f.path == "/metrics":
		problem = fmt.Sprintf("--path %s is taken", f.path)
	case f.maxCalls < 1:
		problem = fmt.Sprintf("--max-calls %d is not at least 1", f.maxCalls)
	case f.drain < 0:
		problem = fmt.Sprintf("--drain %s is negative", f.drain)
	default:
		return f, nil
	}
	return nil, &usageError{problem: problem, hint: f.seeHelp()}
}

// serve runs the MCP server over HTTP until ctx is done.
func (a *app) serve(ctx context.Context, args []string) error {
	f, err := parseServe(args)
	if err != nil {
		return err
	}
	tokens, err := httpd.ParseTokens(a.variable(tokensVariable))
	if err != nil {
		return &usageError{problem: err.Error(), hint: "name:token, separated by commas or blanks"}
	}
	ln, err := net.Listen("tcp", f.address)
	if err != nil {
		return fmt.Errorf("listening on %s: %w", f.address, err)
	}
	defer ln.Close()
	access := httpd.Access{Loopback: httpd.IsLoopback(ln), Tokens: tokens, Hosts: f.hosts}
	if !access.Loopback && len(tokens) == 0 && !f.anonymous {
		return &usageError{
			problem: "an address other than loopback needs bearer tokens in " + tokensVariable,
			hint:    "or --allow-anonymous, to let any caller use the key",
		}
	}
	a.logsCalls = true
	w, err := a.wire(f.flags)
	if err != nil {
		return err
	}
	defer w.close()
	if f.drain == 0 {
		f.drain = w.config.Timeout()
	}
	metrics := httpd.NewMetrics()
	o := w.server()
	o.MaxCalls = f.maxCalls
	o.Observe = func(c server.Call) {
		if c.Client == "" {
			c.Client = "anonymous"
		}
		metrics.Observe(c)
		w.log.Info("call", "tool", c.Tool, "client", c.Client, "outcome", c.Outcome,
			"seconds", c.Duration.Round(time.Millisecond).Seconds(), "tokens", c.Meta.Usage.Total, "searches", c.Meta.Searches)
	}
	a.note("serving MCP on http://%s%s", ln.Addr(), f.path)
	return httpd.Serve(ctx, ln, httpd.Options{
		MCP:      server.New(o).MCP,
		Path:     f.path,
		Ready:    func() error { return ready(w, f.offline) },
		Drain:    f.drain,
		MaxCalls: f.maxCalls,
		Access:   access,
		Metrics:  metrics,
		Log:      w.log,
	})
}

// ready reports why calls cannot be answered: no key is set.
func ready(w *wiring, offline bool) error {
	if !offline && !w.config.KeySet {
		return errors.New("Missing API key: set " + w.config.KeyEnv)
	}
	return nil
}
