package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// errTold says that an error was printed already.
var errTold = errors.New("told")

// The lines of ask --events. Members stand in the order in which they are
// written; what is empty is left out, except where a reader counts on it.
type (
	startLine struct {
		Type  string  `json:"type"`
		Index int     `json:"index"`
		Kind  string  `json:"kind"`
		ID    string  `json:"id"`
		Name  *string `json:"name,omitempty"` // of tools, also when it is empty
	}
	deltaLine struct {
		Type      string `json:"type"`
		Index     int    `json:"index"`
		Text      string `json:"text,omitempty"`
		Thinking  string `json:"thinking,omitempty"`
		InputJSON string `json:"input_json,omitempty"`
	}
	stopLine struct {
		Type  string `json:"type"`
		Index int    `json:"index"`
	}
	searchLine struct {
		Type   string `json:"type"`
		Action string `json:"action,omitempty"`
		Query  string `json:"query,omitempty"`
		URL    string `json:"url,omitempty"`
	}
	usageLine struct {
		Type   string `json:"type"`
		Input  int64  `json:"input_tokens"`
		Output int64  `json:"output_tokens"`
		Total  int64  `json:"total_tokens"`
	}
	doneLine struct {
		Type   string `json:"type"`
		Status string `json:"status"`
	}
	errorLine struct {
		Type    string `json:"type"`
		Message string `json:"message"`
		Code    string `json:"code"`
	}
)

// line is the line of an event; nil for one that has none. There is none for
// llm.Retrying: the blocks of the next try have numbers of their own.
func line(ev llm.Event) any {
	switch e := ev.(type) {
	case llm.BlockStart:
		l := startLine{Type: "block_start", Index: e.Index, Kind: e.Kind, ID: e.ID}
		if e.Kind == llm.BlockToolUse {
			l.Name = &e.Name
		}
		return l
	case llm.BlockDelta:
		if e.Text == "" && e.Thinking == "" && e.InputJSON == "" {
			return nil
		}
		return deltaLine{"block_delta", e.Index, e.Text, e.Thinking, e.InputJSON}
	case llm.BlockStop:
		return stopLine{"block_stop", e.Index}
	case llm.Searching:
		return searchLine{"search", e.Action, e.Query, e.URL}
	case llm.Usage:
		return usageLine{"usage", e.Input, e.Output, e.Total}
	case llm.Done:
		return doneLine{"done", e.Status}
	}
	return nil
}

// failureLine is the line of an error. The words are the API's own where it
// said any: who reads events is looking for what was on the wire. A message
// about the key is not passed on, as it repeats a part of it.
func failureLine(err error, explained string) errorLine {
	l := errorLine{Type: "error", Message: explained, Code: "error"}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return l
	}
	switch e.Kind {
	case llm.KindAuth, llm.KindTimeout, llm.KindCanceled, llm.KindConnection:
	default:
		l.Message = cmp.Or(strings.TrimSpace(e.Message), l.Message)
	}
	l.Code = cmp.Or(e.Code, e.Type, strings.ReplaceAll(e.Kind.String(), " ", "_"))
	return l
}

// eventPrinter writes the events of a run, each line when it happens.
type eventPrinter struct {
	out  *json.Encoder
	stop func() // ends a run whose events nobody reads
	done bool   // the response is there
	err  error  // of writing
}

func newEventPrinter(w io.Writer, stop func()) *eventPrinter {
	p := &eventPrinter{out: json.NewEncoder(w), stop: stop}
	p.out.SetEscapeHTML(false)
	return p
}

func (p *eventPrinter) watch(ev llm.Event) {
	if _, ok := ev.(llm.Done); ok {
		p.done = true
	}
	if l := line(ev); l != nil {
		p.print(l)
	}
}

// print writes one line in one Write.
func (p *eventPrinter) print(line any) {
	if p.err != nil {
		return
	}
	if p.err = written(p.out.Encode(line)); p.err != nil {
		p.stop()
	}
}

// askEvents prints what answers the question while it happens. The stream that
// came to its end is a success, whether an answer can be made of it or not.
func (a *app) askEvents(ctx context.Context, w *wiring, profile, query string) error {
	run, stop := a.whileRead(ctx)
	defer stop()
	p := newEventPrinter(a.stdout, stop)
	_, err := w.answerer.Ask(run, profile, answer.Question{Query: query}, p.watch)
	if err != nil && !p.done {
		l := failureLine(err, w.answerer.Explain(profile, err))
		l.Message, l.Code = w.redact(l.Message), w.redact(l.Code)
		p.print(l)
	}
	switch {
	case p.err != nil:
		return p.err
	case err == nil || p.done:
		return nil
	case ctx.Err() != nil:
		return errInterrupted
	}
	return errTold
}
