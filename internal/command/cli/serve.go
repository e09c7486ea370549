package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/httpd"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

const serveText = `Serve MCP over Streamable HTTP, for a team that shares one server and one key.

Environment:

    OPENAI_API_KEY_FILE    a file that contains the key instead of OPENAI_API_KEY, read
                           again when it changes; without both, the key that login has
                           stored
    MCP_HTTP_TOKENS        bearer tokens, name:token, separated by commas or blanks;
                           needed on any address other than loopback, unless people
                           sign in; one named metrics opens /metrics only
    MCP_HTTP_TOKENS_FILE   a file that contains such tokens instead, one a line, read
                           again when it changes
    MCP_HTTP_DENY_FILE     a file with people who get 403, one a line: the name of a
                           token, or the name or subject of a person who signs in; read
                           again when it changes
    MCP_TASK_SECRETS       secrets of at least 32 characters that encrypt the ids of
                           tasks in the background, in place of the API key; the first
                           one encrypts, each one decrypts
    MCP_TASK_SECRETS_FILE  a file that contains such secrets instead
    MCP_STORE_URL          the URL of Valkey or Redis, in which all replicas count the
                           limits of an hour and a day: valkey://USER:PASSWORD@HOST:PORT,
                           or valkeys:// for TLS; ?prefix=NAME at its end keeps the
                           people of deployments on one store apart
    MCP_STORE_URL_FILE     a file that contains such a URL instead, read again when it
                           changes
    MCP_STORE_NAMES        0 keeps the names of people out of that store

GET /healthz and /readyz need no token. TLS belongs to a gateway in front:
https://github.com/uchimanajet7/openai-responses-mcp/blob/main/docs/reference/deployment.md`

// serveFlags are the flags of serve.
type serveFlags struct {
	*app
	httpAddress       string
	metricsAddress    string // "": /metrics is on httpAddress
	path              string
	maxCalls          int
	maxCallsPerPerson int    // 0: a quarter of maxCalls if there are several people
	limitsFile        string // file with limits of single people; "": none
	notice            time.Duration
	drain             time.Duration // below 0: the time limit of calls
	withoutStore      string        // allow or refuse
	hosts             []string      // in the form of httpd.HostName
	trustedProxy      netip.Addr
	allowAnonymous    bool
	oauth             oauth.Options // the flags of OAuth
}

// Values of --without-store.
const (
	allowWithoutStore  = "allow"
	refuseWithoutStore = "refuse"
)

