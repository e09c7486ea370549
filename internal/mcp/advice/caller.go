package advice

import (
	"cmp"
	"errors"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// tellOperator is the hint of all errors without words for callers.
const tellOperator = "tell the operator of this server"

// ExplainToCaller is Explain for people who share a server and cannot change it. It says what they
// can do, and names no setting, path or address of the server.
func (v Advisor) ExplainToCaller(_ string, err error) string {
	kind := call.KindOf(err)
	name := kind.Label()
	if kind == call.KindNoText || errors.As(err, new(call.RootsError)) { // which say why
		name = general(err)
	}
	w := find(name)
	hint := w.Caller
	e, fromAPI := errors.AsType[*call.Error](err)
	if !fromAPI && hint == "" { // the server words it
		return text.OneLine(err.Error())
	}

	e = cmp.Or(e, &call.Error{})
	timeout, timedOut := errors.AsType[answer.TimeoutError](err)
	problem := kind.String() + attempts(e)
	switch {
	case timedOut:
		problem = timeout.Error()
	case !fromAPI, kind == call.KindShutdown, kind == call.KindCanceled:
		problem = text.Expand(w.Problem, map[string]string{"ERROR": err.Error()})
	}

	message := ""
	switch {
	case w.Tell && e.OfQuestion():
		message = e.Message
	case kind == call.KindParameter && parameter(e) == "tools filters":
		hint = find("parameter tools filters").Caller
	case kind == call.KindParameter: // of a setting
		hint = tellOperator
	}
	hint = waitOr(cmp.Or(hint, tellOperator), e)
	return v.Redactor.Truncate(sentence(problem, hint, message), maxExplain)
}
