package httpd

import (
	"cmp"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/team/oauth"
)

// Access says which requests the server accepts.
type Access struct {
	Loopback bool // the server listens on a loopback address

	// Tokens and Resource are the ways to authenticate. If either is set, each request for MCP or
	// metrics needs a token that one of the two accepts.
	Tokens   *Tokens         // tokens that the operator hands out; nil: none, and no names
	Resource *oauth.Resource // checks the tokens of people who sign in; nil if they cannot

	Denied *Denied // people who are rejected in spite of a valid token; may be nil

	// Hosts are the accepted Host headers, in the form of HostName. These are accepted, too:
	//
	//   - the host of the public URL of Resource;
	//   - on a loopback address: loopback names and, if requests need a token, dockerHost;
	//   - on another address, without Hosts: all names if requests need a token, else IP addresses
	//     and names without a dot.
	Hosts []string
}

// dockerHost is the name under which containers reach the loopback address of their machine. An
// attacker who controls the DNS of a browser can serve a page under this name. So it is accepted
// only where requests need a token, which such a page does not have.
const dockerHost = "host.docker.internal"

// NeedsToken reports whether requests need a token. This is the only place that decides it.
func (a Access) NeedsToken() bool {
	return a.Tokens != nil || a.Resource != nil
}

// PeopleSignIn reports whether people sign in. Otherwise the names of the tokens are all people.
func (a Access) PeopleSignIn() bool { return a.Resource != nil }

// PersonBound returns a function that returns how many calls one person may run at a time. The
// function is called at each request, because the tokens may change. It returns perPerson. If
// perPerson is 0, it returns:
//   - 0, no bound, if there is only one person: requests need no token, or all tokens but those
//     named MetricsName have the same name;
//   - else a quarter of maxCalls, the bound of all people together.
func (a Access) PersonBound(maxCalls, perPerson int) func() int {
	return func() int {
		numPeople := len(a.Tokens.Names())
		if a.Tokens.Has(MetricsName) {
			numPeople--
		}
		if perPerson == 0 && !a.PeopleSignIn() && numPeople <= 1 {
			return 0
		}
		return cmp.Or(perPerson, max(1, maxCalls/4))
	}
}

// requireHost guards against DNS rebinding: a web page of a foreign site can make a browser send
// requests here, but only with the name of its site in the Host header.
func requireHost(accepts func(host string) bool, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !accepts(r.Host) {
			reason := "the Host header is not allowed"
			host := text.ShortLine(HostName(r.Host))
			if host != "" {
				const format = "the Host header %q is not allowed; serve --allowed-host %[1]s allows it. " +
					"Beyond loopback, other hosts then need it, too"
				reason = fmt.Sprintf(format, host)
			}
			http.Error(w, reason, http.StatusForbidden)
			return
		}

		next.ServeHTTP(w, r)
	})
}

// metricsHosts returns a function that reports whether the listener for metrics accepts a Host
// header: one of Hosts, or one that a listener without Hosts and tokens accepts.
func (a Access) metricsHosts(ln net.Listener) func(header string) bool {
	own := Access{Loopback: IsLoopback(ln)}
	return func(header string) bool {
		return slices.Contains(a.Hosts, HostName(header)) || own.acceptsHost(header)
	}
}

// acceptsHost reports whether a Host header is accepted; see Access.Hosts for the rules.
func (a Access) acceptsHost(header string) bool {
	host := HostName(header)
	switch {
	case a.Resource != nil && host == HostName(a.Resource.Host()):
		return true
	case a.Loopback && (text.IsLoopback(host) || host == dockerHost && a.NeedsToken()):
		return true
	case a.Loopback || len(a.Hosts) > 0:
		return slices.Contains(a.Hosts, host)
	case a.NeedsToken():
		return true
	}

	// A name without a dot belongs to the local network, such as that of Compose.
	return net.ParseIP(host) != nil || !strings.Contains(host, ".")
}

// MetricsName is the name of the tokens for /metrics only. The holder of one does not count as a
// person and may not call.
const MetricsName = "metrics"

// MetricsReader returns the name whose tokens open /metrics. If all tokens have one name and people
// do not sign in, it is that name; otherwise it is MetricsName.
func (a Access) MetricsReader() string {
	names := a.Tokens.Names()
	if !a.PeopleSignIn() && len(names) == 1 {
		return names[0]
	}
	return MetricsName
}

// metricsRejection returns why a person may not read the metrics, and what to do about it. Both are
// "" if the person may.
func (a Access) metricsRejection(p call.Person) (reason, hint string) {
	if p.ID == call.TokenIDPrefix+a.MetricsReader() {
		return "", ""
	}
	return "/metrics is for tokens named metrics",
		"add metrics:TOKEN to MCP_HTTP_TOKENS or its file, or give it an address of its own with " +
			"serve --metrics ADDRESS"
}

