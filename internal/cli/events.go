package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// printJSON writes v on one line, with one Write.
func printJSON(w io.Writer, v any) error {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return err
	}
	_, err = w.Write(escape(append(b, '\n')))
	return err
}

// escape escapes in JSON the characters that text.Unsafe names. Only its strings can have them.
func escape(json []byte) (escaped []byte) {
	for _, r := range string(json) {
		if !text.Unsafe(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// event is a line of `ask --events`: its type, then names and values in turn. Empty strings, except
// an id, are left out.
type event []any

// MarshalJSON keeps the order.
func (e event) MarshalJSON() ([]byte, error) {
	b := fmt.Appendf(nil, `{"type":%q`, e[0])
	for i := 1; i < len(e); i += 2 {
		name := e[i]
		value := e[i+1]
		if value == "" && name != "id" {
			continue
		}
		encoded, _ := jsonx.Marshal(value) // strings and numbers cannot fail
		b = fmt.Appendf(b, ",%q:%s", name, encoded)
	}
	return append(b, '}'), nil
}

// eventOf returns the line of ev. It is nil for an event that is not printed, such as a retry.
func eventOf(ev llm.Event) event {
	switch e := ev.(type) {
	case llm.BlockStart:
		return event{
			"block_start",
			"index", e.Index,
			"kind", e.Kind,
			"id", e.ID,
			"name", e.Name,
		}
	case llm.BlockDelta:
		return event{
			"block_delta",
			"index", e.Index,
			"text", e.Text,
			"thinking", e.Thinking,
			"input_json", e.InputJSON,
		}
	case llm.BlockStop:
		return event{"block_stop", "index", e.Index}
	case llm.Search:
		return event{"search", "action", e.Action, "query", e.Query, "url", e.URL}
	case llm.Usage:
		return event{
			"usage",
			"input_tokens", e.Input,
			"output_tokens", e.Output,
			"total_tokens", e.Total,
		}
	case llm.Done:
		return event{"done", "status", e.Status}
	}
	return nil
}

// failed returns the line of an error: the API's own message and code, where it
// sent any. explained is used where the message repeats a part of the key.
func (a *app) failed(err error, explained string) event {
	message := explained
	code := "error"

	e, ok := errors.AsType[*llm.Error](err)
	if ok {
		switch e.Kind {
		case llm.KindAuth, llm.KindTimeout, llm.KindCanceled, llm.KindConnection:
		default:
			message = cmp.Or(strings.TrimSpace(e.Message), explained)
		}
		kind := strings.ReplaceAll(e.Kind.String(), " ", "_")
		code = cmp.Or(e.Code, e.Type, kind)
	}

	return event{
		"error",
		"message", a.redactor.Line(message),
		"code", a.redactor.Line(code),
	}
}
