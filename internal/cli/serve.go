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
	"strconv"
	"strings"
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

// highestMaxCalls bounds --max-calls: each call holds memory and a connection.
const highestMaxCalls = 10000

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
	if f.metrics != "" {
		f.MetricsListener, err = listen(f.metrics)
		if err != nil {
			return err
		}
		defer f.MetricsListener.Close()
	}

	s, err := a.build(f.flags)
	if err != nil {
		return err
	}
	defer s.close()
	if s.Config.Server.ShowConfigOnStart { // on one line, as the log
		shown := s.Config.Show(version.String(), s.warnings...)
		_ = printJSON(a.stderr, json.RawMessage(shown))
	}
	f.Log = s.log
	f.StaleFiles = &a.stale
	f.Access.Loopback = httpd.IsLoopback(ln)
	err = a.authenticate(f)
	if err == nil {
		err = a.outlive(s, true)
	}
	if err != nil {
		return err
	}
	f.complete(s, ln)
	return httpd.Serve(ctx, ln, f.Options)
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

// serveFlags are the flags of serve, and the server that they describe.
type serveFlags struct {
	*flags
	httpd.Options
	http      string
	metrics   string
	anonymous bool
	oauth     oauth.Options
	perHour   int // of one person; 0: no limit
}

// parseServe parses and checks the flags of serve.
func (a *app) parseServe(args []string) (*serveFlags, error) {
	f := &serveFlags{flags: newFlags("serve")}
	f.MaxCalls = 256
	f.Notice = 2 * time.Second
	f.refusalTime = 5 * time.Second // one person's loops must not reach the API for nothing

	f.StringVar(&f.http, "http", "", "")
	f.StringVar(&f.metrics, "metrics", "", "")
	f.BoolVar(&f.anonymous, "allow-anonymous", false, "")
	f.Func("allowed-host", "", f.allowHost)
	f.Func("trusted-proxy", "", f.trustProxy)
	f.StringVar(&f.oauth.PublicURL, "public-url", "", "")
	f.Func("oauth-issuer", "", added(&f.oauth.Issuers))
	f.Func("oauth-audience", "", added(&f.oauth.Audiences))
	f.Func("oauth-scope", "", added(&f.oauth.Scopes))
	f.StringVar(&f.oauth.UserClaim, "oauth-user", "sub", "")
	f.StringVar(&f.Path, "path", "/mcp", "")
	f.Func("drain", "", duration(&f.Drain)) // not given: as long as a call may last
	f.Func("notice", "", duration(&f.Notice))
	f.Func("max-calls", "", count(&f.MaxCalls))
	f.Func("max-calls-per-user", "", count(&f.PerPerson))
	f.Func("calls-per-hour", "", count(&f.perHour))
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
	f.Access.Hosts = append(f.Access.Hosts, host)
	return nil
}

// trustProxy sets the proxy whose X-Forwarded-For counts.
func (f *serveFlags) trustProxy(s string) (err error) {
	f.TrustedProxy, err = netip.ParseAddr(s)
	if err != nil {
		return errors.New("not an IP address, such as 10.0.0.2")
	}
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

// count sets a flag that takes a number of calls.
func count(value *int) func(string) error {
	return func(s string) error {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			return errors.New("not a whole number of at least 1")
		}
		*value = n
		return nil
	}
}

