package cli

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"path"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// The variables with the bearer tokens of serve, or with the file that holds them.
const (
	tokensVariable     = "MCP_HTTP_TOKENS"
	tokensFileVariable = "MCP_HTTP_TOKENS_FILE"
)

const (
	defaultMaxCalls = 256
	highestMaxCalls = 10000 // each call holds memory and a connection
)

// serve runs the MCP server over HTTP until ctx is done.
func (a *app) serve(ctx context.Context, args []string) error {
	f, err := a.parseServe(args)
	if err != nil {
		return err
	}

	ln, err := listen("--http", f.http)
	if err != nil {
		return err
	}
	defer ln.Close()
	if f.metrics != "" {
		f.options.MetricsListener, err = listen("--metrics", f.metrics)
		if err != nil {
			return err
		}
		defer f.options.MetricsListener.Close()
	}

	d, err := a.build(f.flags)
	if err != nil {
		return err
	}
	defer d.close()
	if err := a.authenticate(f, ln, d.log); err != nil {
		return err
	}
	if err := a.outlive(d); err != nil {
		return err
	}
	return f.run(ctx, ln, d)
}

// serveFlags are the flags of serve, and the options that they set.
type serveFlags struct {
	*flags
	options   httpd.Options
	http      string
	metrics   string
	anonymous bool
	oauth     oauth.Options
}

// parseServe parses and checks the flags of serve.
func (a *app) parseServe(args []string) (*serveFlags, error) {
	f := &serveFlags{flags: newFlags("serve")}

	o := &f.options
	f.StringVar(&f.http, "http", "", "")
	f.StringVar(&f.metrics, "metrics", "", "")
	f.BoolVar(&f.anonymous, "allow-anonymous", false, "")
	f.Func("allowed-host", "", f.allowHost)
	f.StringVar(&f.oauth.PublicURL, "public-url", "", "")
	f.Func("oauth-issuer", "", added(&f.oauth.Issuers))
	f.Func("oauth-audience", "", added(&f.oauth.Audiences))
	f.Func("oauth-scope", "", added(&f.oauth.Scopes))
	f.StringVar(&f.oauth.UserClaim, "oauth-user", "sub", "")
	f.StringVar(&o.Path, "path", "/mcp", "")
	f.DurationVar(&o.Drain, "drain", 0, "") // not given: as long as a call may last
	f.DurationVar(&o.Notice, "notice", 2*time.Second, "")
	f.IntVar(&o.MaxCalls, "max-calls", defaultMaxCalls, "")
	f.IntVar(&o.MaxCallsPerUser, "max-calls-per-user", 0, "")
	f.StringVar(&a.logFormat, "log-format", logging.Text, "")

	words, err := f.parse(joinDebug(args))
	if err != nil {
		if wantsJSON(args) { // after the wrong flag
			a.logFormat = logging.JSON
		}
		return nil, err
	}
	if len(words) > 0 {
		return nil, usageError(f.seeHelp(), "unexpected argument %q", words[0])
	}
	return f, f.check(a.logFormat)
}

// wantsJSON reports whether a command line has --log-format json.
func wantsJSON(args []string) bool {
	line := strings.Join(args, " ") + " "
	return strings.Contains(strings.ReplaceAll(line, "=", " "), "-log-format json ")
}

// allowHost adds an accepted Host header.
func (f *serveFlags) allowHost(s string) error {
	host := httpd.HostName(s)
	if host == "" || strings.Contains(s, "/") {
		return errors.New("not a host")
	}
	f.options.Access.Hosts = append(f.options.Access.Hosts, host)
	return nil
}

// added adds the values of a flag that may be given more than once.
func added(values *[]string) func(string) error {
	return func(s string) error {
		*values = append(*values, s)
		return nil
	}
}

