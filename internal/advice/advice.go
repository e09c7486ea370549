// Package advice puts errors of a question into words: the problem and what to do about it, for models
// and for people.
package advice

import (
	"cmp"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// VerifyPage is where an organization is verified.
const VerifyPage = "https://platform.openai.com/settings/organization/general"

// maxExplain bounds the line of Explain, in characters. Claude Code shows 200
// of a message, and "MCP error -32001: answer failed: " precedes the line.
const maxExplain = 166

// Advisor holds the settings that advice names, none of them a secret. A user of an MCP client sees
// one line and no configuration, so the line says which setting it is about.
type Advisor struct {
	BaseURL   Setting            // openai.base_url, without user and query
	Key       string             // variable of the key
	KeyFlaw   string             // what looks wrong about the key: "it has quotes around it"
	Headers   []string           // variables of openai.headers other than Key
	Models    map[string]Setting // by profile
	Proxy     string             // variable of the proxy
	GOOS      string             // decides where root certificates are
	RootsFile string             // value of SSL_CERT_FILE
	RootsFlaw func() string      // why RootsFile is unusable: "it cannot be read"; "": it is usable
}

// Setting is a value of the configuration and its origin.
type Setting struct {
	Name  string // model_profiles.answer.model
	Value string // gpt-5.2
	From  string // MODEL_ANSWER, /etc/config.yaml:12, --model, the default
}

// advice is an error in words: the problem, what to change, and what the API said.
type advice struct{ problem, hint, message string }

// Explain puts an error of a question into one line that says what to do. The
// advice comes first, so that truncation removes only what the API said.
func (v Advisor) Explain(profile string, err error) string {
	a := v.advise(profile, err)
	return text.Truncate(sentence(a.problem, a.hint, a.message), maxExplain)
}

// Advise is Explain in two lines, for a terminal: the problem, with what the API
// said, and a hint, which may be empty.
func (v Advisor) Advise(profile string, err error) (problem, hint string) {
	a := v.advise(profile, err)
	if e, ok := errors.AsType[*llm.Error](err); ok && e.Kind == llm.KindMissingKey {
		a.hint = v.GetKey() + "; --offline needs none"
	}
	return sentence(a.problem, a.message), text.OneLine(a.hint)
}

// sentence joins the parts that are not empty to one line.
func sentence(parts ...string) string {
	return text.OneLine(strings.Join(slices.DeleteFunc(parts, func(s string) bool { return text.OneLine(s) == "" }), ": "))
}

func (v Advisor) advise(profile string, err error) advice {
	const raise = "raise request.timeout_ms or OPENAI_API_TIMEOUT"
	timeout, timedOut := errors.AsType[answer.TimeoutError](err)
	queued, waited := errors.AsType[llm.QueuedError](err)
	noText, textless := errors.AsType[answer.NoTextError](err)
	e, known := errors.AsType[*llm.Error](err)
	switch {
	case timedOut && waited:
		return advice{fmt.Sprintf("%v, waiting for the rate limit with %d calls ahead", timeout, int(queued)), "ask fewer questions at once, or " + raise, ""}
	case timedOut:
		return advice{timeout.Error(), raise, ""}
	case textless:
		hint := map[string]string{
			"incomplete: max_output_tokens": "ask for less, or raise max_output_tokens of the profile",
			"incomplete: content_filter":    "rephrase the question",
		}[noText.Error()]
		return advice{noText.Error() + "; the model wrote no answer", cmp.Or(hint, "try again"), ""}
	case !known:
		return advice{problem: err.Error()}
	}
	status := ""
	if e.Status >= 300 {
		status = fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Attempts > 1 {
		status += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	tunnel, tunneled := errors.AsType[llm.TunnelError](e)
	switch {
	case e.Status == http.StatusProxyAuthRequired, tunnel == http.StatusProxyAuthRequired:
		return advice{"the proxy requires a password", "put user and password into " + v.Proxy, ""}
	case tunneled:
		return advice{"the proxy does not connect to " + v.host(), "check " + v.Proxy + " and NO_PROXY, or ask the administrator of the proxy", e.Message}
	case errors.Is(e, llm.ErrPlainHTTP), errors.Is(e, http.ErrSchemeMismatch):
		return advice{"http and https are mixed up", "check http or https in " + v.base(), e.Message}
	}
	kind, page := e.Kind, errors.Is(e, llm.ErrWebPage)
	if page && (kind == llm.KindPermission || kind == llm.KindNotFound || kind == llm.KindParameter) {
		kind = llm.KindBadResponse // not from the API
	}
	a, answered := map[llm.Kind]advice{
		llm.KindMissingKey:  {"Missing API key", "set " + v.Key, ""},
		llm.KindAuth:        {"the API refused the key", v.newKey(), ""}, // what it said repeats a part of the key
		llm.KindUnverified:  {"the organization is not verified", "verify it at " + VerifyPage + ", or choose another model", e.Message},
		llm.KindPermission:  {"access denied", "check the permissions of the key in " + v.Key + ", your region, and any firewall", e.Message},
		llm.KindModel:       {"model not found", v.otherModel(profile), e.Message},
		llm.KindNotFound:    {"not found", v.otherBase(), e.Message},
		llm.KindQuota:       {"quota exceeded", "check plan, credit and limits of your account", ""},
		llm.KindRateLimit:   {"rate limit reached", "wait a little, or raise request.max_retries", e.Message},
		llm.KindParameter:   {"the API refused " + cmp.Or(e.Param, "the request"), "check the profile and request.extra_body", e.Message},
		llm.KindServer:      {"the API failed", "try again later", e.Message},
		llm.KindFailed:      {"the response failed (" + cmp.Or(e.Code, "unknown reason") + ")", "rephrase the question or try again", e.Message},
		llm.KindTimeout:     {"timed out", raise, ""},
		llm.KindCanceled:    {"cancelled", "", ""},
		llm.KindBadResponse: {"not an answer of the Responses API", "check " + v.base(), e.Message},
	}[kind]
	switch {
	case !answered:
		a = v.connection(e)
	case kind == llm.KindAuth && e.Status == 0: // not sent: the client says what is wrong with the key
		a = advice{e.Message, "set " + v.Key + " to the key alone, in one line", ""}
	case kind == llm.KindRateLimit && e.RetryAfter > 0:
		a.hint = fmt.Sprintf("try again in %.0f s", max(1, e.RetryAfter.Seconds()))
	case kind == llm.KindParameter && e.Param == "store":
		a.hint = "request.extra_body: {store: null} leaves it out, and the API then keeps question and answer"
	case kind == llm.KindParameter && e.Param == "model":
		a.hint = v.otherModel(profile)
	case kind == llm.KindBadResponse && e.Status/100 == 3:
		a = advice{cmp.Or(e.Message, "the API redirects"), a.hint + ", and whether the network requires a login", ""}
	case kind == llm.KindBadResponse && page:
		a = advice{"received a web page, not an answer", a.hint + ", and whether a firewall or a login page of the network answers instead", ""}
	}
	a.problem += status
	return a
}

// wsaRefused is ECONNREFUSED on Windows, where the name in syscall has another
// value (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const wsaRefused = syscall.Errno(10061)

// connection explains a request that got no answer.
func (v Advisor) connection(e *llm.Error) advice {
	op, dialed := errors.AsType[*net.OpError](e)
	dns, unresolved := errors.AsType[*net.DNSError](e)
	_, unverified := errors.AsType[*tls.CertificateVerificationError](e)
	_, otherHost := errors.AsType[x509.HostnameError](e)
	cert, _ := errors.AsType[x509.CertificateInvalidError](e)
	switch {
	case dialed && op.Op == "proxyconnect":
		return advice{"cannot reach the proxy", "check " + v.Proxy + " and NO_PROXY", e.Message}
	case unresolved:
		return advice{"cannot resolve " + strconv.Quote(text.Truncate(dns.Name, 60)), "check the network, openai.base_url and " + v.Proxy, ""}
	case errors.Is(e, syscall.ECONNREFUSED), errors.Is(e, wsaRefused):
		return advice{"connection refused by " + v.host(), "check openai.base_url, " + v.Proxy + " and the firewall", ""}
	case otherHost:
		return advice{"the certificate of " + v.host() + " is for another host", "check openai.base_url and " + v.Proxy + ", or log in to the network with a browser", ""}
	case cert.Reason == x509.Expired:
		// The clock may be wrong: a machine without a battery starts in 1970.
		from, to := cert.Cert.NotBefore.Format(time.DateOnly), cert.Cert.NotAfter.Format(time.DateOnly)
		return advice{"the certificate of " + v.host() + " is valid from " + from + " to " + to, "check the clock of this machine, which says " + time.Now().Format(time.DateOnly), ""}
	case unverified:
		return advice{"cannot verify the TLS certificate of " + v.host(), v.trust(), ""}
	}
	return advice{"connection failed", "check the network, openai.base_url, " + v.Proxy + " and the firewall", e.Message}
}

// NoModels is the hint for an API without GET /models/{id}, or "" if e means
// something else. A compatible server may answer questions nevertheless.
func (v Advisor) NoModels(e *llm.Error) string {
	if v.openAI() || e.Kind == llm.KindModel || !slices.Contains([]int{404, 405, 501}, e.Status) {
		return ""
	}
	return v.otherBase() + ", or see with --live whether it answers questions"
}

// host is the host of the API, with its port if it has one.
func (v Advisor) host() string {
	u, _ := url.Parse(v.BaseURL.Value)
	return cmp.Or(u, &url.URL{}).Host
}

// openAI reports whether requests go to OpenAI, in any region.
func (v Advisor) openAI() bool {
	return strings.HasSuffix("."+cite.HostOf(v.BaseURL.Value), ".api.openai.com")
}

// base names openai.base_url and its origin.
func (v Advisor) base() string { return "openai.base_url (" + v.BaseURL.From + ")" }

func (v Advisor) otherBase() string {
	return "check " + v.base() + ": it ends with the version, as in https://api.openai.com/v1"
}

// aKey says which key to set, and where keys for the API come from.
func (v Advisor) aKey(which string) string {
	if v.openAI() {
		return "set " + v.Key + " to " + which + " from https://platform.openai.com/api-keys"
	}
	return "set " + v.Key + " to " + which + " for " + v.host()
}

// GetKey says how to get a key when there is none.
func (v Advisor) GetKey() string {
	if v.openAI() {
		return v.aKey("a key")
	}
	return v.aKey("a key") + " (any text if that server needs none)"
}

func (v Advisor) newKey() string {
	hint := v.aKey("a complete and current key")
	if v.KeyFlaw != "" {
		hint = "set " + v.Key + " to the key alone: " + v.KeyFlaw
	}
	if len(v.Headers) > 0 {
		hint += ", and check " + strings.Join(v.Headers, ", ") + " (openai.headers)"
	}
	return hint
}

// otherModel names the setting that the model of a profile comes from.
func (v Advisor) otherModel(profile string) string {
	s, ok := v.Models[profile]
	if !ok {
		return "check model_profiles (MODEL_ANSWER)"
	}
	hint := fmt.Sprintf("%s is %s (%s): name another model there", s.Name, s.Value, s.From)
	if s.From == "the default" {
		hint += ", or with MODEL_ANSWER or --model"
	}
	return hint
}

// trust says how to add a root certificate. On macOS and Windows Go asks the
// system and reads no file.
func (v Advisor) trust() string {
	const add = "add the CA of your network to "
	switch {
	case v.GOOS == "darwin", v.GOOS == "windows":
		return add + "the certificate store of the system (SSL_CERT_FILE is not read there)"
	case v.RootsFile == "":
		return "set SSL_CERT_FILE to a file with the CA of your network"
	case v.RootsFlaw() != "":
		return "correct SSL_CERT_FILE: it names " + v.RootsFile + ", and " + v.RootsFlaw()
	}
	return add + v.RootsFile + " (SSL_CERT_FILE): it has no CA that signed this"
}
