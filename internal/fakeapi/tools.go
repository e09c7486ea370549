package fakeapi

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// calling is a conversation in which the model calls the functions that it is
// offered, and answers when it has their outputs.
type calling struct {
	rounds   int  // how often it calls before it answers
	parallel int  // calls in one response
	unknown  bool // calls a function that was not offered
}

// turn makes the calls that are still due, or the answer. How far the
// conversation is stands in the input alone: the client keeps it, not the server.
func (c calling) turn(s *Server, r *request) turn {
	var outputs []string
	for _, it := range r.items {
		if it.Type == "function_call_output" || it.Type == "custom_tool_call_output" {
			outputs = append(outputs, shorten(textOf(it.Output), 60))
		}
	}
	var offered []tool
	for _, t := range r.tools {
		if t.Type == "function" || t.Type == "custom" {
			offered = append(offered, t)
		}
	}
	if c.unknown {
		offered = []tool{{Type: "function", Name: "not_offered"}}
		c.rounds, c.parallel = len(outputs)+1, 1
	}
	if len(offered) == 0 || len(outputs) >= c.rounds*c.parallel {
		return turn{output: r.thought("1", r.said("1", r.reported(outputs), nil))}
	}
	var calls []item
	for i := range c.parallel {
		calls = append(calls, r.called(i, offered[i%len(offered)]))
	}
	out := r.thought("1", calls...)
	s.issue(out)
	return turn{output: out}
}

// issue remembers the calls of an output, with the reasoning before them.
func (s *Server) issue(out []item) {
	s.mu.Lock()
	defer s.mu.Unlock()
	thought := ""
	for _, it := range out {
		switch it := it.(type) {
		case *reasoning:
			thought = it.ID
		case *call:
			s.calls[it.CallID] = issued{item: it.ID, reasoning: thought}
		}
	}
}

// called is the i-th call of a response.
func (r *request) called(i int, t tool) *call {
	n := strconv.Itoa(i)
	c := &call{
		ID: newID("fc", r.seed, n), Type: "function_call", Status: "completed",
		CallID: "call_" + opaque("call", r.seed, n)[:24], Name: t.Name,
	}
	if t.Type == "custom" {
		c.ID, c.Type, c.Input = newID("ctc", r.seed, n), "custom_tool_call", new(shorten(r.question(), 60))
		return c
	}
	c.Arguments = new(r.arguments(t.Parameters))
	return c
}

// arguments fills the parameters that a function requires: the first value of
// an enumeration, the question for a text, 1 for a number.
func (r *request) arguments(schema json.RawMessage) string {
	var s struct {
		Properties map[string]struct {
			Type json.RawMessage   `json:"type"`
			Enum []json.RawMessage `json:"enum"`
		} `json:"properties"`
		Required []string `json:"required"`
	}
	_ = json.Unmarshal(schema, &s) // A schema that is none has no parameters.
	args := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p := s.Properties[name]
		switch typ := string(p.Type); {
		case !slices.Contains(s.Required, name):
		case len(p.Enum) > 0:
			args[name] = p.Enum[0]
		case strings.Contains(typ, "number"), strings.Contains(typ, "integer"):
			args[name] = 1
		case strings.Contains(typ, "boolean"):
			args[name] = true
		case strings.Contains(typ, "array"):
			args[name] = []any{}
		case strings.Contains(typ, "object"):
			args[name] = map[string]any{}
		default:
			args[name] = shorten(r.question(), 60)
		}
	}
	return string(encode(args, ""))
}

// reported is the answer after the calls: it repeats what they gave.
func (r *request) reported(outputs []string) string {
	return strings.Join(append([]string{r.words("", "")}, outputs...), "\n- ")
}
