package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"regexp"
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

// tokensVariable has the bearer tokens of serve, see secretList.
const tokensVariable = "MCP_HTTP_TOKENS"

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

	ln, err := net.Listen("tcp", f.http)
	if err != nil {
		return err
	}
	defer ln.Close()
	if f.metrics != "" {
		f.options.MetricsListener, err = net.Listen("tcp", f.metrics)
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
	err = a.authenticate(f, ln, d.log)
	if err != nil {
		return err
	}
	err = a.outlive(d)
	if err != nil {
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
	f.Func("log-format", "", oneOf(&a.logFormat, logging.Text, logging.JSON))

	a.logFormat = logging.Text
	if wantsJSON(args) { // perhaps after a wrong flag
		a.logFormat = logging.JSON
	}
	err := f.parseAll(args)
	if err != nil {
		return nil, err
	}
	return f, f.check()
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
func (f *serveFlags) check() error {
	o := f.options
	isPerUserBad := o.MaxCallsPerUser < 1 || o.MaxCallsPerUser > o.MaxCalls
	problem := ""

	switch {
	case f.http == "":
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !cleanPath.MatchString(o.Path):
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", o.Path)
	case httpd.IsReserved(o.Path):
		problem = fmt.Sprintf("--path %s is taken", o.Path)
	case o.MaxCalls < 1, o.MaxCalls > highestMaxCalls:
		problem = fmt.Sprintf("--max-calls %d is not in 1..%d", o.MaxCalls, highestMaxCalls)
	case f.isGiven("max-calls-per-user") && isPerUserBad:
		problem = fmt.Sprintf("--max-calls-per-user %d is not in 1..%d, up to --max-calls",
			o.MaxCallsPerUser, o.MaxCalls)
	case o.Drain < 0, o.Notice < 0:
		problem = "--drain and --notice cannot be negative"
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

// cleanPath matches paths of URLs in the form that clients send, without patterns of http.ServeMux.
var cleanPath = regexp.MustCompile(`^/$|^(/\w[\w.~-]*)+$`)

// authenticate sets who may send requests to ln. An address that others reach needs a way to
// authenticate.
func (a *app) authenticate(f *serveFlags, ln net.Listener, log *slog.Logger) error {
	err := a.addTokens(f, log)
	if err != nil {
		return usageError("name:token, separated by commas or blanks", "%v", err)
	}
	err = f.signIn(log)
	if err != nil {
		return err
	}

	access := &f.options.Access
	access.Loopback = httpd.IsLoopback(ln)
	const ways = "bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE, or --oauth-issuer"
	switch {
	case access.Authenticates() && f.anonymous:
		return usageError(f.seeHelp(), "--allow-anonymous contradicts "+ways)
	case access.Authenticates():
		return nil
	case !access.Loopback && !f.anonymous:
		return usageError("or --allow-anonymous, to let any caller use the key",
			"an address other than loopback needs "+ways)
	case f.isGiven("max-calls-per-user"):
		return usageError("without tokens all calls are of one user, and --max-calls bounds them",
			"--max-calls-per-user needs "+ways)
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

// addTokens accepts the bearer tokens of the environment. The redactor knows all of them.
func (a *app) addTokens(f *serveFlags, log *slog.Logger) error {
	source, list, err := a.secretList(tokensVariable)
	inFile := source != tokensVariable
	isSet := inFile || len(list) > 0
	if err != nil || !isSet {
		return err
	}

	learn := func(secret string) { a.redactor.Add(secret) }
	tokens, err := httpd.NewTokens(source, list, learn)
	if err != nil {
		return err
	}
	access := &f.options.Access
	access.Authenticators = append(access.Authenticators, tokens)
	if !inFile {
		return nil
	}

	file := &watchedFile{
		what:    "tokens",
		path:    source,
		log:     log,
		current: newReading(list, nil),
		read:    config.ReadFile,
		accept: func(list []byte) error {
			err := tokens.Set(list)
			if err != nil {
				return err
			}
			log.Info("read the tokens again", "names", tokens.Names())
			return nil
		},
	}
	f.options.Background = append(f.options.Background, file.follow)
	return nil
}

// run serves requests on ln until ctx is done.
func (f *serveFlags) run(ctx context.Context, ln net.Listener, d *deps) error {
	o := f.options
	if d.keyFile != nil {
		o.Background = append(o.Background, d.keyFile.follow)
	}
	if o.MetricsListener == nil && o.Access.Authenticates() {
		d.log.Warn("/metrics needs a token of MCP_HTTP_TOKENS; " +
			"--metrics ADDRESS serves it without one on an address of its own")
	}
	d.log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), o.Path))
	err := d.ready()
	if err != nil {
		d.log.Warn("all calls fail: " + err.Error())
	}

	o.Log = d.log
	o.Metrics = httpd.NewMetrics(d.profiles)
	d.server.MaxCalls = o.MaxCalls
	d.server.PerUser = o.CallsPerUser
	d.server.Observe = func(c server.Ended) {
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
func logCall(log *slog.Logger, c server.Ended, model string) {
	log = log.With("call_id", c.ID)
	if c.Traceparent != "" {
		log = log.With("traceparent", c.Traceparent)
	}
	log = log.With("tool", c.Tool, "client", c.Person.Name, "app", c.App, "model", model,
		"outcome", c.Outcome)
	if c.Err != nil {
		log = log.With("kind", llm.KindOf(c.Err).Label())
		log.Debug("call failed", "err", c.Err)
	}

	e, ok := errors.AsType[*llm.Error](c.Err)
	if ok {
		log = log.With("status", e.Status, "code", text.Truncate(e.Code, 100))
	}

	// Not Seconds: it adds two numbers, and 2.72 s would be logged as 2.7199999999999998.
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
	log.Info("call",
		"request_id", text.Truncate(c.RequestID, 100),
		"attempts", c.Attempts,
		"seconds", seconds(c.Duration),
		"api_seconds", seconds(c.Time),
		"input_tokens", c.Meta.Usage.Input,
		"output_tokens", c.Meta.Usage.Output,
		"searches", c.Meta.Searches)
}
