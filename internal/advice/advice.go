// Package advice explains errors of a question: the problem and what to do about it, for models and
// for people.
//
//	advice.go      the Advisor, and errors that are not the API's
//	caller.go      errors for people who cannot change the server
//	kind.go        errors of the API, by their kind
//	connection.go  requests without an answer: DNS, proxy, TLS
//	setting.go     hints that name settings
package advice

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// VerifyPage is where an organization is verified.
const VerifyPage = "https://platform.openai.com/settings/organization/general"

// safetyPage says whom the API blocks.
const safetyPage = "https://platform.openai.com/docs/guides/safety-checks"

// maxExplain bounds the line of Explain, in characters. Claude Code shows 200
// of a message, and "MCP error -32001: answer failed: " precedes the line.
const maxExplain = 166

// raiseTimeout is the hint for a question that took too long.
const raiseTimeout = "raise request.timeout_ms or OPENAI_API_TIMEOUT"

// noText are hints for responses without a text, by the reason.
var noText = map[string]string{
	"incomplete: max_output_tokens": "ask for less, or raise max_output_tokens of the profile",
	"incomplete: content_filter":    "rephrase the question",
}

// Advisor holds the settings that advice names, none of them a secret. A user of an MCP client sees
// one line and no configuration, so the line says which setting it is about.
type Advisor struct {
	BaseURL   Setting            // openai.base_url, without user and query
	Key       string             // variable of the key, or of the name of its file
	KeyInFile bool               // Key names the file of the key, unless there is Login
	Login     string             // command that writes the file of the key, or ""
	HidesKey  bool               // Key hides the key that login has stored
	KeyFlaw   string             // what looks wrong about the key: "it has quotes around it"
	Headers   []string           // variables of openai.headers other than Key
	Models    map[string]Setting // by profile
	Streams   bool               // requests ask for a stream
	Proxy     string             // variable of the proxy
	GOOS      string             // decides where root certificates are
	RootsFile string             // value of SSL_CERT_FILE, which is read for a hint
}

// Setting is a value of the configuration and its origin.
type Setting struct {
	Name  string // model_profiles.answer.model
	Value string // gpt-5.2
	From  string // MODEL_ANSWER, /etc/config.yaml:12, --model, the default
}

// Explain puts an error of a question into one line that says what to do. The
// hint comes before what the API said, so that truncation removes only the latter.
func (v Advisor) Explain(profile string, err error) string {
	problem, hint, message := v.explain(profile, err)
	return text.Truncate(sentence(problem, hint, message), maxExplain)
}

// Advise is Explain in two lines, for a terminal: the problem, with what the API
// said, and a hint, which may be empty.
func (v Advisor) Advise(profile string, err error) (problem, hint string) {
	problem, hint, message := v.explain(profile, err)
	if llm.KindOf(err) == llm.KindMissingKey {
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
// empty. A shutdown or a time limit is what a question ended with, so it comes before the error of
// the request.
func (v Advisor) explain(profile string, err error) (problem, hint, message string) {
	kind := llm.KindOf(err)
	timeout, isOver := errors.AsType[answer.TimeoutError](err)
	queued, hasWaited := errors.AsType[llm.QueuedError](err)
	e, isAPI := errors.AsType[*llm.Error](err)
	switch {
	case kind == llm.KindShutdown:
		return answer.ErrShutdown.Error(), "ask again", ""
	case kind == llm.KindNoText:
		hint = cmp.Or(noText[err.Error()], "try again")
		return err.Error() + "; the model wrote no answer", hint, ""

	case isOver && hasWaited:
		const words = "%v, waiting for the rate limit with %d calls ahead"
		hint = "ask fewer questions at once, or " + raiseTimeout
		return fmt.Sprintf(words, timeout, queued), hint, ""
	case isOver:
		return timeout.Error(), raiseTimeout, ""
	case errors.Is(err, answer.ErrGone):
		hint = "it keeps answers for about ten minutes, with responses.store: true for longer"
		return err.Error(), hint, ""
	case !isAPI:
		return err.Error(), "", ""
	}

	problem, hint, message = v.proxyOrScheme(e)
	if problem == "" {
		problem, hint, message = v.byKind(profile, e)
		problem += attempts(e)
	}
	return problem, hint, message
}

// attempts returns the HTTP status of an error and the number of attempts, as in " (503) after 4
// attempts".
func attempts(e *llm.Error) string {
	s := ""
	if e.Status >= 300 {
		s = fmt.Sprintf(" (%d)", e.Status)
	}
	if e.Attempts > 1 {
		s += fmt.Sprintf(" after %d attempts", e.Attempts)
	}
	return s
}
