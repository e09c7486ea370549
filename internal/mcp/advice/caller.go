package advice

import (
	"cmp"
	"errors"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// tellOperator is the hint for callers if words.yaml has none.
const tellOperator = "tell the operator of this server"

// ExplainToCaller is Explain for people who share a server and cannot change it. The line says what
// they can do, and names no setting, path or address of the server.
func (a Advisor) ExplainToCaller(_ string, err error) string {
	kind := call.KindOf(err)
	name := kind.Label()
	if kind == call.KindNoText || errors.As(err, new(call.RootsError)) { // words that say why
		name = wordsName(err)
	}
	w := wordsFor(name)
	hint := w.CallerHint
	e, ofRequest := errors.AsType[*call.APIError](err)
	if !ofRequest && hint == "" { // this program has written the message for callers
		return text.OneLine(err.Error())
	}

	e = cmp.Or(e, &call.APIError{})
	timeout, timedOut := errors.AsType[call.TimeoutError](err)
	problem := kind.String() + attemptsSuffix(e)
	switch {
	case timedOut:
		problem = timeout.Error()
	case !ofRequest, kind == call.KindShutdown, kind == call.KindCanceled:
		problem = text.Expand(w.Problem, map[string]string{"ERROR": err.Error()})
	}

	message := ""
	switch {
	case w.TellCallers && e.MayConcernQuestion():
		message = e.Message
	case kind == call.KindBadRequest && parameterDetail(e) == "tools filters":
		hint = wordsFor(call.KindBadRequest.Label() + " tools filters").CallerHint
	case kind == call.KindBadRequest: // the parameter comes from a setting
		hint = tellOperator
	}
	hint = retryHintOr(cmp.Or(hint, tellOperator), e)
	return a.Redactor.Truncate(sentence(problem, hint, message), maxExplain)
}
