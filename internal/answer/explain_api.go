package answer

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func (g *Guide) explainAPI(profile string, e *llm.Error) remedy {
	switch e.Status {
	case http.StatusProxyAuthRequired: // a proxy for plain http answers in the API's place
		return g.proxyPassword(status(e))
	case http.StatusNetworkAuthenticationRequired:
		return remedy{what: "the network wants a login" + status(e), cure: "log in to it with a browser"}
	}
	switch e.Kind {
	case llm.KindMissingKey:
		what, cure, _ := strings.Cut(e.Message, ": ")
		return remedy{what: what, cure: cure, hint: g.GetKey() + "; --offline needs none"}
	case llm.KindAuth:
		if e.Status == 0 { // never sent: the client itself says what is wrong with the key
			return remedy{what: e.Message, cure: "set " + g.key() + " to the key alone, in one line"}
		}
		return remedy{what: "the API refused the key" + status(e), cure: g.newKey()}
	case llm.KindPermission:
		return g.explainPermission(profile, e)
	case llm.KindNotFound:
		return g.explainNotFound(profile, e)
	case llm.KindQuota:
		return remedy{what: "quota exceeded" + status(e), cure: "check plan, credit and limits of " + g.account()}
	case llm.KindRateLimit:
		return remedy{what: "rate limit reached" + status(e) + attempts(e), cure: wait(e.RetryAfter), said: e.Message}
	case llm.KindParameter:
		return g.explainParameter(profile, e)
	case llm.KindServer:
		return remedy{what: "the API has an error of its own" + status(e) + attempts(e), cure: "try again later", said: e.Message}
	case llm.KindTimeout:
		return timedOut("timed out")
	case llm.KindCanceled:
		return remedy{what: "cancelled"}
	case llm.KindConnection:
		return g.explainConnection(e)
	case llm.KindBadResponse:
		return g.explainOther(e)
	}
	return remedy{what: "the response failed" + code(e), cure: "rephrase the question or try again", said: e.Message}
}

// account is who is to be asked about money.
func (g *Guide) account() string {
	if g.openAI() {
		return "the OpenAI project"
	}
	return "your account at " + g.host()
}

// explainPermission tells an organization that has not proved who it is, and a
// firewall that answers with a page of its own, from a key without the right.
func (g *Guide) explainPermission(profile string, e *llm.Error) remedy {
	switch {
	case Unverified(e.Message):
		r := remedy{what: "the organization is not verified" + status(e), cure: "verify it at " + VerifyPage + ", or choose another model", said: e.Message}
		if s, ok := g.Models[profile]; ok {
			r.brief = r.cure
			r.cure += " in " + s.Name + " (" + s.From + ")"
		}
		return r
	case e.Message == http.StatusText(e.Status): // there was nothing else to read
		return remedy{what: "access denied" + status(e), cure: "check what the key in " + g.key() + " may use, and whether a firewall or proxy answers in place of " + g.host()}
	case !g.openAI():
		return remedy{what: "access denied" + status(e), cure: "check what the key in " + g.key() + " may use at " + g.host(), said: e.Message}
	}
	return remedy{what: "access denied" + status(e), cure: "check what the key's project may use, and the region", said: e.Message}
}

// Unverified reports whether the API asks to verify the organization, in the
// words of an error. It has no code for it.
func Unverified(words string) bool {
	return strings.Contains(strings.ToLower(words), "organization must be verified")
}

func (g *Guide) explainParameter(profile string, e *llm.Error) remedy {
	switch {
	case Unverified(e.Message):
		return g.explainPermission(profile, e)
	case ModelNotFound(e):
		return g.explainNotFound(profile, e)
	case g.clearText(e):
		r := remedy{what: "the API refused the request" + status(e), said: e.Message}
		r.cure, r.brief = g.base("check http or https in openai.base_url (%s)")
		return r
	case e.Param == "":
		return remedy{what: "the API refused the request" + status(e), cure: "check the model and request.extra_body", said: e.Message}
	}
	r := remedy{what: "the API refused " + e.Param + status(e), cure: "check the profile and request.extra_body", said: e.Message}
	if e.Param == "model" {
		r.cure, r.brief = g.anotherModel(profile)
	}
	return r
}

// clearText reports whether a server that speaks TLS has got a request in plain
// HTTP. Go's and nginx's say so; others, such as Apache's, show a page for
// people, of which only the name of the status is left.
func (g *Guide) clearText(e *llm.Error) bool {
	if e.Status != http.StatusBadRequest {
		return false
	}
	words := strings.ToLower(e.Message)
	return strings.Contains(words, "http request to an https server") || strings.Contains(words, "https port") ||
		e.Message == http.StatusText(e.Status) && strings.HasPrefix(strings.ToLower(g.BaseURL.Value), "http:")
}

// explainOther is about an answer that is none of the Responses API. A network
// that wants a login sends a web page, or leads to one.
func (g *Guide) explainOther(e *llm.Error) remedy {
	r := remedy{what: "what came back is no Responses API answer" + status(e), said: e.Message}
	switch {
	case e.Status/100 == 3:
		r.what = "a redirect came back, no answer" + status(e)
	case strings.Contains(e.Message, "(text/html"): // the words of llm
		r.what = "a web page came back, no answer" + status(e)
	default:
		r.cure, r.brief = g.base("check openai.base_url (%s)")
		return r
	}
	r.cure, r.brief = g.base("check openai.base_url (%s), or log in to the network with a browser")
	return r
}

func wait(after time.Duration) string {
	if after > 0 {
		return "try again in " + decimal(max(1, after.Round(time.Second).Seconds())) + " s"
	}
	return "wait a little, or raise request.max_retries"
}

func status(e *llm.Error) string {
	if e.Status == 0 {
		return ""
	}
	return " (" + strconv.Itoa(e.Status) + ")"
}

func code(e *llm.Error) string {
	if e.Code == "" {
		return ""
	}
	return " (" + e.Code + ")"
}

func attempts(e *llm.Error) string {
	if e.Attempts < 2 {
		return ""
	}
	return " after " + strconv.Itoa(e.Attempts) + " attempts"
}

// after adds what the API has said, if anything.
func after(said string) string {
	if m := OneLine(said); m != "" {
		return ": " + m
	}
	return ""
}