// check returns what is wrong with a flag.
func (f *serveFlags) check(logFormat string) error {
	o := f.options
	isPerUserBad := o.MaxCallsPerUser < 1 || o.MaxCallsPerUser > o.MaxCalls
	problem := ""

	switch {
	case f.http == "":
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !isCleanPath(o.Path):
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", o.Path)
	case httpd.IsReserved(o.Path):
		problem = fmt.Sprintf("--path %s is taken", o.Path)
	case o.MaxCalls < 1, o.MaxCalls > highestMaxCalls:
		problem = fmt.Sprintf("--max-calls %d is not in 1..%d", o.MaxCalls, highestMaxCalls)
	case f.isGiven("max-calls-per-user") && isPerUserBad:
		const text = "--max-calls-per-user %d is not in 1..%d, up to --max-calls"
		problem = fmt.Sprintf(text, o.MaxCallsPerUser, o.MaxCalls)
	case o.Drain < 0:
		problem = fmt.Sprintf("--drain %s is negative", o.Drain)
	case f.anonymous && len(f.oauth.Issuers) > 0:
		problem = "--allow-anonymous contradicts --oauth-issuer"
	case o.Notice < 0:
		problem = fmt.Sprintf("--notice %s is negative", o.Notice)
	case logFormat != logging.Text && logFormat != logging.JSON:
		problem = fmt.Sprintf("--log-format %s is not text or json", logFormat)
	default:
		return nil
	}
	return usageError(f.seeHelp(), "%s", problem)
}

// isGiven reports whether the command line has a flag whose name begins with prefix.
func (f *serveFlags) isGiven(prefix string) (given bool) {
	f.Visit(func(fl *flag.Flag) { given = given || strings.HasPrefix(fl.Name, prefix) })
	return given
}

// isCleanPath reports whether p is the path of a URL, without patterns of http.ServeMux, in the
// form that clients send.
func isCleanPath(p string) bool {
	if strings.ContainsAny(p, "{} ?#%") {
		return false
	}
	return strings.HasPrefix(p, "/") && path.Clean(p) == p
}

// listen listens on the address of a flag.
func listen(flag, address string) (net.Listener, error) {
	ln, err := net.Listen("tcp", address)
	if err != nil {
		hint := flag + " takes HOST:PORT, an address of this machine that no other program uses"
		return nil, &failure{exitFailed, err.Error(), hint}
	}
	return ln, nil
}

// authenticate sets who may send requests to ln. An address that others reach needs a way to
// authenticate.
func (a *app) authenticate(f *serveFlags, ln net.Listener, log *slog.Logger) error {
	tokens, file, err := a.tokens(log)
	if err != nil {
		return usageError("name:token, separated by commas or blanks", "%v", err)
	}

	o := &f.options
	o.Access.Loopback = httpd.IsLoopback(ln)
	if tokens != nil {
		o.Access.Authenticators = append(o.Access.Authenticators, tokens)
	}
	f.follow(file, log)

	err = f.signIn(log)
	if err != nil {
		return err
	}

	open := !o.Access.Loopback && !o.Access.Authenticates()
	if open && !f.anonymous {
		return usageError("or --allow-anonymous, to let any caller use the key",
			"an address other than loopback needs bearer tokens in %s or %s, or --oauth-issuer",
			tokensVariable, tokensFileVariable)
	}
	if f.isGiven("max-calls-per-user") && !o.Access.Authenticates() {
		return usageError("without tokens all calls are of one user, and --max-calls bounds them",
			"--max-calls-per-user needs bearer tokens in %s or %s",
			tokensVariable, tokensFileVariable)
	}
	return nil
}

// signIn lets people sign in if a flag says where.
func (f *serveFlags) signIn(log *slog.Logger) error {
	if !f.isGiven("public-url") && !f.isGiven("oauth-") {
		return nil
	}

	f.oauth.Client = llm.NewHTTPClient()
	f.oauth.Log = log
	resource, err := oauth.New(f.oauth)
	if err != nil {
		return usageError(f.seeHelp(), "%v", err)
	}
	f.options.Access.SignIn(resource)
	f.options.Background = append(f.options.Background, resource.Run)

	if len(f.oauth.Scopes) == 0 {
		log.Warn("without --oauth-scope, ID tokens and tokens for other purposes may be accepted")
	}
	return nil
}

