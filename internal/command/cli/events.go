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

// eventLine returns a line of `ask --events`: an object with its type and the members of v, which
// is an object with at least one member.
func eventLine(typ string, v any) json.RawMessage {
	members, _ := jsonx.Marshal(v) // no error: v consists of strings and numbers
	return fmt.Appendf(nil, `{"type":%q,%s`, typ, members[1:])
}

// errorLine returns the line of an error: with the API's own message and code if it sent them, else
// with problem and the kind of the error.
func (a *app) errorLine(err error, problem, hint string) json.RawMessage {
	kind := call.KindOf(err)
	code := strings.ReplaceAll(kind.String(), " ", "_")
	e, ok := errors.AsType[*call.APIError](err)
	if ok {
		code = cmp.Or(e.Code, e.Type, code)
		switch {
		case kind == call.KindMissingKey: // nothing was sent
			problem += ": " + hint
		case !kind.HidesMessage():
			problem = cmp.Or(e.Message, problem)
		}
	}

	return eventLine("error", struct {
		Message string `json:"message"`
		Code    string `json:"code"`
	}{
		a.redactor.Line(problem),
		a.redactor.Line(code),
	})
}
