package advice

import (
	"cmp"
	"errors"
	"net/http"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// tellOperator is the hint for callers if words.yaml has none.
const tellOperator = "tell the operator of this server"

// ExplainToCaller is Explain for people who share a server and cannot change it. The line says what
// they can do, and names no setting, path or address of the server.
func (a Advisor) ExplainToCaller(_ string, err error) string {
	kind := call.KindOf(err)
	e, ofRequest := errors.AsType[*call.APIError](err)
	e = cmp.Or(e, &call.APIError{})
	w := wordsFor(a.wordsName(err, e))
	if !ofRequest && w.CallerHint == "" { // this program has written the message for callers
		return text.OneLine(err.Error())
	}

	problem := kind.String() + attemptsSuffix(e)
	_, timedOut := errors.AsType[call.TimeoutError](err)
	switch {
	case timedOut, !ofRequest, kind == call.KindShutdown, kind == call.KindCanceled:
		problem = text.Expand(w.Problem, a.values("", err, e))

	// mcporter 0.12 and Inspector 2.12 take a 401 in the text for a refusal of the person, and ask
	// for a sign-in.
	case kind == call.KindAuth:
		problem = "the API refused the server's key"
	case e.Status == http.StatusUnauthorized: // such as for a key without a scope
		problem = kind.String()
	}

	hint, message := w.CallerHint, ""
	switch {
	case w.TellCallers && e.MayConcernQuestion():
		message = e.Message
	case w.TellCallers && kind == call.KindBadRequest: // the parameter comes from a setting
		hint = ""
	}
	hint = retryHintOr(cmp.Or(hint, tellOperator), e)
	return a.Redactor.Truncate(sentence(problem, hint, message), maxExplain)
}
