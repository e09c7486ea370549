package advice

import (
	"cmp"
	"errors"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	tellOperator = "tell the operator of this server"
	tryLater     = "try again later"
	blocked      = "OpenAI has blocked you (safety identifier)"
)

// forCallers has the problem and the hint of an error for people who cannot change the server.
var forCallers = map[llm.Kind][2]string{
	llm.KindMissingKey:  {"there is no API key", tellOperator},
	llm.KindAuth:        {"the API refused the server's key", tellOperator},
	llm.KindPermission:  {"the API denies access", tellOperator},
	llm.KindQuota:       {"the quota is exceeded", tellOperator},
	llm.KindUnverified:  {"the organization is not verified", tellOperator},
	llm.KindModel:       {"the model is not available", tellOperator},
	llm.KindNotFound:    {"the API was not found", tellOperator},
	llm.KindConnection:  {"the server cannot reach the API", tryLater + ", or " + tellOperator},
	llm.KindBadResponse: {"something else answers in place of the API", tellOperator},

	llm.KindBlocked:   {blocked, "do not ask again, and talk to the operator of this server"},
	llm.KindParameter: {"the API refused the request", "rephrase the question, or " + tellOperator},
	llm.KindRateLimit: {"rate limit reached", "wait a little"},
	llm.KindServer:    {"the API failed", tryLater},
	llm.KindFailed:    {"the response failed", "rephrase the question or try again"},
	llm.KindNoText:    {"the model wrote no answer", "rephrase the question, or ask for less"},
	llm.KindTimeout:   {"timed out", "ask for less, or fewer questions at once"},
	llm.KindCanceled:  {"cancelled", ""},
	llm.KindShutdown:  {answer.ErrShutdown.Error(), "ask again"},
}

// ExplainToCaller is Explain for people who share a server and cannot change it. It says what they can
// do, and names no setting, path or address of the server.
func ExplainToCaller(_ string, err error) string {
	kind := llm.KindOf(err)
	words, ok := forCallers[kind]
	if !ok || errors.Is(err, answer.ErrGone) {
		return text.Truncate(text.OneLine(err.Error()), maxExplain)
	}

	e, _ := errors.AsType[*llm.Error](err)
	e = cmp.Or(e, &llm.Error{})
	problem, hint := words[0]+attempts(e), words[1]
	timeout, isOver := errors.AsType[answer.TimeoutError](err)
	if isOver {
		problem = timeout.Error()
	}
	if e.RetryAfter > 0 {
		hint = waitOrRetry(e)
	}
	message := ""
	if kind == llm.KindFailed || kind == llm.KindParameter && e.Param == "" { // about the question
		message = e.Message
	}
	return text.Truncate(sentence(problem, hint, message), maxExplain)
}
