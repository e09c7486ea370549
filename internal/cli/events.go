package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// printJSON writes v on one line, with one Write.
func printJSON(w io.Writer, v any) error {
	b, err := jsonx.Marshal(v)
	if err == nil {
		_, err = w.Write(text.EscapeJSON(append(b, '\n')))
	}
	return err
}

// line returns a line of `ask --events`: its type, then the members of what, which has some.
func line(kind string, what any) json.RawMessage {
	members, _ := jsonx.Marshal(what) // strings and numbers cannot fail
	return fmt.Appendf(nil, `{"type":%q,%s`, kind, members[1:])
}

// eventType is the type of the line of an event. It is "" for Done, which is printed with the
// answer, and for events that are not printed, such as a retry.
func eventType(ev llm.Event) string {
	switch ev.(type) {
	case llm.BlockStart:
		return "block_start"
	case llm.BlockDelta:
		return "block_delta"
	case llm.BlockStop:
		return "block_stop"
	case llm.Search:
		return "search"
	case llm.Usage:
		return "usage"
	}
	return ""
}

// errorLine returns the line of an error: the API's own message and code, where it sent any.
// problem is used where there is no such message, or where it repeats a part of the key, and hint
// where nothing was sent for want of a key.
func (a *app) errorLine(err error, problem, hint string) json.RawMessage {
	kind := llm.KindOf(err)
	code := strings.ReplaceAll(kind.String(), " ", "_")
	e, ok := errors.AsType[*llm.Error](err)
	if ok {
		code = cmp.Or(e.Code, e.Type, code)
		switch kind {
		case llm.KindMissingKey:
			problem += ": " + hint
		case llm.KindAuth, llm.KindTimeout, llm.KindCanceled, llm.KindConnection:
		default:
			problem = cmp.Or(e.Message, problem)
		}
	}

	return line("error", struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}{
		a.redactor.Line(problem),
		a.redactor.Line(code),
	})
}
