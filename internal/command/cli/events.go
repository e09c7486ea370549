package cli

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
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
func line(name string, what any) json.RawMessage {
	members, _ := jsonx.Marshal(what) // strings and numbers cannot fail
	return fmt.Appendf(nil, `{"type":%q,%s`, name, members[1:])
}

// eventType is the type of the line of an event. It is "" for Done, which is printed with the
// answer, and for events that are not printed, such as a retry.
func eventType(ev call.Event) string {
	switch ev.(type) {
	case call.BlockStart:
		return "block_start"
	case call.BlockDelta:
		return "block_delta"
	case call.BlockStop:
		return "block_stop"
	case call.Search:
		return "search"
	case call.Usage:
		return "usage"
	}
	return ""
}

// errorLine returns the line of an error: the API's own message and code, where it sent any.
// problem is used where there is no such message, or where it repeats a part of the key, and hint
// where nothing was sent for want of a key.
func (a *app) errorLine(err error, problem, hint string) json.RawMessage {
	kind := call.KindOf(err)
	code := strings.ReplaceAll(kind.String(), " ", "_")
	e, ok := errors.AsType[*call.Error](err)
	if ok {
		code = cmp.Or(e.Code, e.Type, code)
		switch kind {
		case call.KindMissingKey:
			problem += ": " + hint
		case call.KindAuth, call.KindTimeout, call.KindCanceled, call.KindConnection:
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
