package answer

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// VerifyPage is where an organization is verified.
const VerifyPage = "https://platform.openai.com/settings/organization/general"

const keysPage = "https://platform.openai.com/api-keys"

// maxExplain bounds the line of Explain, in characters. Claude Code shows 200
// of a message, and "MCP error -32001: answer failed: " precedes the line.
const maxExplain = 166

// Guide holds the settings that advice names. A user of an MCP client sees one
// line and no configuration, so the line says which setting it is about. None
// of the fields is a secret. The zero Guide names the usual settings.
type Guide struct {
	BaseURL Setting            // openai.base_url, without user and query
	Key     string             // variable of the key; "": OPENAI_API_KEY
	KeyFlaw string             // what looks wrong about the key: "it has quotes around it"
	Headers []string           // variables of openai.headers other than Key
	Models  map[string]Setting // by profile
	Proxy   string             // variable of the proxy; "": HTTPS_PROXY
	GOOS    string             // decides where root certificates are; "": linux

	RootsFile string        // value of SSL_CERT_FILE
	RootsFlaw func() string // why RootsFile is unusable: "it cannot be read"; nil or "": it is usable
}

// Setting is a value of the configuration and its origin.
type Setting struct {
	Name  string // model_profiles.answer.model
	Value string // gpt-5.2
	From  string // MODEL_ANSWER, /etc/config.yaml:12, --model, the default
}

// advice is an error in words.
type advice struct {
	what string // what is wrong
	do   string // what to change; names a setting or variable
	hint string // the same for a reader at a terminal; "": do
	said string // what the API said
}

// Explain puts an error of a question into one line that says what to do. The
// advice comes first, so that truncation removes only what the API said. The
// API's message about a key is left out, because it repeats a part of the key.
func (g *Guide) Explain(profile string, err error) string {
	a := g.advise(profile, err)
	if a.do != "" {
		a.what += ": " + a.do
	}
	return text.Truncate(text.OneLine(a.what+after(a.said)), maxExplain)
}

// Advise is Explain for a terminal: one line says what is wrong, with what the
// API said; the other says what to do and may be empty.
func (g *Guide) Advise(profile string, err error) (what, hint string) {
	a := g.advise(profile, err)
	return text.OneLine(a.what + after(a.said)), text.OneLine(cmp.Or(a.hint, a.do))
}

func after(said string) string {
	if said = text.OneLine(said); said == "" {
		return ""
	}
	return ": " + said
}

func (g *Guide) advise(profile string, err error) advice {
	if err == nil {
		return advice{}
	}
	const raise = "raise request.timeout_ms or OPENAI_API_TIMEOUT"
	if e, ok := errors.AsType[*timeoutError](err); ok {
		return advice{what: e.Error(), do: raise}
	}
	if e, ok := errors.AsType[*NoTextError](err); ok {
		a := advice{what: e.Reason + "; the model wrote no answer", do: "try again"}
		switch e.Reason {
		case "incomplete: max_output_tokens":
			a.do = "ask for less, or raise max_output_tokens of the profile"
		case "incomplete: content_filter":
			a.do = "rephrase the question"
		}
		return a
	}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return advice{what: err.Error()}
	}
	status, tries := "", ""
	if e.Status != 0 {
		status = " (" + strconv.Itoa(e.Status) + ")"
	}
	if e.Attempts > 1 {
		tries = " after " + strconv.Itoa(e.Attempts) + " attempts"
	}
	switch e.Status {
	case http.StatusProxyAuthRequired: // from a proxy for plain HTTP
		return g.proxyPassword(status)
	case http.StatusNetworkAuthenticationRequired:
		return advice{what: "the network requires a login" + status, do: "log in with a browser"}
	}
	switch e.Kind {
	case llm.KindMissingKey:
		return advice{what: "Missing API key", do: "set " + g.key(), hint: g.GetKey() + "; --offline needs none"}
	case llm.KindAuth:
		if e.Status == 0 { // not sent: the client says what is wrong with the key
			return advice{what: e.Message, do: "set " + g.key() + " to the key alone, in one line"}
		}
		return advice{what: "the API refused the key" + status, do: g.newKey()}
	case llm.KindUnverified:
		return advice{what: "the organization is not verified" + status, do: "verify it at " + VerifyPage + ", or choose another model", said: e.Message}
	case llm.KindPermission:
		a := advice{what: "access denied" + status, do: "check what the key in " + g.key() + " may use, and ", said: e.Message}
		if e.Type == "" && e.Code == "" { // not an error of the API itself
			a.do += "whether a firewall or proxy answers in place of " + g.host()
		} else {
			a.do += "whether " + g.host() + " serves your region"
		}
		return a
	case llm.KindModel:
		return advice{what: "model not found" + status, do: g.otherModel(profile), said: e.Message}
	case llm.KindNotFound:
		return advice{what: "not found" + status, do: g.otherBase(), said: e.Message}
	case llm.KindQuota:
		a := advice{what: "quota exceeded" + status, do: "check plan, credit and limits of the OpenAI project"}
		if !g.openAI() {
			a.do = "check plan, credit and limits of your account at " + g.host()
		}
		return a
	case llm.KindRateLimit:
		a := advice{what: "rate limit reached" + status + tries, do: "wait a little, or raise request.max_retries", said: e.Message}
		if e.RetryAfter > 0 {
			a.do = "try again in " + decimal(max(1, e.RetryAfter.Round(time.Second).Seconds())) + " s"
		}
		return a
	case llm.KindParameter:
		a := advice{what: "the API refused " + cmp.Or(e.Param, "the request") + status, said: e.Message}
		switch {
		case errors.Is(e, llm.ErrPlainHTTP),
			e.Status == http.StatusBadRequest && errors.Is(e, llm.ErrWebPage) && strings.HasPrefix(strings.ToLower(g.BaseURL.Value), "http:"):
			a.do = "check http or https in " + g.base()
		case e.Param == "":
			a.do = "check the model and request.extra_body"
		case e.Param == "model":
			a.do = g.otherModel(profile)
		default:
			a.do = "check the profile and request.extra_body"
		}
		return a
	case llm.KindServer:
		return advice{what: "the API failed" + status + tries, do: "try again later", said: e.Message}
	case llm.KindTimeout:
		return advice{what: "timed out", do: raise}
	case llm.KindCanceled:
		return advice{what: "cancelled"}
	case llm.KindConnection:
		return g.connection(e, tries)
	case llm.KindBadResponse:
		a := advice{what: "not an answer of the Responses API" + status, do: "check " + g.base(), said: e.Message}
		if page := errors.Is(e, llm.ErrWebPage); page || e.Status/100 == 3 {
			a.what = "received a redirect, not an answer" + status
			if page {
				a.what = "received a web page, not an answer" + status
			}
			a.do += ", or log in to the network with a browser"
		}
		return a
	}
	if e.Code != "" {
		status = " (" + e.Code + ")"
	}
	return advice{what: "the response failed" + status, do: "rephrase the question or try again", said: e.Message}
}

