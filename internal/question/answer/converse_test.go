package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// uncited rests on a search and has nothing to cite. cites has.
const (
	uncited = `{"status":"completed","output":[
		{"type":"web_search_call","action":{"type":"search","query":"x"}},
		{"type":"message","content":[{"type":"output_text","text":"Uncited."}]}]}`

	cites = `{"status":"completed","output":[
		{"type":"message","content":[{"type":"output_text","text":"Cited.","annotations":[
			{"type":"url_citation","url":"https://a.example/","title":"A"}]}]}]}`
)

func TestRequery(t *testing.T) {
	responses := map[string]string{
		"uncited":  uncited,
		"cites":    cites,
		"links":    completed(search(), message("", "https://a.example/")),
		"plain":    completed(message("", "A.")),
		"cut":      incomplete("max_output_tokens", message("", "Ci", "https://a.example/")),
		"textless": incomplete("max_output_tokens", `{"type":"reasoning","id":"rs_1"}`),
		"503":      "503 ",

		"cancelled": `{"status":"cancelled","output":[]}`,
		"400":       `400 {"error":{"message":"no","type":"invalid_request_error","code":"x"}}`,
	}
	for _, tt := range compare.Rows[struct {
		Name      string
		Attempts  int
		Responses string
		Requests  int
		Want      string
	}](t, "requery") {
		compare.Bubble(t, tt.Name, func(t *testing.T) {
			var bodies []string
			for name := range strings.FieldsSeq(tt.Responses) {
				bodies = append(bodies, responses[name])
			}
			a, api := newAnswerer(tt.Attempts, bodies...)

			announced := 1 // the first request follows from the question
			c := &call.Call{Tool: "answer", Sink: func(ev call.Event) {
				switch ev.(type) {
				case call.Requesting, call.Retrying:
					announced++
				}
			}}
			ans, err := a.Ask(t.Context(), c, Question{Query: "?"})
			compare.Equal(t, "announced requests", announced, api.requests)
			got := fmt.Sprint(err)
			if err == nil {
				got = ans.Text
			}
			compare.Equal(t, "retries", c.Retries, strings.Count(tt.Responses, "503"))
			compare.Equal(t, "text or error", got, tt.Want)
			compare.Equal(t, "requests", api.requests, tt.Requests)
		})
	}
}

// A client that leaves while the question is asked again gets no answer, which is not remembered. A
// call whose requery goes on at the API has none in this process, but one that ended before it has.
func TestCancelledRequery(t *testing.T) {
	for name, cause := range map[string]error{
		"cancelled":            context.Canceled,
		"goes on at the API":   call.ErrLeaveAtAPI,
		"stdout has no reader": errors.New("stdout has no reader"),
	} {
		compare.Bubble(t, name, func(t *testing.T) {
			a, _ := newAnswerer(1, uncited, "503 ")
			ctx, cancel := context.WithCancelCause(t.Context())
			time.AfterFunc(100*time.Millisecond, func() { cancel(cause) })
			_, err := a.Ask(ctx, &call.Call{Tool: "answer"}, Question{Query: "?"})
			compare.Equal(t, "kind", call.KindOf(err).Label(), "canceled")
		})
	}

	compare.Bubble(t, "ended before the requery", func(t *testing.T) {
		a, _ := newAnswerer(1, uncited)
		ctx, cancel := context.WithCancelCause(t.Context())
		leave := func(call.Event) { cancel(call.ErrLeaveAtAPI) }
		_, err := a.Ask(ctx, &call.Call{Tool: "answer", Sink: leave}, Question{Query: "?"})
		compare.Equal(t, "error", fmt.Sprint(err), "<nil>")
	})
}
