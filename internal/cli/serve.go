package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// tokensVariable has the bearer tokens of serve, see secretList.
const tokensVariable = "MCP_HTTP_TOKENS"

// denyVariable names the file with the people whom serve refuses in spite of a token.
const denyVariable = "MCP_HTTP_DENY_FILE"

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

	ln, err := listen(f.http)
	if err != nil {
		return err
	}
	defer ln.Close()
	var metrics net.Listener
	if f.metrics != "" {
		metrics, err = listen(f.metrics)
		if err != nil {
			return err
		}
		defer metrics.Close()
	}

	s, err := a.build(f.flags)
	if err != nil {
		return err
	}
	defer s.close()
	if s.config.Server.ShowConfigOnStart { // on one line, as the log
		shown := s.config.Show(version.String(), s.warnings...)
		_ = printJSON(a.stderr, json.RawMessage(shown))
	}
	access, follow, err := a.authenticate(f, ln, s.log)
	if err != nil {
		return err
	}
	err = a.outlive(s, true)
	if err != nil {
		return err
	}
	return httpd.Serve(ctx, ln, f.options(s, access, follow, ln, metrics))
}

// listen listens on an address. Package net also listens on IPv6 for 0.0.0.0, unless the network is
// tcp4.
func listen(address string) (net.Listener, error) {
	network := "tcp"
	ip, _ := netip.ParseAddrPort(address) // or a name, or all addresses
	if ip.Addr().Is4() {
		network = "tcp4"
	}
	return net.Listen(network, address)
}

// serveFlags are the flags of serve.
type serveFlags struct {
	*flags
	http      string
	metrics   string
	path      string
	hosts     []string   // accepted Host headers
	proxy     netip.Addr // zero: none is trusted
	anonymous bool
	oauth     oauth.Options
	maxCalls  int
	perPerson int // of maxCalls
	perHour   int // of one person; 0: no limit
	notice    time.Duration
	drain     time.Duration
}

// parseServe parses and checks the flags of serve.
func (a *app) parseServe(args []string) (*serveFlags, error) {
	f := &serveFlags{flags: newFlags("serve"), notice: 2 * time.Second}
	f.refusalTime = 5 * time.Second // one person's loops must not reach the API for nothing

	f.StringVar(&f.http, "http", "", "")
	f.StringVar(&f.metrics, "metrics", "", "")
	f.BoolVar(&f.anonymous, "allow-anonymous", false, "")
	f.Func("allowed-host", "", f.allowHost)
	f.TextVar(&f.proxy, "trusted-proxy", netip.Addr{}, "")
	f.StringVar(&f.oauth.PublicURL, "public-url", "", "")
	f.Func("oauth-issuer", "", added(&f.oauth.Issuers))
	f.Func("oauth-audience", "", added(&f.oauth.Audiences))
	f.Func("oauth-scope", "", added(&f.oauth.Scopes))
	f.StringVar(&f.oauth.UserClaim, "oauth-user", "sub", "")
	f.StringVar(&f.path, "path", "/mcp", "")
	f.Func("drain", "", duration(&f.drain)) // not given: as long as a call may last
	f.Func("notice", "", duration(&f.notice))
	f.IntVar(&f.maxCalls, "max-calls", defaultMaxCalls, "")
	f.IntVar(&f.perPerson, "max-calls-per-user", 0, "")
	f.IntVar(&f.perHour, "calls-per-hour", 0, "")
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
	f.hosts = append(f.hosts, host)
	return nil
}

// added adds the values of a flag that may be given more than once.
func added(values *[]string) func(string) error {
	return func(s string) error {
		*values = append(*values, s)
		return nil
	}
}

// duration sets a flag that takes a duration.
func duration(value *time.Duration) func(string) error {
	return func(s string) error {
		d, err := time.ParseDuration(s)
		if err != nil || d < 0 {
			return errors.New("not a duration, such as 90s")
		}
		*value = d
		return nil
	}
}