// serveCommand returns the command serve, which runs the MCP server over HTTP.
func (a *app) serveCommand() *cobra.Command {
	f := &serveFlags{app: a, withoutStore: allowWithoutStore}
	f.config.Keys = map[string]string{}
	c := &cobra.Command{
		Use:   "serve --http ADDRESS",
		Short: "serve MCP over HTTP, for teams",
		Long:  serveText,
		Example: `  openai-responses-mcp serve --offline --http 127.0.0.1:8080
  MCP_HTTP_TOKENS_FILE=./tokens openai-responses-mcp serve --http :8080`,
		Args: noWords,
		RunE: f.run,
	}

	flags := c.Flags()
	flags.StringVar(&f.httpAddress, "http", "",
		"`ADDRESS` to listen on, such as 127.0.0.1:8080 or :8080; 0.0.0.0 is IPv4 only")
	flags.StringVar(&f.metricsAddress, "metrics", "",
		"`ADDRESS` of its own for GET /metrics, which then needs no token")
	flags.StringVar(&f.path, "path", "/mcp", "`PATH` of the MCP endpoint")

	flags.IntVar(&f.maxCalls, "max-calls", 256,
		fmt.Sprintf("`N` calls run at once, at most %d; as many again wait", highestMaxCalls))
	flags.IntVar(&f.maxCallsPerPerson, "max-calls-per-user", 0, "`N` of them run at once for "+
		"one person; 0, the default: a quarter of --max-calls if there are several people")
	f.addLimits(flags)
	completeFile(c, "limits")
	addChoice(c, &f.withoutStore, "without-store", "`WORD` for calls that have a limit while the "+
		"store fails: allow, by the limits of this replica, or refuse (default allow)",
		allowWithoutStore, refuseWithoutStore)

	flags.DurationVar(&f.notice, "notice", 2*time.Second,
		"everything stays open for this `DURATION` after SIGTERM")
	flags.DurationVar(&f.drain, "drain", -1,
		"calls may then finish for this `DURATION`, such as 90s")
	flags.Lookup("drain").DefValue = "request.timeout_ms" // the help names the setting
	addChoice(c, &a.options.LogFormat, "log-format", "`FORMAT` of the log: text or json (default text)",
		logging.Text, logging.JSON)

	flags.Func("allowed-host", "accept this `HOST` in the Host header; beside it a loopback "+
		"address accepts loopback names, and another address nothing; may be given more than once",
		f.allowHost)
	flags.TextVar(&f.trustedProxy, "trusted-proxy", netip.Addr{},
		"`ADDRESS` of a proxy, whose X-Forwarded-For has the address of the client, for the log")
	flags.BoolVar(&f.allowAnonymous, "allow-anonymous", false,
		"need no token on an address other than loopback")

	flags.StringVar(&f.oauth.PublicURL, "public-url", "", "`URL` that clients connect to, "+
		"such as https://mcp.example.com/mcp; its host is accepted as Host")
	addList(flags, &f.oauth.Issuers, "oauth-issuer", "people sign in at this `URL`, "+
		"written as in its tokens; may be given more than once, and needs --public-url")
	addList(flags, &f.oauth.Audiences, "oauth-audience", "tokens are for this `AUDIENCE`, in "+
		"place of the public URL; may be given more than once: one of them is enough")
	addList(flags, &f.oauth.Scopes, "oauth-scope",
		"each token needs this `SCOPE`; may be given more than once")
	flags.StringVar(&f.oauth.UserClaim, "oauth-user", subjectClaim,
		"`CLAIM` with the name for logs and metrics, such as email")
	f.addCommon(c, call.DefaultTool)
	return c
}

// run listens, and serves until the context of the command is done.
func (f *serveFlags) run(c *cobra.Command, _ []string) error {
	err := f.check()
	if err != nil {
		return err
	}
	ln, err := f.listen(f.httpAddress)
	if err != nil {
		return err
	}
	defer ln.Close()
	var metricsListener net.Listener // nil: /metrics is on ln
	if f.metricsAddress != "" {
		metricsListener, err = f.listen(f.metricsAddress)
		if err != nil {
			return err
		}
		defer metricsListener.Close()
	}

	f.options.RefusalPause = 5 * time.Second // agents in a loop must not reach the API
	s, err := f.loadService()
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Config.Server.ShowConfigOnStart { // on one line, for programs that read the log
		_ = printJSON(f.stderr, json.RawMessage(s.ConfigJSON()))
	}
	return f.serve(c.Context(), s, ln, metricsListener)
}

// serve builds the server from a Service, and runs it on ln until ctx ends. metricsListener may be
// nil.
func (f *serveFlags) serve(
	ctx context.Context, s *service.Service, ln, metricsListener net.Listener,
) error {
	files := s.NewFiles()
	access, err := f.access(s, files, httpd.IsLoopback(ln))
	if err != nil {
		return err
	}
	serverOptions, err := f.newServerOptions(s, files,
		server.DetachOptions{OverHTTP: true},
		budget.Options{
			DefaultID:          call.Anonymous,
			RefuseWithoutStore: f.withoutStore == refuseWithoutStore,
		})
	if err != nil {
		return err
	}

	b := serverOptions.Budget
	if b.RefuseWithoutStore && b.Store == nil {
		return usageError("", "--without-store refuse needs MCP_STORE_URL or MCP_STORE_URL_FILE")
	}
	err = f.followPersonLimits(s, access, b, files)
	if err != nil {
		return err
	}

	drain := f.drain
	if drain < 0 {
		drain = s.Config.Timeout()
	}
	limiter := &logging.Limiter{}
	serverOptions.Explain = s.Advisor.ExplainToCaller // in place of words for the operator
	serverOptions.Observe = s.CallLogger(limiter)
	serverOptions.People = people.New(people.Bounds{
		MaxCalls:          f.maxCalls,
		MaxCallsPerPerson: access.PersonBound(f.maxCalls, f.maxCallsPerPerson),
	})

	o := httpd.Options{
		ServerOptions:          serverOptions,
		Path:                   f.path,
		Ready:                  s.Ready,
		Notice:                 f.notice,
		DrainTime:              drain,
		NumWaitingForRateLimit: s.APIClient.NumWaiting,
		Access:                 access,
		TrustedProxy:           f.trustedProxy,
		MetricsListener:        metricsListener,
		// Probe returns at once without a store, and FollowKeys if people do not sign in.
		Loops: []func(context.Context){
			files.Follow, b.Store.Probe, access.Resource.FollowKeys,
		},
		NumStaleFiles: files.NumStale,
		Log:           s.Log,
		LogLimiter:    limiter,
	}
	f.logStart(s, o, ln)
	return httpd.Serve(ctx, ln, o)
}

