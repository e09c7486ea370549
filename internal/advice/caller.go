package advice

import (
	"cmp"
	"errors"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// tellOperator is the hint of all errors without words for callers.
const tellOperator = "tell the operator of this server"

// ExplainToCaller is Explain for people who share a server and cannot change it. It says what they can
// do, and names no setting, path or address of the server.
func ExplainToCaller(_ string, err error) string {
	kind := llm.KindOf(err)
	name := kind.Label()
	if kind == llm.KindNoText { // which says why
		name = general(err)
	}
	w := find(name)
	hint := w.Caller
	e, isAPI := errors.AsType[*llm.Error](err)
	if !isAPI && hint == "" { // the server words it
		return text.OneLine(err.Error())
	}

	e = cmp.Or(e, &llm.Error{})
	timeout, isOver := errors.AsType[answer.TimeoutError](err)
	problem := kind.String() + attempts(e)
	switch {
	case isOver:
		problem = timeout.Error()
	case !isAPI, kind == llm.KindShutdown, kind == llm.KindCanceled:
		problem = strings.ReplaceAll(w.Problem, "$ERROR", err.Error())
	}

	message := ""
	switch {
	case w.Tell && e.OfQuestion():
		message = e.Message
	case kind == llm.KindParameter: // of a setting
		hint = tellOperator
	}
	hint = waitOr(cmp.Or(hint, tellOperator), e)
	return text.Truncate(sentence(problem, hint, message), maxExplain)
}
