// Package advice explains errors of a question: the problem and what to do about it, for models and
// for people.
//
//	advice.go      the Advisor
//	words.yaml     the problems and hints
//	words.go       how problems and hints are found, and their variables replaced
//	connection.go  why a request got no answer: DNS, proxy, TLS
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

// maxExplain bounds the line of Explain, in characters. Claude Code shows 200 characters of a
// message, and "MCP error -32001: answer failed: " precedes the line.
const maxExplain = 166

// Advisor explains errors. Its fields are the settings that hints name; none is a secret. The user
// of an MCP client sees one line and not the configuration, so the line names the setting to
// change.
type Advisor struct {
	BaseURL              Setting            // openai.base_url, without user and query
	KeyVariable          string             // variable with the key, or with the path of its file
	KeyInFile            bool               // the key has a file; hints prefer LoginCommand
	LoginCommand         string             // command that stores a key; "": none
	StoredKeyServer      string             // the other server that the stored key is for; "": none
	StoredKeyUnused      bool               // KeyVariable hides the key that login has stored
	KeyFlaw              func() string      // what looks wrong about the key, such as quotes; may be nil
	OtherHeaderVariables []string           // variables in openai.headers, other than KeyVariable
	Models               map[string]Setting // by tool
	Streams              bool               // requests ask for a stream
	ProxyVariable        string             // environment variable with the proxy
	GOOS                 string             // decides where Go looks for root certificates
	RootsFile            string             // the value of SSL_CERT_FILE; the file is read for a hint
	Redactor             *redact.Redactor   // redacts and truncates
}

// Setting is a value of the configuration and its origin.
type Setting struct {
	Name   string // for example model_profiles.answer.model
	Value  string // for example gpt-5.2
	Origin string // for example MODEL_ANSWER, /etc/config.yaml:12, --model or the default
}

// Explain puts an error of a question into one line that says what to do. The hint comes before the
// message of the API, so that truncation only removes the message.
func (a Advisor) Explain(tool string, err error) string {
	problem, hint, message := a.explain(tool, err)
	return a.Redactor.Truncate(sentence(problem, hint, message), maxExplain)
}

// Advise is Explain in two lines, for a terminal: the problem with the message of the API, and a
// hint, which may be empty.
func (a Advisor) Advise(tool string, err error) (problem, hint string) {
	problem, hint, message := a.explain(tool, err)
	if call.KindOf(err) == call.KindMissingKey {
		hint = a.MissingKeyHint() + "; --offline needs none"
	}
	return sentence(problem, message), text.OneLine(hint)
}

// sentence joins the parts that are not empty with colons, in one line.
func sentence(parts ...string) string {
	parts = slices.DeleteFunc(parts, func(part string) bool { return text.OneLine(part) == "" })
	return text.OneLine(strings.Join(parts, ": "))
}

// explain returns the problem of an error, a hint that says what to change, and the message of the
// API. The last two may be empty.
func (a Advisor) explain(tool string, err error) (problem, hint, message string) {
	e, _ := errors.AsType[*call.APIError](err)
	e = cmp.Or(e, &call.APIError{})

	suffix := ""
	if causeName(err) == "" {
		suffix = attemptsSuffix(e)
	}
	w := wordsFor(a.wordsName(err, e))
	if w.AddMessage {
		message = e.Message
	}
	values := a.values(tool, err, e)
	return text.Expand(w.Problem, values) + suffix, text.Expand(w.Hint, values), message
}

// wordsName returns the name by which wordsFor finds the words for an error, the first of these:
//
//	over_limit queued        causeName; there is one for each error without an APIError
//	parameter tools effort   an entry with Says: kind, first word of the detail, and one more word
//	parameter tools filters  kind and detail
//
// e is the *call.APIError in err, or an empty one.
func (a Advisor) wordsName(err error, e *call.APIError) string {
	name := e.Kind.Label()
	detail := a.detail(e)
	word, _, _ := strings.Cut(detail, " ")
	said := nameBySays(strings.TrimSpace(name+" "+word), e.Message)
	return cmp.Or(causeName(err), said, name+" "+detail)
}

// causeName returns the name in words.yaml for an error whose words say how the question ended, or
// which proxy or scheme is wrong. For any other error of a request it returns "". A shutdown or a
// time limit has ended the question, so it comes before the error of the request.
func causeName(err error) string {
	kind := call.KindOf(err)
	_, timedOut := errors.AsType[call.TimeoutError](err)
	_, queued := errors.AsType[call.QueuedError](err)
	_, rootsUnread := errors.AsType[call.RootsError](err)
	e, ofRequest := errors.AsType[*call.APIError](err)
	tunnel, tunnelRefused := errors.AsType[call.TunnelError](err)
	proxy, _ := errors.AsType[call.ProxyError](err)
	switch {
	case kind == call.KindShutdown:
		return "shutdown"
	case kind == call.KindNoText:
		return "no_text " + err.Error() // such as "no_text incomplete: max_output_tokens"
	case timedOut && queued:
		return "over_limit queued"
	case timedOut && rootsUnread:
		return "over_limit roots"
	case timedOut:
		return "over_limit"
	case errors.Is(err, answer.ErrResponseLost):
		return "lost"
	case !ofRequest:
		return "other " + kind.Label()

	case proxy.Schemes != "":
		return "password scheme"
	case proxy.Refused:
		return "password refused"
	case e.Status == http.StatusProxyAuthRequired, tunnel == http.StatusProxyAuthRequired:
		return "password"
	case tunnelRefused:
		return "tunnel"
	case errors.Is(err, call.ErrPlainHTTP), errors.Is(err, http.ErrSchemeMismatch):
		return "scheme"
	}
	return ""
}

// attemptsSuffix returns the HTTP status of an error and the number of attempts, as in " (503)
// after 4 attempts". It leaves out a status below 300 and a single attempt.
func attemptsSuffix(e *call.APIError) string {
	s := ""
	if e.Status >= 300 {
		s = fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	return s
}
