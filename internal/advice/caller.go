package advice

import (
	"cmp"
	"errors"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// tellOperator is the hint of all errors that have none in forCallers.
const tellOperator = "tell the operator of this server"

// forCallers are what people can do who cannot change the server.
var forCallers = map[llm.Kind]string{
	llm.KindBlocked:   "OpenAI has blocked you; do not ask again, and " + tellOperator,
	llm.KindParameter: "rephrase the question, or " + tellOperator,
	llm.KindRateLimit: "wait a little",
	llm.KindServer:    "try again later",
	llm.KindFailed:    "rephrase the question or try again",
	llm.KindNoText:    "rephrase the question, or ask for less",
	llm.KindTimeout:   "ask for less, or fewer questions at once",
	llm.KindShutdown:  "ask again",
}

// ExplainToCaller is Explain for people who share a server and cannot change it. It says what they can
// do, and names no setting, path or address of the server.
func ExplainToCaller(_ string, err error) string {
	kind := llm.KindOf(err)
	e, isAPI := errors.AsType[*llm.Error](err)
	_, isKnown := forCallers[kind]
	if !isAPI && !isKnown { // the server words it
		return text.OneLine(err.Error())
	}

	e = cmp.Or(e, &llm.Error{})
	timeout, isOver := errors.AsType[answer.TimeoutError](err)
	problem := kind.String() + attempts(e)
	switch {
	case isOver:
		problem = timeout.Error()
	case kind == llm.KindShutdown:
		problem = answer.ErrShutdown.Error()
	}
	hint := cmp.Or(forCallers[kind], tellOperator)
	if e.RetryAfter > 0 {
		hint = waitOrRetry(e)
	}
	message := ""
	if kind == llm.KindFailed || kind == llm.KindParameter && e.Param == "" { // about the question
		message = e.Message
	}
	return text.Truncate(sentence(problem, hint, message), maxExplain)
}
