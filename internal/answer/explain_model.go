package answer

import (
	"errors"
	"net/http"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// ModelNotFound reports whether err says that the API has no such model, or has
// it not for this key.
func ModelNotFound(err error) bool {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return false
	}
	words := strings.ToLower(e.Message)
	switch e.Kind {
	case llm.KindNotFound:
		// A wrong path is quoted in the message, and may have the word in it.
		return e.Code == "model_not_found" || e.Code == "DeploymentNotFound" || strings.Contains(words, "model") && !strings.Contains(words, "invalid url")
	case llm.KindParameter:
		return strings.Contains(words, "is not a valid model") // OpenRouter
	}
	return false
}

// NoModels is the cure when the question what a model is (GET /models/{id})
// finds nobody to answer it; ok reports whether err says so. A compatible server
// may answer questions all the same, so only asking one tells.
func (g *Guide) NoModels(err error) (cure string, ok bool) {
	e, ok := errors.AsType[*llm.Error](err)
	if !ok || g.openAI() || ModelNotFound(err) {
		return "", false
	}
	switch e.Status {
	case http.StatusNotFound:
		cure, _ = g.otherBase()
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		cure, _ = g.base("check openai.base_url (%s)")
	default:
		return "", false
	}
	return cure + ", or see with --live whether it answers questions", true
}

// explainNotFound tells a model that is not there from an address that is not.
func (g *Guide) explainNotFound(profile string, e *llm.Error) remedy {
	r := remedy{what: "not found" + status(e), said: e.Message}
	if ModelNotFound(e) {
		r.what = "model " + r.what
		r.cure, r.brief = g.anotherModel(profile)
		return r
	}
	r.cure, r.brief = g.otherBase()
	return r
}