// callRejection returns why a person may not call the tools, and what to do about it. Both are ""
// if the person may.
func (a Access) callRejection(p call.Person) (reason, hint string) {
	if p.ID != call.TokenIDPrefix+MetricsName {
		return "", ""
	}
	return "tokens named metrics open /metrics only", "take one that has another name"
}

// requireToken checks the bearer token, if requests need one. It rejects denied people, and those
// for whom whyRejected returns a reason. Otherwise it passes the person on to next in
// response.person.
func (a Access) requireToken(
	whyRejected func(call.Person) (reason, hint string), next http.Handler,
) http.Handler {
	if !a.NeedsToken() {
		return next
	}

	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		person, err := a.authenticate(r)
		res := w.(*response)
		res.person = person // also with an error, if only a scope is missing
		if err != nil {
			a.reject(res, err)
			return
		}
		if a.Denied != nil && a.Denied.has(person) {
			res.reason = "denied"
			http.Error(w, "the operator has denied you access", http.StatusForbidden)
			return
		}
		reason, hint := whyRejected(person)
		if reason != "" {
			res.reason = reason
			http.Error(w, reason+": "+hint, http.StatusForbidden)
			return
		}

		res.instance.listener.noteAuthenticated(r.RemoteAddr)
		next.ServeHTTP(w, r)
	})
}

// authenticate returns the person whose bearer token is in the Authorization header of r. A token
// in the URL is not accepted: proxies write URLs into their logs.
func (a Access) authenticate(r *http.Request) (person call.Person, err error) {
	if len(r.Header.Values("Authorization")) > 1 {
		return person, oauth.InvalidToken("there is more than one Authorization header")
	}
	token, err := bearerToken(strings.Fields(r.Header.Get("Authorization")))
	if err != nil {
		return person, err
	}

	err = auth.ErrInvalidToken
	if a.Tokens != nil {
		person, err = a.Tokens.Authenticate(token)
	}
	if err != nil && a.Resource != nil {
		// If only a scope is missing, Verify returns the person with the error.
		person, err = a.Resource.Verify(r.Context(), token)
	}
	if err != nil && (strings.HasPrefix(token, "${") || text.IsUnreplaced(token)) {
		err = oauth.InvalidToken(
			"the token is a variable, such as ${NAME}, that the client has not replaced")
	}
	return person, err
}

// bearerToken returns the token among the fields of an Authorization header.
func bearerToken(fields []string) (token string, err error) {
	isScheme := func(s string) bool { return strings.EqualFold(s, "bearer") }
	switch {
	case len(fields) > 1 && isScheme(fields[0]) && isScheme(fields[1]):
		return "", errors.New("the Authorization header says Bearer twice")
	case len(fields) == 2 && isScheme(fields[0]):
		return fields[1], nil
	case len(fields) > 2 && isScheme(fields[0]) && strings.HasPrefix(fields[1], "${{"): // see text.IsUnreplaced
		return strings.Join(fields[1:], " "), nil
	case len(fields) == 1 && !isScheme(fields[0]):
		return "", errors.New("the Authorization header has no Bearer before the token")
	}
	return "", errors.New("no bearer token")
}

// reject answers a request without an accepted token (RFC 6750 section 3). The status is that of an
// oauth.Error, else 401.
func (a Access) reject(res *response, err error) {
	res.reason = err.Error()
	status := http.StatusUnauthorized
	oauthErr, ok := errors.AsType[*oauth.Error](err)
	if ok {
		status = oauthErr.Status
	}

	switch {
	case status == http.StatusServiceUnavailable:
		res.Header().Set("Retry-After", fmt.Sprint(oauth.MinReadInterval.Seconds()))
	case a.Resource != nil:
		res.Header().Set("WWW-Authenticate", a.Resource.Challenge(oauthErr))
	default:
		res.Header().Set("WWW-Authenticate", "Bearer")
	}
	http.Error(res, err.Error(), status)
}

// HostName returns the name or address in a Host header, in lower case, without port, brackets, and
// a dot at its end: clients send the dot of a fully qualified name.
func HostName(header string) string {
	host, _, err := net.SplitHostPort(header)
	if err != nil {
		host = header // without a port
	}
	return strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
}

// IsLoopback reports whether ln listens on a loopback address only.
func IsLoopback(ln net.Listener) bool {
	return text.IsLoopback(HostName(ln.Addr().String()))
}