// check returns what is wrong with a flag.
func (f *serveFlags) check() error {
	problem := ""

	switch {
	case !strings.Contains(f.http, ":"):
		problem = "serve needs --http ADDRESS, such as 127.0.0.1:8080"
	case !cleanPath.MatchString(f.Path):
		problem = fmt.Sprintf("--path %s is not a path, such as /mcp", f.Path)
	case httpd.IsReserved(f.Path):
		problem = fmt.Sprintf("--path %s is taken", f.Path)
	case f.MaxCalls > highestMaxCalls:
		problem = fmt.Sprintf("--max-calls %d is more than %d", f.MaxCalls, highestMaxCalls)
	case f.PerPerson > f.MaxCalls:
		problem = fmt.Sprintf("--max-calls-per-user %d is more than --max-calls %d",
			f.PerPerson, f.MaxCalls)
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

// authenticate sets who may send requests. An address that others reach needs a way to
// authenticate.
func (a *app) authenticate(f *serveFlags) error {
	err := a.addTokens(f)
	if err != nil {
		return usageError("name:token, separated by commas or blanks", "%v", err)
	}
	err = f.addResource()
	if err != nil {
		return usageError(f.seeHelp(), "%v", err)
	}
	err = a.addDenied(f)
	if err != nil {
		return err
	}

	const ways = "bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE, or --oauth-issuer"
	authenticates := f.Access.Authenticates()
	switch {
	case authenticates && f.anonymous:
		return usageError(f.seeHelp(), "--allow-anonymous contradicts "+ways)
	case authenticates:
	case f.Access.Denied != nil:
		return usageError(f.seeHelp(), denyVariable+" needs "+ways)
	case !f.Access.Loopback && !f.anonymous:
		return usageError("or --allow-anonymous, to let any caller use the key",
			"an address other than loopback needs "+ways)
	case f.PerPerson > 0:
		return usageError("without tokens all calls are of one user, and --max-calls bounds them",
			"--max-calls-per-user needs "+ways)
	}
	return nil
}

// addResource accepts the tokens of people who sign in, if a flag says where.
func (f *serveFlags) addResource() (err error) {
	if !f.isGiven("public-url") && !f.isGiven("oauth-") {
		return nil
	}

	f.oauth.Client = llm.NewHTTPClient()
	f.oauth.Log = f.Log
	f.Access.Resource, err = oauth.New(f.oauth)
	if err != nil {
		return err
	}
	if len(f.oauth.Scopes) == 0 {
		f.Log.Warn("without --oauth-scope, ID tokens and tokens for other purposes may be accepted")
	}
	f.Background = append(f.Background, f.Access.Resource.Run)
	return nil
}

// addTokens accepts the bearer tokens of the environment. The redactor knows all of them.
func (a *app) addTokens(f *serveFlags) error {
	source, list, err := a.secretList(tokensVariable)
	inFile := source != tokensVariable
	isSet := inFile || len(list) > 0
	if err != nil || !isSet {
		return err
	}

	tokens, err := httpd.NewTokens(source, list, a.redactor.Add)
	accept := func(list []byte) error {
		gone := slices.Clone(tokens.Names())
		err := tokens.Set(list)
		if err != nil {
			return err
		}
		names := tokens.Names()
		gone = slices.DeleteFunc(gone, func(name string) bool { return slices.Contains(names, name) })
		log := f.Log.Info
		if len(gone) > 0 { // the file may have lost its end
			log = f.Log.Warn
		}
		log("read the tokens again", "names", len(names), "gone", gone)
		return nil
	}
	if inFile {
		a.watch(f, source, list, accept, "tokens")
	}
	f.Access.Tokens = tokens
	return err
}

// addDenied refuses the people in a file in spite of a token.
func (a *app) addDenied(f *serveFlags) error {
	path := a.variable(denyVariable)
	if path == "" {
		return nil
	}
	data, err := config.ReadFile(path)
	if err != nil {
		return usageError(denyForm, "%s: %v", denyVariable, err)
	}

	denied := httpd.NewDenied(f.Access)
	accept := func(data []byte) error {
		err := denied.Set(data)
		if err == nil {
			f.Log.Info("read the list of denied people", "entries", denied.Len())
		}
		return err
	}
	f.Access.Denied = denied
	a.watch(f, path, data, accept, "list of denied people")
	err = accept(data)
	if err != nil {
		return usageError(denyForm, "%s: %s: %v", denyVariable, path, err)
	}
	return nil
}

// denyForm is the hint for a wrong file of denied people.
const denyForm = "names or subjects, one a line"

// watch reads a file again while the server runs. data is what the file has now, and what is the
// name of the file in the log.
func (a *app) watch(f *serveFlags, path string, data []byte, accept func([]byte) error, what string) {
	file := &watchedFile{
		what:    what,
		path:    path,
		read:    config.ReadFile,
		accept:  accept,
		log:     f.Log,
		stale:   &a.stale,
		current: newReading(data, nil),
	}
	f.Background = append(f.Background, file.follow)
}

// complete sets the other options of the server on ln, and logs how it serves.
func (f *serveFlags) complete(s *service, ln net.Listener) {
	if f.MetricsListener == nil && f.Access.Authenticates() {
		f.Log.Warn("/metrics needs a token of MCP_HTTP_TOKENS; " +
			"--metrics ADDRESS serves it without one on an address of its own")
	}
	if !f.isGiven("drain") {
		f.Drain = s.Config.Timeout()
	}

	f.logStart(s, ln)
	f.Ready = s.ready
	f.Metrics = httpd.NewMetrics(s.Profiles)
	s.server.Explain = advice.ExplainToCaller
	s.server.MaxCalls = f.MaxCalls
	s.server.PerPerson = f.CallsPerPerson
	s.server.PerHour = f.perHour
	limiter := &logging.Limiter{}
	s.server.Observe = func(c server.Ended) {
		f.Metrics.Observe(c)
		n := 1
		if c.Outcome == "limited" || c.Outcome == "invalid" { // perhaps of a loop
			n = limiter.Count([2]string{c.Person.ID, c.Outcome})
		}
		log := f.Log
		if n > 1 {
			log = log.With("count", n)
		}
		if n > 0 {
			logCall(log, c, s.Profiles[c.Tool].Model, s.Advisor)
		}
	}
	f.Server = server.New(s.server)
	f.Background = append(f.Background, s.followKey, func(ctx context.Context) {
		<-ctx.Done()
		f.Server.Close()
	})
}

// logStart logs how the server serves on ln.
func (f *serveFlags) logStart(s *service, ln net.Listener) {
	log := f.Log.With(
		"version", version.String(),
		"metrics", cmp.Or(f.metrics, f.http),
		"timeout", s.Config.Timeout().String(),
		"drain", f.Drain.String(),
		"max_calls", f.MaxCalls)
	if f.CallsPerPerson() > 0 {
		log = log.With("max_calls_per_user", f.CallsPerPerson())
	}
	if f.perHour > 0 {
		log = log.With("calls_per_hour", f.perHour)
	}
	if f.Access.Denied != nil {
		log = log.With("denied", f.Access.Denied.Len())
	}
	log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), f.Path))
	err := s.ready()
	if err != nil {
		f.Log.Warn("all calls fail: " + err.Error())
	}
}

