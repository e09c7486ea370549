package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"path"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// tokensVariable holds the bearer tokens of serve.
const tokensVariable = "MCP_HTTP_TOKENS"

// notGiven is the default of --drain.
const notGiven time.Duration = -1

// serve runs the MCP server over HTTP until ctx is done.
func (a *app) serve(ctx context.Context, args []string) error {
	f := newFlags("serve")
	var hosts []string
	f.Func("allowed-host", "", func(s string) error {
		host := httpd.HostName(s)
		if host == "" || strings.Contains(s, "/") {
			return errors.New("not a host")
		}
		hosts = append(hosts, host)
		return nil
	})
	address := f.String("http", "", "")
	endpoint := f.String("path", "/mcp", "")
	drain := f.Duration("drain", notGiven, "")
	maxCalls := f.Int("max-calls", 256, "")
	anonymous := f.Bool("allow-anonymous", false, "")
	words, err := f.parse(joinDebug(args))
	if err != nil {
		return err
	}
	problem := ""
	switch {
	case len(words) > 0:
		problem = fmt.Sprintf("unexpected argument %q", words[0])
	case *address == "":
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !strings.HasPrefix(*endpoint, "/") || strings.ContainsAny(*endpoint, "{} ?#%") || path.Clean(*endpoint) != *endpoint:
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", *endpoint)
	case *endpoint == "/healthz" || *endpoint == "/readyz" || *endpoint == "/metrics":
		problem = fmt.Sprintf("--path %s is taken", *endpoint)
	case *maxCalls < 1:
		problem = fmt.Sprintf("--max-calls %d is not at least 1", *maxCalls)
	case *drain < 0 && *drain != notGiven:
		problem = fmt.Sprintf("--drain %s is negative", *drain)
	}
	if problem != "" {
		return &failure{exitUsage, problem, f.seeHelp()}
	}
	tokens, err := httpd.ParseTokens(a.variable(tokensVariable))
	if err != nil {
		return &failure{exitUsage, err.Error(), "name:token, separated by commas or blanks"}
	}
	ln, err := net.Listen("tcp", *address)
	if err != nil {
		return &failure{exitFailed, err.Error(), "--http takes HOST:PORT, an address of this machine that no other program uses"}
	}
	defer ln.Close()
	access := httpd.Access{Loopback: httpd.IsLoopback(ln), Tokens: tokens, Hosts: hosts}
	if !access.Loopback && len(tokens) == 0 && !*anonymous {
		return &failure{
			exitUsage, "an address other than loopback needs bearer tokens in " + tokensVariable,
			"or --allow-anonymous, to let any caller use the key",
		}
	}
	a.logsCalls = true
	for _, t := range tokens {
		a.secrets = append(a.secrets, t.Secret)
	}
	w, err := a.build(f)
	if err != nil {
		return err
	}
	defer w.close()
	if *drain == notGiven {
		*drain = w.config.Timeout()
	}
	metrics := httpd.NewMetrics()
	o := a.serverOptions(w)
	o.MaxCalls = *maxCalls
	o.Observe = func(c server.Call) {
		c.Client = cmp.Or(c.Client, "anonymous")
		metrics.Observe(c)
		log := w.log
		if c.Trace != "" {
			log = log.With("traceparent", c.Trace)
		}
		log.Info("call", "tool", c.Tool, "client", c.Client, "outcome", c.Outcome,
			"ms", c.Duration.Milliseconds(), "tokens", c.Meta.Usage.Total, "searches", c.Meta.Searches)
	}
	a.note("serving MCP on http://%s%s", ln.Addr(), *endpoint)
	return httpd.Serve(ctx, ln, httpd.Options{
		MCP:  server.New(o).MCP,
		Path: *endpoint,
		Ready: func() error {
			if !f.offline && !w.config.KeySet {
				return errors.New("Missing API key: set " + w.config.KeyEnv)
			}
			return nil
		},
		Drain:    *drain,
		MaxCalls: *maxCalls,
		Access:   access,
		Metrics:  metrics,
		Log:      w.log,
	})
}