// tokens returns the bearer tokens of the environment, or nil, and the file that they come from, or
// nil. The redactor knows all of them.
func (a *app) tokens(log *slog.Logger) (*httpd.Tokens, *watchedFile, error) {
	list := a.variable(tokensVariable)
	path := a.variable(tokensFileVariable)
	learn := func(secret string) { a.redactor.Add(secret) }
	switch {
	case list != "" && path != "":
		return nil, nil, errors.New(tokensVariable + " and " + tokensFileVariable + " are both set")
	case list != "":
		tokens, err := httpd.NewTokens(tokensVariable, []byte(list), learn)
		return tokens, nil, err
	case path == "":
		return nil, nil, nil
	}

	data, err := config.ReadFile(path)
	if err != nil {
		return nil, nil, fmt.Errorf("reading tokens: %w", err)
	}
	tokens, err := httpd.NewTokens(path, data, learn)
	return tokens, &watchedFile{
		what:    "tokens",
		current: newReading(data, nil),
		read:    func() ([]byte, error) { return config.ReadFile(path) },
		accept: func(data []byte) error {
			if err := tokens.Set(data); err != nil {
				return err
			}
			log.Info("read the tokens again", "names", tokens.Names())
			return nil
		},
	}, err
}

// follow reads a file again while the server runs. nil is no file.
func (f *serveFlags) follow(file *watchedFile, log *slog.Logger) {
	if file != nil {
		run := func(ctx context.Context) { file.follow(ctx, log) }
		f.options.Background = append(f.options.Background, run)
	}
}

// run serves requests on ln until ctx is done.
func (f *serveFlags) run(ctx context.Context, ln net.Listener, d *deps) error {
	f.follow(d.keyFile, d.log)
	o := f.options
	if o.MetricsListener != nil {
		d.log.Info(fmt.Sprintf("serving metrics on http://%s/metrics", o.MetricsListener.Addr()))
	} else if o.Access.Authenticates() {
		d.log.Warn("/metrics needs a token of " + tokensVariable + "; " +
			"--metrics ADDRESS serves it without one on an address of its own")
	}
	d.log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), o.Path))
	if err := d.ready(); err != nil {
		d.log.Warn("all calls fail: " + err.Error())
	}

	o.Log = d.log
	o.Metrics = httpd.NewMetrics(d.profiles)
	d.server.MaxCalls = o.MaxCalls
	d.server.PerUser = o.CallsPerUser
	d.server.Observe = func(c server.Call) {
		c.Client = cmp.Or(c.Client, "anonymous")
		o.Metrics.Observe(c)
		logCall(d.log, c, d.profiles[c.Tool].Model)
	}
	o.Server = server.New(d.server)

	o.Ready = d.ready
	if !f.isGiven("drain") {
		o.Drain = d.config.Timeout()
	}
	return httpd.Serve(ctx, ln, o)
}

// logCall logs a call. The API's message may quote the question, so it is for debugging only.
func logCall(log *slog.Logger, c server.Call, model string) {
	log = log.With("call_id", c.ID)
	if c.Stats.Traceparent != "" {
		log = log.With("traceparent", c.Stats.Traceparent)
	}
	log = log.With("tool", c.Tool, "client", c.Client, "app", c.App, "model", model,
		"outcome", c.Outcome)
	if c.Err != nil {
		log = log.With("kind", c.Kind())
		log.Debug("call failed", "err", c.Err)
	}

	if e, ok := errors.AsType[*llm.Error](c.Err); ok {
		log = log.With("status", e.Status, "code", text.Truncate(e.Code, 100))
	}

	// Not Seconds: it adds two numbers, and 2.72 s would be logged as 2.7199999999999998.
	seconds := func(d time.Duration) float64 {
		return float64(d.Round(time.Millisecond).Milliseconds()) / 1000
	}
	log.Info("call",
		"request_id", text.Truncate(c.Stats.RequestID, 100),
		"attempts", c.Stats.Attempts,
		"seconds", seconds(c.Duration),
		"api_seconds", seconds(c.Stats.Time),
		"input_tokens", c.Meta.Usage.Input,
		"output_tokens", c.Meta.Usage.Output,
		"searches", c.Meta.Searches)
}
