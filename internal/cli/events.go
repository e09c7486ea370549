package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// event is a line of `ask --events`. Its members are in the order in which they
// are printed; which of them a line has depends on its type.
type event struct {
	Type      string  `json:"type"`
	Index     *int    `json:"index,omitempty"`
	Kind      string  `json:"kind,omitempty"`
	ID        *string `json:"id,omitempty"`
	Name      *string `json:"name,omitempty"`
	Text      string  `json:"text,omitempty"`
	Thinking  string  `json:"thinking,omitempty"`
	InputJSON string  `json:"input_json,omitempty"`
	Action    string  `json:"action,omitempty"`
	Query     string  `json:"query,omitempty"`
	URL       string  `json:"url,omitempty"`
	Input     *int64  `json:"input_tokens,omitempty"`
	Output    *int64  `json:"output_tokens,omitempty"`
	Total     *int64  `json:"total_tokens,omitempty"`
	Status    string  `json:"status,omitempty"`
	Message   string  `json:"message,omitempty"`
	Code      string  `json:"code,omitempty"`
}

// eventOf returns the line of ev, or ok false if it has none. A retry has none:
// its blocks get the next numbers.
func eventOf(ev llm.Event) (line event, ok bool) {
	switch e := ev.(type) {
	case llm.BlockStart:
		line = event{Type: "block_start", Index: &e.Index, Kind: e.Kind, ID: &e.ID}
		if e.Kind == llm.BlockToolUse {
			line.Name = &e.Name
		}
	case llm.BlockDelta:
		if e.Text == "" && e.Thinking == "" && e.InputJSON == "" {
			return event{}, false
		}
		line = event{Type: "block_delta", Index: &e.Index, Text: e.Text, Thinking: e.Thinking, InputJSON: e.InputJSON}
	case llm.BlockStop:
		line = event{Type: "block_stop", Index: &e.Index}
	case llm.Search:
		line = event{Type: "search", Action: e.Action, Query: e.Query, URL: e.URL}
	case llm.Usage:
		line = event{Type: "usage", Input: &e.Input, Output: &e.Output, Total: &e.Total}
	case llm.Done:
		line = event{Type: "done", Status: e.Status}
	default:
		return event{}, false
	}
	return line, true
}

// failureOf returns the line of an error: the API's own message and code, where
// it sent any. explained is used where the message repeats a part of the key.
func failureOf(err error, explained string) event {
	line := event{Type: "error", Message: explained, Code: "error"}
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return line
	}
	switch e.Kind {
	case llm.KindAuth, llm.KindTimeout, llm.KindCanceled, llm.KindConnection:
	default:
		line.Message = cmp.Or(strings.TrimSpace(e.Message), explained)
	}
	line.Code = cmp.Or(e.Code, e.Type, strings.ReplaceAll(e.Kind.String(), " ", "_"))
	return line
}

// eventPrinter prints the events of a run when they happen.
type eventPrinter struct {
	out  io.Writer
	stop func() // ends the run
	done bool   // the response is complete
	err  error  // of writing
}

func (p *eventPrinter) watch(ev llm.Event) {
	if _, ok := ev.(llm.Done); ok {
		p.done = true
	}
	if line, ok := eventOf(ev); ok {
		p.print(line)
	}
}

// print prints one line with one Write.
func (p *eventPrinter) print(line event) {
	if p.err != nil {
		return
	}
	b, err := unescaped.JSON(line)
	if err == nil {
		_, err = escaper{p.out}.Write(append(b, '\n'))
	}
	if err != nil {
		p.err = fmt.Errorf("writing the events to stdout: %w", err)
		p.stop()
	}
}

// finish prints the error of a run, if any. A complete response is a success
// even if no answer could be made of it.
func (p *eventPrinter) finish(w *wiring, profile string, err error) error {
	if err == nil || p.done {
		return p.err
	}
	line := failureOf(err, w.answerer.Explain(profile, err))
	line.Message, line.Code = w.redactor.Redact(line.Message), w.redactor.Redact(line.Code)
	if p.print(line); p.err != nil {
		return p.err
	}
	return errReported
}
