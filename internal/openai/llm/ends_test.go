package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// eventsOf returns the events of a text, a line each, with the parts of events.table.
func eventsOf(t *testing.T, text string) []string {
	parts := table(t, "events")
	var expand func(string) string
	expand = func(text string) string {
		return os.Expand(text, func(name string) string { return expand(parts[name][0]) })
	}
	return strings.Split(expand(text), "\n")
}

// meaning is the status and the text of a response, or the kind and the message of an error.
func meaning(t *testing.T, r *call.Response, err error) string {
	t.Helper()
	if err != nil {
		e := asError(t, err)
		return e.Kind.Label() + ": " + e.Message
	}
	return r.Status + ": " + textOf(r.Output...)
}

// outcomeOf makes a call, and returns its meaning.
func outcomeOf(t *testing.T, cl *Client, request call.Request) string {
	t.Helper()
	response, err := create(t, cl, request)
	return meaning(t, response, err)
}

// Each end means the same whether events are watched or not, in a plain answer and in the
// background. What the API has billed counts, also if the call fails.
func TestEnds(t *testing.T) {
	for name, row := range table(t, "ends") {
		cost, want, events := row[0], row[1], eventsOf(t, row[2])
		ends := map[string]step{
			"watched":     sseStep(events...),
			"not watched": sseStep(events...),
		}
		object := gjson.Get(events[0], "response").Raw
		if len(events) == 1 && object != "" {
			ends["plain"] = answer(200, object)
		}
		if strings.HasPrefix(want, "filtered") {
			ends["not watched, stays open"] = hangs(sseStep(events...))
		}

		for way, end := range ends {
			bubble(t, name+", "+way, func(t *testing.T) {
				cl, api := newClient(1, end)
				c := &call.Call{}
				if way == "watched" {
					c.Sink = func(call.Event) {}
				}
				request := question()
				request.NoStream = way == "plain"
				response, err := cl.Create(t.Context(), c, request)
				wantEqual(t, "outcome", meaning(t, response, err), want)
				got := fmt.Sprint(len(api.sent), c.Usage.Total, c.Searches)
				wantEqual(t, "requests, tokens and searches", got, cost)
			})
		}

		bubble(t, name+", in the background", func(t *testing.T) {
			events := eventsOf(t, "$begun\n"+row[2])
			cl, api := newClient(0, sseStep(events...), answer(200, `{"status":"failed","output":[],
				"error":{"code":"server_error","message":"from a GET"}}`))
			got := outcomeOf(t, cl, backgroundQuestion())
			want := want
			if len(api.sent) > 1 { // an error is no end
				want = "server: from a GET"
			}
			wantEqual(t, "outcome", got, want)
		})
	}
}

// A stream without an event that ends it is asked again if it is not whole, or the connection
// breaks.
func TestCleanEnds(t *testing.T) {
	all := eventsOf(t, "$whole")
	forms := map[string]func(...string) step{
		"ends": sseStep,
		"[DONE]": func(events ...string) step {
			return hangs(sseStep(slices.Concat(events, []string{"[DONE]"})...))
		},
		"breaks": cutStream,
	}
	for form, stream := range forms {
		for n := range len(all) + 1 {
			bubble(t, fmt.Sprint(form, " after ", n), func(t *testing.T) {
				requests := 2
				if n == len(all) && form != "breaks" {
					requests = 1
				}
				cl, api := newClient(1, stream(all[:n]...), sseStep(eventsOf(t, "$billed")...))
				c := &call.Call{}
				r, err := cl.Create(t.Context(), c, question())
				wantEqual(t, "outcome", meaning(t, r, err), "completed: Hm.Yes.")
				if err == nil {
					wantEqual(t, "model", r.Model, "gpt-5.2")
				}
				wantEqual(t, "tokens", c.Usage.Total, int64(3*(requests-1)))
				api.wantRequests(t, requests)
			})
		}
	}

	// The usage of a whole one in the background is worth a GET.
	for want, get := range map[string]step{
		"completed: Yes.":    succeed,
		"completed: Hm.Yes.": answer(404, `{"error":{"message":"No such response."}}`),
	} {
		bubble(t, "in the background, "+want, func(t *testing.T) {
			cl, api := newClient(0, sseStep(all...), get)
			wantEqual(t, "outcome", outcomeOf(t, cl, backgroundQuestion()), want)
			for _, params := range api.sent[1:] {
				wantEqual(t, "parameters of a GET", len(params), 0)
			}
		})
	}
}

