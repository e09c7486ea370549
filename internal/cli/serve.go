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

	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// The bearer tokens of serve, or the file that holds them.
const (
	tokensVariable     = "MCP_HTTP_TOKENS"
	tokensFileVariable = "MCP_HTTP_TOKENS_FILE"
)

// notGiven is the default of --drain.
const notGiven time.Duration = -1

// maxCallsLimit bounds --max-calls: each call holds memory and a connection.
const maxCallsLimit = 10000

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
	notice := f.Duration("notice", 2*time.Second, "")
	metricsAddress := f.String("metrics", "", "")
	logFormat := f.String("log-format", "text", "")
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
	case *maxCalls < 1 || *maxCalls > maxCallsLimit:
		problem = fmt.Sprintf("--max-calls %d is not in 1..%d", *maxCalls, maxCallsLimit)
	case *drain < 0 && *drain != notGiven:
		problem = fmt.Sprintf("--drain %s is negative", *drain)
	case *notice < 0:
		problem = fmt.Sprintf("--notice %s is negative", *notice)
	case *logFormat != "text" && *logFormat != "json":
		problem = fmt.Sprintf("--log-format %s is not text or json", *logFormat)
	}
	if problem != "" {
		return &failure{exitUsage, problem, f.seeHelp()}
	}
	tokens, err := a.tokens()
	if err != nil {
		return &failure{exitUsage, err.Error(), "name:token, separated by commas or blanks"}
	}
	ln, err := listen("--http", *address)
	if err != nil {
		return err
	}
	defer ln.Close()
	var metricsListener net.Listener
	if *metricsAddress != "" {
		if metricsListener, err = listen("--metrics", *metricsAddress); err != nil {
			return err
		}
		defer metricsListener.Close()
	}
	access := httpd.Access{Loopback: httpd.IsLoopback(ln), Tokens: tokens, Hosts: hosts}
	if !access.Loopback && tokens == nil && !*anonymous {
		return &failure{
			exitUsage, "an address other than loopback needs bearer tokens in " + tokensVariable + " or " + tokensFileVariable,
			"or --allow-anonymous, to let any caller use the key",
		}
	}
	a.logFormat = *logFormat
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
		logCall(w.log, c)
	}
	s := server.New(o)
	switch {
	case metricsListener != nil:
		w.log.Info(fmt.Sprintf("serving metrics on http://%s/metrics", metricsListener.Addr()))
	case tokens != nil:
		w.log.Warn("/metrics needs a token; --metrics ADDRESS serves it without one on an address of its own")
	}
	w.log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), *endpoint))
	return httpd.Serve(ctx, ln, httpd.Options{
		MCP:  s.MCP,
		Path: *endpoint,
		Ready: func() error {
			if !f.offline && !w.config.KeySet {
				return errors.New("Missing API key: set " + w.config.KeyEnv)
			}
			return nil
		},
		Notice:          *notice,
		Drain:           *drain,
		MaxCalls:        *maxCalls,
		Access:          access,
		Waiting:         s.Waiting,
		Metrics:         metrics,
		MetricsListener: metricsListener,
		Log:             w.log,
	})
}

// tokens returns the bearer tokens of the environment, nil without any. All of
// them reach the redactor.
func (a *app) tokens() (*httpd.Tokens, error) {
	list, file := a.variable(tokensVariable), a.variable(tokensFileVariable)
	learn := func(secret string) {
		a.secrets = append(a.secrets, secret)
		if a.redactor != nil { // since the configuration is loaded
			a.redactor.Add(secret)
		}
	}
	switch {
	case list != "" && file != "":
		return nil, errors.New(tokensVariable + " and " + tokensFileVariable + " are both set")
	case list != "":
		return httpd.NewTokens(tokensVariable, list, learn)
	case file != "":
		return httpd.ReadTokens(file, learn)
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

// logCall logs a call that has ended. The API's message is for debugging only:
// it may quote the question.
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