// Error numbers of Windows, where the names in syscall have other values
// (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const (
	wsaNetUnreachable  = syscall.Errno(10051)
	wsaRefused         = syscall.Errno(10061)
	wsaHostUnreachable = syscall.Errno(10065)
)

// connection explains a request that got no answer.
func (g *Guide) connection(e *llm.Error, tries string) advice {
	var (
		op      *net.OpError
		dns     *net.DNSError
		record  tls.RecordHeaderError
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError

		peer       = g.host()
		checkProxy = "check " + g.proxy() + " and NO_PROXY"
	)
	if errors.As(e, &op) && op.Addr != nil {
		peer = op.Addr.String()
	}
	tunnel, refused := errors.AsType[llm.TunnelError](e)
	switch {
	case tunnel == http.StatusProxyAuthRequired:
		return g.proxyPassword("")
	case refused:
		a := advice{what: "the proxy does not connect to " + g.host(), do: checkProxy + ", or ask the administrator of the proxy", said: e.Message}
		if tunnel < 400 {
			a.do = checkProxy + ", or log in to the network with a browser"
		}
		return a
	case op != nil && (op.Op == "proxyconnect" || op.Op == "socks connect"):
		return advice{what: "cannot reach the proxy", do: checkProxy, said: e.Message}
	case errors.As(e, &dns):
		return advice{what: "cannot resolve " + strconv.Quote(text.Truncate(dns.Name, 60)), do: "check the network, openai.base_url and " + g.proxy()}
	case errors.As(e, &record), errors.Is(e, http.ErrSchemeMismatch):
		return advice{what: peer + " does not use TLS", do: "check http or https in openai.base_url", said: e.Message}
	case errors.Is(e, syscall.ECONNREFUSED), errors.Is(e, wsaRefused):
		return advice{what: "connection refused by " + peer, do: "check openai.base_url, " + g.proxy() + " and the firewall"}
	case errors.Is(e, syscall.ENETUNREACH), errors.Is(e, syscall.EHOSTUNREACH), errors.Is(e, wsaNetUnreachable), errors.Is(e, wsaHostUnreachable):
		return advice{what: "no route to " + peer, do: "check the network (cable, VPN, IPv4 and IPv6); behind a proxy set " + g.proxy()}
	case op != nil && op.Op == "dial" && op.Timeout():
		return advice{what: peer + " does not accept connections" + tries, do: "check openai.base_url, " + g.proxy() + " and the firewall"}
	case errors.As(e, &name):
		return advice{what: "the certificate of " + g.host() + " is for another host",
			do: "check openai.base_url and " + g.proxy() + ", or log in to the network with a browser"}
	case errors.As(e, &invalid) && invalid.Reason == x509.Expired && invalid.Cert != nil:
		// The clock may be wrong: a machine without a battery starts in 1970.
		const minute = "2006-01-02 15:04 UTC"
		now, limit := time.Now().UTC(), "until "+invalid.Cert.NotAfter.UTC().Format(minute)
		if now.Before(invalid.Cert.NotBefore) {
			limit = "from " + invalid.Cert.NotBefore.UTC().Format(minute)
		}
		return advice{what: "the certificate of " + g.host() + " is valid only " + limit,
			do: "check the clock of this machine, which says " + now.Format(minute) + "; if it is right, the certificate must be renewed"}
	case errors.As(e, &verify), errors.As(e, &unknown):
		return advice{what: "cannot verify the TLS certificate of " + g.host(), do: g.trust()}
	}
	return advice{what: "connection failed" + tries, do: "check the network and openai.base_url", said: e.Message}
}