// check returns what is wrong with a flag.
func (f *serveFlags) check() error {
	isPerPersonBad := f.perPerson < 1 || f.perPerson > f.maxCalls
	problem := ""

	switch {
	case !strings.Contains(f.http, ":"):
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !cleanPath.MatchString(f.path):
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", f.path)
	case httpd.IsReserved(f.path):
		problem = fmt.Sprintf("--path %s is taken", f.path)
	case f.maxCalls < 1, f.maxCalls > highestMaxCalls:
		problem = fmt.Sprintf("--max-calls %d is not in 1..%d", f.maxCalls, highestMaxCalls)
	case f.isGiven("max-calls-per-user") && isPerPersonBad:
		problem = fmt.Sprintf("--max-calls-per-user %d is not in 1..%d, up to --max-calls",
			f.perPerson, f.maxCalls)
	case f.isGiven("calls-per-hour") && f.perHour < 1:
		problem = fmt.Sprintf("--calls-per-hour %d is below 1", f.perHour)
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

// authenticate returns who may send requests to ln, and what follows the sources of tokens. An
// address that others reach needs a way to authenticate.
func (a *app) authenticate(
	f *serveFlags, ln net.Listener, log *slog.Logger,
) (access httpd.Access, follow []func(context.Context), err error) {
	tokens, file, err := a.tokens(log)
	if err != nil {
		return access, nil, usageError("name:token, separated by commas or blanks", "%v", err)
	}
	resource, err := f.resource(log)
	if err != nil {
		return access, nil, usageError(f.seeHelp(), "%v", err)
	}
	denied, follow, err := a.denied(log)
	if err != nil {
		return access, nil, err
	}
	access = httpd.Access{
		Loopback: httpd.IsLoopback(ln),
		Hosts:    f.hosts,
		Tokens:   tokens,
		Resource: resource,
		Denied:   denied,
	}
	if file != nil {
		follow = append(follow, file.follow)
	}
	if resource != nil {
		follow = append(follow, resource.Run)
	}

	const ways = "bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE, or --oauth-issuer"
	switch {
	case access.Authenticates() && f.anonymous:
		err = usageError(f.seeHelp(), "--allow-anonymous contradicts "+ways)
	case access.Authenticates():
	case denied != nil:
		err = usageError(f.seeHelp(), denyVariable+" needs "+ways)
	case !access.Loopback && !f.anonymous:
		err = usageError("or --allow-anonymous, to let any caller use the key",
			"an address other than loopback needs "+ways)
	case f.isGiven("max-calls-per-user"):
		err = usageError("without tokens all calls are of one user, and --max-calls bounds them",
			"--max-calls-per-user needs "+ways)
	}
	return access, follow, err
}

// resource returns what accepts the tokens of people who sign in, or nil if no flag says where.
func (f *serveFlags) resource(log *slog.Logger) (*oauth.Resource, error) {
	if !f.isGiven("public-url") && !f.isGiven("oauth-") {
		return nil, nil
	}

	f.oauth.Client = llm.NewHTTPClient()
	f.oauth.Log = log
	resource, err := oauth.New(f.oauth)
	if err == nil && len(f.oauth.Scopes) == 0 {
		log.Warn("without --oauth-scope, ID tokens and tokens for other purposes may be accepted")
	}
	return resource, err
}

// tokens returns the bearer tokens of the environment, nil without any, and their file, nil if they
// are in a variable. The redactor knows all of them.
func (a *app) tokens(log *slog.Logger) (*httpd.Tokens, *watchedFile, error) {
	source, list, err := a.secretList(tokensVariable)
	inFile := source != tokensVariable
	isSet := inFile || len(list) > 0
	if err != nil || !isSet {
		return nil, nil, err
	}

	learn := func(secret string) { a.redactor.Add(secret) }
	tokens, err := httpd.NewTokens(source, list, learn)
	if err != nil || !inFile {
		return tokens, nil, err
	}
	return tokens, &watchedFile{
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
			log.Info("read the tokens again", "names", len(tokens.Names()))
			return nil
		},
	}, nil
}

// denied returns who is refused in spite of a token, nil if no file says so, and what follows it.
func (a *app) denied(log *slog.Logger) (*atomic.Pointer[string], []func(context.Context), error) {
	path := a.variable(denyVariable)
	if path == "" {
		return nil, nil, nil
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return nil, nil, usageError("names or subjects, one a line", "%s: %v", denyVariable, err)
	}

	list := &atomic.Pointer[string]{}
	file := &watchedFile{
		what:    "list of denied people",
		path:    path,
		log:     log,
		current: newReading(data, nil),
		read:    config.ReadFile,
		accept: func(data []byte) error {
			list.Store(new(string(data)))
			log.Info("read the list of denied people")
			return nil
		},
	}
	return list, []func(context.Context){file.follow}, file.accept(data)
}

// options returns the options of the server on ln, and logs how it serves. metrics may be nil.
func (f *serveFlags) options(
	s *service, access httpd.Access, follow []func(context.Context), ln, metrics net.Listener,
) httpd.Options {
	if s.keyFile != nil {
		follow = append(follow, s.keyFile.follow)
	}
	if metrics == nil && access.Authenticates() {
		s.log.Warn("/metrics needs a token of MCP_HTTP_TOKENS; " +
			"--metrics ADDRESS serves it without one on an address of its own")
	}
	drain := f.drain
	if !f.isGiven("drain") {
		drain = s.config.Timeout()
	}
	perPerson := func() int { return access.CallsPerPerson(f.maxCalls, f.perPerson) }

	s.log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), f.path),
		"version", version.String(),
		"metrics", cmp.Or(f.metrics, f.http),
		"max_calls", f.maxCalls,
		"max_calls_per_user", perPerson(),
		"timeout", s.config.Timeout().String(),
		"drain", drain.String())
	err := s.ready()
	if err != nil {
		s.log.Warn("all calls fail: " + err.Error())
	}

	counts := httpd.NewMetrics(s.profiles)
	s.server.MaxCalls = f.maxCalls
	s.server.PerUser = perPerson
	s.server.PerHour = f.perHour
	s.server.Observe = func(c server.Ended) {
		counts.Observe(c)
		logCall(s.log, c, s.profiles[c.Tool].Model)
	}
	srv := server.New(s.server)
	follow = append(follow, func(ctx context.Context) {
		<-ctx.Done()
		srv.Close()
	})
	return httpd.Options{
		Server:          srv,
		Path:            f.path,
		Ready:           s.ready,
		Notice:          f.notice,
		Drain:           drain,
		MaxCalls:        f.maxCalls,
		PerPerson:       perPerson,
		Access:          access,
		Metrics:         counts,
		MetricsListener: metrics,
		TrustedProxy:    f.proxy,
		Background:      follow,
		Log:             s.log,
	}
}

