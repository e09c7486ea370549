package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// The variables with the bearer tokens of serve, or with the file that holds them.
const tokensVariable, tokensFileVariable = "MCP_HTTP_TOKENS", "MCP_HTTP_TOKENS_FILE"

// serve runs the MCP server over HTTP until ctx is done.
func (a *app) serve(ctx context.Context, args []string) error {
	f := newFlags("serve")
	o := httpd.Options{Metrics: httpd.NewMetrics()}
	f.Func("allowed-host", "", func(s string) error {
		host := httpd.HostName(s)
		if host == "" || strings.Contains(s, "/") {
			return errors.New("not a host")
		}
		o.Access.Hosts = append(o.Access.Hosts, host)
		return nil
	})
	const notGiven time.Duration = -1 // --drain
	f.StringVar(&o.Path, "path", "/mcp", "")
	f.DurationVar(&o.Drain, "drain", notGiven, "")
	f.DurationVar(&o.Notice, "notice", 2*time.Second, "")
	f.IntVar(&o.MaxCalls, "max-calls", 256, "")
	f.StringVar(&a.logFormat, "log-format", "text", "")
	address := f.String("http", "", "")
	metricsAddress := f.String("metrics", "", "")
	anonymous := f.Bool("allow-anonymous", false, "")
	words, err := f.parse(joinDebug(args))
	if err != nil {
		return err
	}
	help := f.seeHelp()
	switch {
	case len(words) > 0:
		return usageError(help, "unexpected argument %q", words[0])
	case *address == "":
		return usageError(help, "serve needs --http ADDRESS, such as 127.0.0.1:8080")
	case !strings.HasPrefix(o.Path, "/") || strings.ContainsAny(o.Path, "{} ?#%") || path.Clean(o.Path) != o.Path:
		return usageError(help, "--path %s is not a path, such as /mcp", o.Path)
	case o.Path == "/healthz" || o.Path == "/readyz" || o.Path == "/metrics":
		return usageError(help, "--path %s is taken", o.Path)
	case o.MaxCalls < 1 || o.MaxCalls > 10000: // each call holds memory and a connection
		return usageError(help, "--max-calls %d is not in 1..10000", o.MaxCalls)
	case o.Drain < 0 && o.Drain != notGiven:
		return usageError(help, "--drain %s is negative", o.Drain)
	case o.Notice < 0:
		return usageError(help, "--notice %s is negative", o.Notice)
	case a.logFormat != "text" && a.logFormat != "json":
		return usageError(help, "--log-format %s is not text or json", a.logFormat)
	}
	ln, err := listen("--http", *address)
	if err != nil {
		return err
	}
	defer ln.Close()
	if *metricsAddress != "" {
		o.MetricsListener, err = listen("--metrics", *metricsAddress)
		if err != nil {
			return err
		}
		defer o.MetricsListener.Close()
	}
	d, err := a.build(f)
	if err != nil {
		return err
	}
	defer d.close()
	o.Access.Loopback = httpd.IsLoopback(ln)
	o.Access.Tokens, err = a.tokens()
	switch {
	case err != nil:
		return usageError("name:token, separated by commas or blanks", "%v", err)
	case !o.Access.Loopback && o.Access.Tokens == nil && !*anonymous:
		return usageError("or --allow-anonymous, to let any caller use the key",
			"an address other than loopback needs bearer tokens in %s or %s", tokensVariable, tokensFileVariable)
	case o.MetricsListener != nil:
		d.log.Info(fmt.Sprintf("serving metrics on http://%s/metrics", o.MetricsListener.Addr()))
	case o.Access.Tokens != nil:
		d.log.Warn("/metrics needs a token; --metrics ADDRESS serves it without one on an address of its own")
	}
	d.log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), o.Path))
	d.server.MaxCalls = o.MaxCalls
	d.server.Observe = func(c server.Call) {
		c.Client = cmp.Or(c.Client, "anonymous")
		o.Metrics.Observe(c)
		logCall(d.log, c)
	}
	o.Server = server.New(d.server)
	o.Log = d.log
	o.Ready = func() error {
		if !f.offline && !d.config.KeySet {
			return errors.New("Missing API key: set " + d.config.KeyEnv)
		}
		return nil
	}
	if o.Drain == notGiven {
		o.Drain = d.config.Timeout()
	}
	return httpd.Serve(ctx, ln, o)
}

// tokens returns the bearer tokens of the environment, or nil. The redactor knows all of them.
func (a *app) tokens() (*httpd.Tokens, error) {
	list, file := a.variable(tokensVariable), a.variable(tokensFileVariable)
	learn := func(secret string) { a.redactor.Add(secret) }
	switch {
	case list != "" && file != "":
		return nil, errors.New(tokensVariable + " and " + tokensFileVariable + " are both set")
	case list != "":
		return httpd.NewTokens(tokensVariable, func() ([]byte, error) { return []byte(list), nil }, learn)
	case file != "":
		return httpd.NewTokens(file, func() ([]byte, error) { return config.ReadFile(file) }, learn)
	}
	return nil, nil
}

// listen listens on the address of a flag.
func listen(flag, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		return nil, &failure{exitFailed, err.Error(), flag + " takes HOST:PORT, an address of this machine that no other program uses"}
	}
	return ln, nil
}

// logCall logs a call. The API's message may quote the question, so it is for debugging only.
func logCall(log *slog.Logger, c server.Call) {
	if c.Trace != "" {
		log = log.With("traceparent", c.Trace)
	}
	log = log.With("tool", c.Tool, "client", c.Client, "outcome", c.Outcome)
	request := c.Meta.RequestID
	if c.Err != nil {
		log = log.With("kind", c.Kind())
		log.Debug("call failed", "err", c.Err)
	}
	if e, ok := errors.AsType[*llm.Error](c.Err); ok {
		log = log.With("status", e.Status, "code", text.Truncate(e.Code, 100))
		request = e.RequestID
	}
	log.Info("call", "request_id", request, "seconds", c.Duration.Round(time.Millisecond).Seconds(),
		"tokens", c.Meta.Usage.Total, "searches", c.Meta.Searches)
}
