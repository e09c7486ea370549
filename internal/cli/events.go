package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// printJSON writes v on one line, with one Write.
func printJSON(w io.Writer, v any) error {
	b, err := jsonx.Marshal(v)
	if err == nil {
		_, err = escaper{w}.Write(append(b, '\n'))
	}
	return err
}

// escaper writes JSON and escapes in it what text.Printable would remove. JSON
// has such characters in strings only.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		if !text.Unsafe(r) {
			b.WriteRune(r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			fmt.Fprintf(&b, `\u%04x`, unit)
		}
	}
	if _, err := io.WriteString(e.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

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

// eventOf returns the line of ev. Its type is empty if there is none: for an
// empty delta, and for a retry, whose blocks get the next numbers.
func eventOf(ev llm.Event) (line event) {
	switch e := ev.(type) {
	case llm.BlockStart:
		line = event{Type: "block_start", Index: &e.Index, Kind: e.Kind, ID: &e.ID}
		if e.Kind == llm.BlockToolUse {
			line.Name = &e.Name
		}
	case llm.BlockDelta:
		if e.Text+e.Thinking+e.InputJSON != "" {
			line = event{Type: "block_delta", Index: &e.Index, Text: e.Text, Thinking: e.Thinking, InputJSON: e.InputJSON}
		}
	case llm.BlockStop:
		line = event{Type: "block_stop", Index: &e.Index}
	case llm.Search:
		line = event{Type: "search", Action: e.Action, Query: e.Query, URL: e.URL}
	case llm.Usage:
		line = event{Type: "usage", Input: &e.Input, Output: &e.Output, Total: &e.Total}
	case llm.Done:
		line = event{Type: "done", Status: e.Status}
	}
	return line
}

// failureOf returns the line of an error: the API's own message and code, where
// it sent any. explained is used where the message repeats a part of the key.
func failureOf(err error, explained string) event {
	line := event{Type: "error", Message: explained, Code: "error"}
	if e, ok := errors.AsType[*llm.Error](err); ok {
		switch e.Kind {
		case llm.KindAuth, llm.KindTimeout, llm.KindCanceled, llm.KindConnection:
		default:
			line.Message = cmp.Or(strings.TrimSpace(e.Message), explained)
		}
		line.Code = cmp.Or(e.Code, e.Type, strings.ReplaceAll(e.Kind.String(), " ", "_"))
	}
	return line
}
