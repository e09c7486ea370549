// Package advice explains errors of a question: the problem and what to do about it, for models and
// for people.
//
//	advice.go      the Advisor
//	words.yaml     the problems and hints
//	words.go       how they are found and completed
//	connection.go  causes of requests without an answer: DNS, proxy, TLS
//	setting.go     hints that name settings
//	caller.go      errors for people who cannot change the server
package advice

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
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
	Key       string             // variable of the key, or of the name of its file
	KeyInFile bool               // Key names the file of the key, unless there is Login
	Login     string             // command that writes the file of the key, or ""
	KeyServer string             // the other server that the stored key is for, or ""
	HidesKey  bool               // Key hides the key that login has stored
	KeyFlaw   string             // what looks wrong about the key: "it has quotes around it"
	Headers   []string           // variables of openai.headers other than Key
	Models    map[string]Setting // by tool
	Streams   bool               // requests ask for a stream
	Proxy     string             // variable of the proxy
	GOOS      string             // decides where root certificates are
	RootsFile string             // value of SSL_CERT_FILE, which is read for a hint
	Redactor  *redact.Redactor   // of texts that are cut
}

// Setting is a value of the configuration and its origin.
type Setting struct {
	Name  string // model_profiles.answer.model
	Value string // gpt-5.2
	From  string // MODEL_ANSWER, /etc/config.yaml:12, --model, the default
}

// Explain puts an error of a question into one line that says what to do. The
// hint comes before what the API said, so that truncation removes only the latter.
func (v Advisor) Explain(tool string, err error) string {
	problem, hint, message := v.explain(tool, err)
	return v.Redactor.Truncate(sentence(problem, hint, message), maxExplain)
}

// Advise is Explain in two lines, for a terminal: the problem, with what the API
// said, and a hint, which may be empty.
func (v Advisor) Advise(tool string, err error) (problem, hint string) {
	problem, hint, message := v.explain(tool, err)
	if call.KindOf(err) == call.KindMissingKey {
		hint = v.GetKey() + "; --offline needs none"
	}
	return sentence(problem, message), text.OneLine(hint)
}

// sentence joins the parts that are not empty to one line.
func sentence(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return text.OneLine(part) == "" })
	return text.OneLine(strings.Join(parts, ": "))
}

// explain finds the words: the problem, what to change, and what the API said. The last two may be
// empty.
func (v Advisor) explain(tool string, err error) (problem, hint, message string) {
	e, _ := errors.AsType[*call.Error](err)
	e = cmp.Or(e, &call.Error{})

	tries := ""
	name := general(err)
	if name == "" {
		name = e.Kind.Label() + " " + v.detail(e)
		tries = attempts(e)
	}

	w := find(name)
	if w.Repeat {
		message = e.Message
	}
	values := v.values(tool, err, e)
	return text.Expand(w.Problem, values) + tries, text.Expand(w.Hint, values), message
}

// general returns the name of the words for an error of any kind, or "" if they depend on its kind.
// A shutdown or a time limit is what a question ended with, so it comes before the error of the
// request.
func general(err error) string {
	kind := call.KindOf(err)
	_, timedOut := errors.AsType[answer.TimeoutError](err)
	_, queued := errors.AsType[call.QueuedError](err)
	_, unread := errors.AsType[call.RootsError](err)
	e, fromAPI := errors.AsType[*call.Error](err)
	tunnel, tunneled := errors.AsType[call.TunnelError](err)
	proxy, _ := errors.AsType[call.ProxyError](err)
	switch {
	case kind == call.KindShutdown:
		return "shutdown"
	case kind == call.KindNoText:
		return "no_text " + err.Error()
	case timedOut && queued:
		return "late queued"
	case timedOut && unread:
		return "late roots"
	case timedOut:
		return "late"
	case errors.Is(err, answer.ErrGone):
		return "gone"
	case !fromAPI:
		return "other"

	case proxy.Schemes != "":
		return "password scheme"
	case proxy.Refused:
		return "password refused"
	case e.Status == http.StatusProxyAuthRequired, tunnel == http.StatusProxyAuthRequired:
		return "password"
	case tunneled:
		return "tunnel"
	case errors.Is(err, call.ErrPlainHTTP), errors.Is(err, http.ErrSchemeMismatch):
		return "scheme"
	}
	return ""
}

// attempts returns the HTTP status of an error and the number of attempts, as in " (503) after 4
// attempts".
func attempts(e *call.Error) string {
	s := ""
	if e.Status >= 300 {
		s = fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	return s
}