// forOperator are the kinds of errors that the operator can fix.
var forOperator = []llm.Kind{
	llm.KindMissingKey,
	llm.KindAuth,
	llm.KindPermission,
	llm.KindBlocked,
	llm.KindQuota,
	llm.KindUnverified,
	llm.KindModel,
	llm.KindNotFound,
	llm.KindParameter,
	llm.KindConnection,
	llm.KindBadResponse,
}

// logCall logs a call. The API's message may quote the question, so it is for debugging only.
func logCall(log *slog.Logger, c server.Ended, model string, advisor advice.Advisor) {
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
		log.Debug("call failed", "err", c.Err.Error())
	}
	if kind == llm.KindConnection {
		log = log.With("cause", advice.Cause(c.Err))
	}

	e, ok := errors.AsType[*llm.Error](c.Err)
	if ok {
		log = log.With("status", e.Status, "code", text.Truncate(e.Code, 100))
	}
	if slices.Contains(forOperator, kind) {
		level = slog.LevelWarn
		_, hint := advisor.Advise(c.Tool, c.Err) // the caller gets none of it
		log = log.With("hint", hint)
	}

	// Not Seconds: it adds two numbers, and 2.72 s would be logged as 2.7199999999999998.
	seconds := func(d time.Duration) float64 {
		return float64(d.Milliseconds()) / 1000
	}
	usage := c.Meta.Usage
	log.Log(context.Background(), level, "call",
		"request_id", c.RequestID,
		"attempts", c.Attempts,
		"seconds", seconds(c.Duration),
		"api_seconds", seconds(c.Time),
		"input_tokens", usage.Input,
		"cached_tokens", usage.Cached,
		"output_tokens", usage.Output,
		"reasoning_tokens", usage.Reasoning,
		"searches", c.Meta.Searches)
}