// comments is a body of comments, one a second.
type comments struct{ ctx context.Context }

func (c comments) Read(p []byte) (int, error) {
	err := sleep(c.ctx, time.Second)
	return copy(p, ":\n\n"), err
}

// pause is a time in which nothing comes of a body, longer than detailTimeout.
type pause struct{ ctx context.Context }

func (p pause) Read([]byte) (int, error) {
	return 0, cmp.Or(sleep(p.ctx, 2*detailTimeout), io.EOF)
}

// The time that a stream has after "[DONE]", or after a failure without details, is that of its
// connection: the next one, which asks how the response in the background is, has its own.
func TestEndOfConnection(t *testing.T) {
	slow := func(req *http.Request) (*http.Response, error) {
		resp, err := succeed(req)
		resp.Body = io.NopCloser(io.MultiReader(pause{req.Context()}, resp.Body))
		return resp, err
	}
	for _, last := range []string{"[DONE]", "$error", "$words"} {
		bubble(t, last, func(t *testing.T) {
			cl, api := newClient(0, sseStep(eventsOf(t, "$begun\n"+last)...), slow)
			r, err := cl.Create(within(t, time.Minute), &call.Call{}, backgroundQuestion())
			wantEqual(t, "outcome", meaning(t, r, err), "completed: Yes.")
			api.wantRequests(t, 2)
		})
	}
}

// A server that says nothing more after a failure without details ends the call soon.
func TestSilentFailure(t *testing.T) {
	bubble(t, "comments", func(t *testing.T) {
		began := time.Now()
		cl, api := newClient(1, func(req *http.Request) (*http.Response, error) {
			resp, err := sseStep(eventsOf(t, "$failure")...)(req)
			resp.Body = io.NopCloser(io.MultiReader(resp.Body, comments{req.Context()}))
			return resp, err
		})
		wantEqual(t, "outcome", outcomeOf(t, cl, question()), "failed: the response failed")
		wantEqual(t, "time", time.Since(began), detailTimeout)
		api.wantRequests(t, 1)
	})
}

// A text that only deltas have, with its citations, makes a message that can be sent back. It stays
// also if the final response has the text without the citations, and a search with many sources
// (https://github.com/Wei-Shaw/sub2api/issues/5140).
func TestStreamedMessage(t *testing.T) {
	const search = `{"type":"web_search_call","action":{"sources":[{"url":"b"},{"url":"c"}]}}`
	for before, output := range map[string]string{
		"":     "",
		search: search + `,{"type":"message","content":[{"type":"output_text","text":"Yes & no."}]}`,
	} {
		bubble(t, "output "+before, func(t *testing.T) {
			events := eventsOf(t, "$streamed")
			last := &events[len(events)-1]
			*last = strings.Replace(*last, `"output":[`, `"output":[`+output, 1)
			cl, _ := newClient(0, sseStep(events...))
			r, err := create(t, cl, question())
			wantSuccess(t, err)
			want := strings.TrimPrefix(before+`,{"type":"message",
				"id":"msg_1","role":"assistant","phase":"final_answer","status":"completed","content":[
				{"type":"output_text","text":"Yes & no.","annotations":[
				{"type":"url_citation","url":"https://a.example","title":"A"}]}]}`, ",")
			got, _ := json.Marshal(map[string]any{"items": r.InputItems()})
			wantEqual(t, "items", object(t, string(got)), object(t, `{"items":[`+want+`]}`))
		})
	}
}

// If the program gives up a silent connection, the message says so.
func TestGivenUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, _ := newClient(0, hangs(sseStep(append(eventsOf(t, "$open"), "[DONE]")...)))
		got := outcomeOf(t, cl, question())
		wantEqual(t, "outcome", got, "connection: the answer was cut off: the server sent nothing for too long")
	})
}
