package llm

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/tidwall/gjson"
)

// refusal is a parameter, or an element of include, that a model, an
// organization or a compatible server does not take.
type refusal struct{ path, element string }

func (p refusal) String() string { return strings.TrimSpace(p.path + " " + p.element) }

// refusals remembers, for the life of a Client, what each model refused: the
// keys are a [2]any of the model and a refusal.
type refusals struct{ sync.Map }

// add remembers p and reports whether it is new.
func (r *refusals) add(model string, p refusal) bool {
	_, old := r.LoadOrStore([2]any{model, p}, nil)
	return !old
}

func (r *refusals) of(model string) (all []refusal) {
	for key := range r.Range {
		if k := key.([2]any); k[0] == model {
			all = append(all, k[1].(refusal))
		}
	}
	return all
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
		return refusal{path: e.Param}, b.get(e.Param).Exists()
	}
	// An element of include is named by itself, by index (include[0], include.0),
	// or by the message, which may go on to list the values that are fine.
	// Without an element the whole list is refused.
	var list []string
	for _, r := range b.get("include").Array() {
		list = append(list, r.Str)
	}
	if slices.Contains(list, e.Param) {
		return refusal{"include", e.Param}, true
	}
	index, ok := strings.CutPrefix(e.Param, "include")
	if !ok || list == nil || index != "" && index[0] != '[' && index[0] != '.' {
		return refusal{}, false
	}
	if i, err := strconv.Atoi(strings.Trim(index, "[].")); err == nil && i >= 0 && i < len(list) {
		return refusal{"include", list[i]}, true
	}
	// The API writes "Encrypted content" for reasoning.encrypted_content.
	words := strings.ReplaceAll(strings.ToLower(e.Message), "_", " ")
	found, at := "", len(words)
	for _, s := range list {
		last := s[strings.LastIndex(s, ".")+1:]
		if i := strings.Index(words, strings.ReplaceAll(last, "_", " ")); i >= 0 && i < at {
			found, at = s, i
		}
	}
	return refusal{"include", found}, true
}

// refuse takes p out of the body.
func (b *editor) refuse(p refusal) {
	path := p.path
	if p.element != "" {
		i := slices.IndexFunc(b.get(path).Array(), func(r gjson.Result) bool { return r.Str == p.element })
		path += "." + strconv.Itoa(i) // -1: not there
	}
	if path == "stream" {
		b.drop("stream_options")
	}
	b.drop(path)
}
