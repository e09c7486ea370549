package answer

import (
	"cmp"
	"errors"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// maxExplain bounds the line of Explain, in characters: clients show it in a
// toast or a status bar. Claude Code shows 200 of a message, and "MCP error
// -32001: answer failed: " stands before this one.
const maxExplain = 166

// Explain puts an error of a question to a profile into one line that says what
// to do about it, advice first, so that a cut takes only what the API has said.
// It never quotes a message about the key, which repeats part of it.
func (g *Guide) Explain(profile string, err error) string {
	r := g.explain(profile, err)
	line := r.line(r.cure)
	if r.brief != "" && utf8.RuneCountInString(line) > maxExplain {
		line = r.line(r.brief)
	}
	return Cut(OneLine(line+after(r.said)), maxExplain)
}

// Advise is Explain for a person at a terminal: one line that says what is
// wrong, with the words of the API, and another that says what to do. hint is
// empty when there is nothing to advise.
func (g *Guide) Advise(profile string, err error) (text, hint string) {
	r := g.explain(profile, err)
	return OneLine(r.what + after(r.said)), OneLine(cmp.Or(r.hint, r.cure))
}

// A remedy is an error in words.
type remedy struct {
	what  string // is wrong
	cure  string // names the setting or variable to change
	brief string // the cure where there is little room; "": as it is
	hint  string // the cure for a person at a terminal; "": as it is
	said  string // by the API
	join  string // stands between what and cure in a line; "": a colon
}

func (r remedy) line(cure string) string {
	if cure == "" {
		return r.what
	}
	return r.what + cmp.Or(r.join, ": ") + cure
}

func (g *Guide) explain(profile string, err error) remedy {
	if err == nil {
		return remedy{}
	}
	if e, ok := errors.AsType[*timeoutError](err); ok {
		return timedOut(e.Error())
	}
	if e, ok := errors.AsType[*NoTextError](err); ok {
		return explainNoText(e)
	}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		return g.explainAPI(profile, e)
	}
	return remedy{what: err.Error()}
}

func timedOut(what string) remedy {
	return remedy{what: what, join: "; ", cure: "raise request.timeout_ms or OPENAI_API_TIMEOUT"}
}

func explainNoText(e *NoTextError) remedy {
	r := remedy{what: e.Reason + "; the model wrote no answer", cure: "try again"}
	switch e.Reason {
	case "incomplete: max_output_tokens":
		r.cure = "ask for less, or raise max_output_tokens in request.extra_body"
	case "incomplete: content_filter":
		r.cure = "rephrase the question"
	}
	return r
}