// NoModels is the advice for an API without GET /models/{id}, and whether err
// means that. A compatible server may answer questions nevertheless.
func (g *Guide) NoModels(err error) (do string, ok bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || g.openAI() || e.Kind == llm.KindModel {
		return "", false
	}
	switch e.Status {
	case http.StatusNotFound:
		do = g.otherBase()
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		do = "check " + g.base()
	default:
		return "", false
	}
	return do + ", or see with --live whether it answers questions", true
}

func (g *Guide) key() string { return cmp.Or(g.Key, "OPENAI_API_KEY") }

func (g *Guide) proxy() string { return cmp.Or(g.Proxy, "HTTPS_PROXY") }

func (g *Guide) proxyPassword(status string) advice {
	return advice{what: "the proxy requires a password" + status, do: "put user and password into " + g.proxy()}
}

// host is the host of the API, with its port if it has one.
func (g *Guide) host() string {
	if u, err := url.Parse(g.BaseURL.Value); err == nil && u.Host != "" {
		return u.Host
	}
	return "the API's host"
}

// openAI reports whether requests go to OpenAI, in any region.
func (g *Guide) openAI() bool {
	u, err := url.Parse(g.BaseURL.Value)
	return g.BaseURL.Value == "" || err == nil && strings.HasSuffix("."+strings.ToLower(u.Hostname()), ".api.openai.com")
}

// GetKey says how to get a key when there is none.
func (g *Guide) GetKey() string {
	if g.openAI() {
		return "make a key at " + keysPage + " and set " + g.key()
	}
	return "set " + g.key() + " to a key for " + g.host() + " (any text if that server needs none)"
}

func (g *Guide) newKey() string {
	var do string
	switch {
	case g.KeyFlaw != "":
		do = "set " + g.key() + " to the key alone: " + g.KeyFlaw
	case g.openAI():
		do = "set " + g.key() + " to a complete and current key (" + keysPage + ")"
	default:
		do = "set " + g.key() + " to a complete and current key for " + g.host()
	}
	if len(g.Headers) > 0 {
		do += ", and check " + strings.Join(g.Headers, ", ") + " (openai.headers)"
	}
	return do
}

// otherModel names the setting that the model of a profile comes from.
func (g *Guide) otherModel(profile string) string {
	s, ok := g.Models[profile]
	if !ok {
		return "check model_profiles (MODEL_ANSWER)"
	}
	do := fmt.Sprintf("%s is %s (%s): name another model there", s.Name, s.Value, s.From)
	if s.From == "the default" {
		do += ", or with MODEL_ANSWER or --model"
	}
	return do
}

// base names openai.base_url and its origin.
func (g *Guide) base() string {
	return "openai.base_url (" + cmp.Or(g.BaseURL.From, "OPENAI_BASE_URL") + ")"
}

func (g *Guide) otherBase() string {
	return "check " + g.base() + ": it ends with the version, as in https://api.openai.com/v1"
}

// trust says how to add a root certificate. On macOS and Windows Go asks the
// system and reads no file.
func (g *Guide) trust() string {
	const ca = "the CA of your network"
	switch g.GOOS {
	case "darwin", "ios":
		return "add " + ca + " to the keychain of this Mac and trust it there (SSL_CERT_FILE is not read on macOS)"
	case "windows":
		return "add " + ca + " to the certificate store of Windows (SSL_CERT_FILE is not read there)"
	}
	if g.RootsFile == "" {
		return "set SSL_CERT_FILE to a file with " + ca
	}
	if g.RootsFlaw != nil {
		if flaw := g.RootsFlaw(); flaw != "" {
			return "correct SSL_CERT_FILE: it names " + g.RootsFile + ", and " + flaw
		}
	}
	return "add " + ca + " to " + g.RootsFile + " (SSL_CERT_FILE): it has no CA that signed this"
}