// addLimits adds the flags of the quotas, each with the name of its setting, and that of the file for
// single people.
func (f *serveFlags) addLimits(flags *pflag.FlagSet) {
	for _, q := range (budget.Limits{}).Quotas() {
		name := strings.ReplaceAll(q.Setting, "_", "-")
		value := keyFlag{f.config.Keys, "server." + q.Setting, "int"}
		if q.InUSD() {
			value.typ = "float64"
		}
		flags.Var(value, name, q.Usage())
		flags.Lookup(name).DefValue = value.key // the help names the setting
	}
	flags.StringVar(&f.limitsFile, "limits", "", "a `FILE` with limits of single people, such as "+
		"alice usd_per_day=5, one a line; read again when it changes")
}

// followPersonLimits reads the limits of single people if there is a file with them
// (Service.FollowPersonLimits).
func (f *serveFlags) followPersonLimits(
	s *service.Service, access httpd.Access, b *budget.Budget, files *service.Files,
) error {
	if f.limitsFile == "" {
		return nil
	}
	if !access.NeedsToken() {
		return usageError(seeServe, "--limits needs bearer tokens or --oauth-issuer: without them all "+
			"calls are of one person")
	}

	isKnown := func(id string) bool { // it is of a token, or of an issuer at which people sign in
		name, ofToken := strings.CutPrefix(id, call.TokenIDPrefix)
		if ofToken {
			return access.Tokens.Has(name)
		}
		issuer, _, _ := strings.Cut(id, " ")
		return slices.Contains(f.oauth.Issuers, issuer)
	}
	err := s.FollowPersonLimits(f.limitsFile, b, isKnown, files)
	if err != nil {
		return usageError(seeServe, "--limits %s: %v", f.limitsFile, err)
	}
	return nil
}

// listen listens on an address. For 0.0.0.0 package net also listens on IPv6, unless the network is
// tcp4.
func listen(address string) (net.Listener, error) {
	network := "tcp"
	ip, _ := netip.ParseAddrPort(address) // the zero value for a name or for all addresses
	if ip.Addr().Is4() {
		network = "tcp4"
	}
	ln, err := net.Listen(network, address)
	if err == nil {
		return ln, nil
	}
	return nil, &failure{exitFailed, err.Error(), listenHint(address, err)}
}

// Windows returns WSAEADDRINUSE and WSAEACCES in place of the errors of package syscall. The latter
// is for ports that it has reserved, such as for Hyper-V
// (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const (
	wsaInUse    = syscall.Errno(10048)
	wsaReserved = syscall.Errno(10013)
)

// listenHint returns what to do about an error of net.Listen.
func listenHint(address string, err error) string {
	switch {
	case errors.Is(err, syscall.EADDRINUSE), errors.Is(err, wsaInUse):
		return "another program or flag uses " + address + "; choose another port"
	case errors.Is(err, fs.ErrPermission), errors.Is(err, wsaReserved):
		return "the system refuses this port; choose another, such as 8080"
	case errors.Is(err, syscall.EMFILE):
		return ""
	}
	return "write an address of this machine, such as 127.0.0.1:8080 or :8080; " +
		"the port must be 0 to 65535"
}

