package advice

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// byKind explains an error by its kind. Each kind of package llm has a case: one without is named,
// but has no hint.
func (v Advisor) byKind(profile string, e *llm.Error) (problem, hint, message string) {
	switch e.Kind {
	case llm.KindMissingKey:
		return e.Message, v.keyPlace(), ""
	case llm.KindAuth:
		if e.Status == 0 { // it was not sent, and the client says what is wrong with it
			return e.Message, v.SetKey("the key alone, in one line"), ""
		}
		return "the API refused the key", v.newKey(), "" // the message repeats a part of the key
	case llm.KindUnverified:
		hint = "verify it at " + VerifyPage + ", or choose another model"
		return "the organization is not verified", hint, e.Message
	case llm.KindPermission:
		hint = "check the permissions of the key in " + v.Key + ", your region, and any firewall"
		return "access denied", hint, e.Message

	case llm.KindBlocked:
		return "OpenAI has blocked the safety identifier", "see " + safetyPage, e.Message

	case llm.KindModel:
		return "model not found", v.otherModel(profile), e.Message
	case llm.KindNotFound:
		return "not found", v.otherBase(), e.Message

	case llm.KindQuota:
		return "quota exceeded", "check plan, credit and limits of your account", ""
	case llm.KindRateLimit:
		return "rate limit reached", waitOrRetry(e), e.Message
	case llm.KindParameter:
		problem = "the API refused " + cmp.Or(e.Param, "the request")
		return problem, v.parameterHint(profile, e), e.Message

	case llm.KindServer:
		return "the API failed", v.orPlain("try again later"), e.Message
	case llm.KindFailed:
		problem = "the response failed (" + cmp.Or(e.Code, "unknown reason") + ")"
		return problem, "rephrase the question or try again", e.Message
	case llm.KindBadResponse:
		return v.badResponse(e)

	case llm.KindConnection:
		return v.connection(e)
	case llm.KindTimeout:
		return "timed out", raiseTimeout, ""
	case llm.KindCanceled:
		return "cancelled", "", ""
	}
	return e.Kind.String(), "", e.Message
}

func waitOrRetry(e *llm.Error) string {
	if e.RetryAfter <= 0 {
		return "wait a little, or raise request.max_retries"
	}
	return fmt.Sprintf("try again in %.0f s", max(1, e.RetryAfter.Seconds()))
}

func (v Advisor) parameterHint(profile string, e *llm.Error) string {
	switch e.Param {
	case "store":
		return "request.extra_body: {store: null} leaves it out, " +
			"and the API then keeps question and answer"
	case "model":
		return v.otherModel(profile)
	}
	return "check the profile and request.extra_body"
}

// badResponse explains an answer that is not of the Responses API: a redirect, a web page or
// something else.
func (v Advisor) badResponse(e *llm.Error) (problem, hint, message string) {
	hint = "check " + v.base()
	switch {
	case e.Status/100 == 3:
		return e.Message, hint + ", and whether the network requires a login", ""
	case errors.Is(e, llm.ErrWebPage):
		hint += ", and whether a firewall or a login page of the network answers instead"
		return "received a web page, not an answer", hint, ""
	}
	return "not an answer of the Responses API", hint, e.Message
}