// mendable are the kinds of errors that the operator can mend.
var mendable = []llm.Kind{
	llm.KindMissingKey,
	llm.KindAuth,
	llm.KindPermission,
	llm.KindQuota,
	llm.KindUnverified,
	llm.KindModel,
	llm.KindNotFound,
	llm.KindParameter,
	llm.KindConnection,
	llm.KindBadResponse,
}

// logCall logs a call. The API's message may quote the question, so it is for debugging only.
func logCall(log *slog.Logger, c server.Ended, model string) {
	log = log.With("call_id", c.ID)
	if c.Traceparent != "" {
		log = log.With("traceparent", c.Traceparent)
	}
	log = log.With("tool", c.Tool, "client", c.Person.Name, "app", c.App, "model", model,
		"outcome", c.Outcome)
	level := slog.LevelInfo
	kind := llm.KindOf(c.Err)
	if c.Err != nil {
		log = log.With("kind", kind.Label())
		log.Debug("call failed", "err", c.Err)
	}
	if kind == llm.KindConnection {
		log = log.With("cause", advice.Cause(c.Err))
	}
	if slices.Contains(mendable, kind) {
		level = slog.LevelWarn
	}

	e, ok := errors.AsType[*llm.Error](c.Err)
	if ok {
		log = log.With("status", e.Status, "code", text.Truncate(e.Code, 100))
	}

	// Not Seconds: it adds two numbers, and 2.72 s would be logged as 2.7199999999999998.
	seconds := func(d time.Duration) float64 { return float64(d.Milliseconds()) / 1000 }
	log.Log(context.Background(), level, "call",
		"request_id", c.RequestID,
		"attempts", c.Attempts,
		"seconds", seconds(c.Duration),
		"api_seconds", seconds(c.Time),
		"input_tokens", c.Meta.Usage.Input,
		"cached_tokens", c.Meta.Usage.Cached,
		"output_tokens", c.Meta.Usage.Output,
		"reasoning_tokens", c.Meta.Usage.Reasoning,
		"searches", c.Meta.Searches)
}