// hostHeader matches a Host header with a name, in the form of httpd.HostName with or without a port.
var hostHeader = text.LazyRegexp(`^[\w-]+(\.[\w-]+)*(:\d+)?$`)

// allowHost adds a Host header to those that are accepted.
func (f *serveFlags) allowHost(s string) error {
	host := httpd.HostName(s)
	_, err := netip.ParseAddr(host)
	if err != nil && !hostHeader().MatchString(s) {
		return errors.New("must be one host a flag, such as mcp.example.com")
	}
	f.hosts = append(f.hosts, host)
	return nil
}

// cleanPath matches paths of URLs in the form that clients send. They contain no wildcards of
// http.ServeMux.
var cleanPath = text.LazyRegexp(`^/$|^(/\w[\w.~-]*)+$`)

// highestMaxCalls bounds --max-calls: each call holds memory and a connection.
const highestMaxCalls = 10000

// check returns an error if the flags are wrong.
func (f *serveFlags) check() error {
	switch {
	case f.httpAddress == "":
		return usageError(seeServe, "serve needs --http ADDRESS, such as 127.0.0.1:8080")
	case !strings.Contains(f.httpAddress, ":"):
		return usageError(seeServe, "--http %q is not an address: write 127.0.0.1:8080 or :8080",
			f.httpAddress)
	case !cleanPath().MatchString(f.path):
		return usageError(seeServe, "--path %s is not a path, such as /mcp", f.path)
	case httpd.IsReserved(f.path):
		return usageError(seeServe, "--path %s is taken", f.path)
	case f.maxCalls < 1 || f.maxCalls > highestMaxCalls:
		return usageError(seeServe, "--max-calls %d is not in 1..%d", f.maxCalls, highestMaxCalls)
	case f.maxCallsPerPerson > f.maxCalls:
		return usageError(seeServe, "--max-calls-per-user %d is more than --max-calls %d",
			f.maxCallsPerPerson, f.maxCalls)
	}
	return nil
}

// warnOfTokens warns if the tokens open only /metrics, or all but it.
func warnOfTokens(log *slog.Logger, o httpd.Options) {
	const reader = httpd.MetricsName
	tokens := o.Access.Tokens
	switch {
	case tokens.Has(reader) && len(tokens.Names()) == 1 && !o.Access.PeopleSignIn():
		log.Warn("all calls get 403: a token named metrics opens /metrics only, and there is no other")
	case o.MetricsListener == nil && o.Access.NeedsToken() && !tokens.Has(reader):
		names := slices.Compact([]string{reader, o.Access.MetricsReader()})
		log.Warn("/metrics needs a token of MCP_HTTP_TOKENS named " + strings.Join(names, " or ") +
			"; --metrics ADDRESS serves it without one on an address of its own")
	}
}

// logStart logs how the server serves on ln, with warnings about tokens and about calls that fail.
func (f *serveFlags) logStart(s *service.Service, o httpd.Options, ln net.Listener) {
	warnOfTokens(s.Log, o)
	log := s.Log.With(
		"version", version.String(),
		"metrics", cmp.Or(f.metricsAddress, f.httpAddress),
		"timeout", s.Config.Timeout().String(),
		"drain", o.DrainTime.String(),
		"max_calls", f.maxCalls)
	perPerson := o.ServerOptions.People.Bounds.MaxCallsPerPerson()
	if perPerson > 0 { // 0 is no limit
		log = log.With("max_calls_per_user", perPerson)
	}

	for _, q := range o.ServerOptions.Budget.Limits.Quotas() {
		switch whole := int64(q.Limit); {
		case q.Limit == 0:
		case q.Limit == float64(whole): // an integer is logged without an exponent
			log = log.With(q.Setting, whole)
		default:
			log = log.With(q.Setting, q.Limit)
		}
	}

	if o.ServerOptions.Budget.RefuseWithoutStore {
		log = log.With("without_store", refuseWithoutStore)
	}
	if o.Access.Denied != nil {
		log = log.With("denied", o.Access.Denied.Len())
	}

	log.Info(fmt.Sprintf("serving MCP on http://%s%s", ln.Addr(), f.path))
	err := s.Ready()
	if err != nil {
		s.Log.Warn("all calls fail: " + err.Error())
	}
}
