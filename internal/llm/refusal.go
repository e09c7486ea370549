package llm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// refusal names a parameter that a model, an organization or a compatible
// server does not take; element is one entry of a list.
type refusal struct{ param, element string }

func (p refusal) String() string { return strings.TrimSpace(p.param + " " + p.element) }

// refusals remembers, for the life of a Client, what each model refused.
type refusals struct {
	mu      sync.Mutex
	byModel map[string][]refusal
}

func (r *refusals) of(model string) []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.byModel[model])
}

// add remembers p and reports whether it is new.
func (r *refusals) add(model string, p refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.byModel[model], p) {
		return false
	}
	if r.byModel == nil {
		r.byModel = map[string][]refusal{}
	}
	r.byModel[model] = append(r.byModel[model], p)
	return true
}

// refusedBy finds the parameter of the body that a 400 names and that an answer
// can do without. tools is not one: an answer without search is not the one
// that was asked for.
func (b *editor) refusedBy(e *Error) (refusal, bool) {
	if e.Status != http.StatusBadRequest || e.Kind != KindParameter && e.Kind != KindUnverified {
		return refusal{}, false
	}
	switch e.Param {
	case "stream", "stream_options", "store", "parallel_tool_calls", "service_tier", "max_tool_calls",
		"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity":
		return refusal{param: e.Param}, b.get(e.Param).Exists()
	}
	return b.refusedInclude(e)
}

// refusedInclude finds the element of include that a 400 is about: by index
// (include[0], include.0), by its name, or as the first one that the message
// mentions; the message may go on to list the values that are fine. Without an
// element the whole list is refused.
func (b *editor) refusedInclude(e *Error) (refusal, bool) {
	list := b.get("include").Array()
	if slices.ContainsFunc(list, func(r gjson.Result) bool { return r.Str == e.Param }) {
		return refusal{"include", e.Param}, true
	}
	index, ok := strings.CutPrefix(e.Param, "include")
	if !ok || len(list) == 0 || index != "" && index[0] != '[' && index[0] != '.' {
		return refusal{}, false
	}
	if i, err := strconv.Atoi(strings.Trim(index, "[].")); err == nil && i >= 0 && i < len(list) {
		return refusal{"include", list[i].Str}, true
	}
	// The API writes "Encrypted content" for reasoning.encrypted_content.
	words := strings.ReplaceAll(strings.ToLower(e.Message), "_", " ")
	found, at := "", len(words)
	for _, r := range list {
		last := r.Str[strings.LastIndex(r.Str, ".")+1:]
		if i := strings.Index(words, strings.ReplaceAll(last, "_", " ")); i >= 0 && i < at {
			found, at = r.Str, i
		}
	}
	return refusal{"include", found}, true
}

// refuse takes p out of the body.
func (b *editor) refuse(p refusal) {
	if p.param == "stream" {
		b.drop("stream_options")
	}
	if p.element == "" {
		b.drop(p.param)
		return
	}
	for i, r := range b.get(p.param).Array() {
		if r.Str == p.element {
			b.drop(p.param + "." + strconv.Itoa(i))
			return
		}
	}
}
