package llm

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
)

// An item, from its beginning to its end, in an event of a stream each.
func added(index int, item string) string {
	return itemEvent("added", index, item)
}

func done(index int, item string) string {
	return itemEvent("done", index, item)
}

func itemEvent(name string, index int, item string) string {
	const form = `{"type":"response.output_item.%s","output_index":%d,"item":%s}`
	return fmt.Sprintf(form, name, index, item)
}

func delta(index int, text string) string {
	const form = `{"type":"response.output_text.delta","output_index":%d,"delta":%q}`
	return fmt.Sprintf(form, index, text)
}

// message is an item with a text, "" for none.
func message(phase, text string) string {
	content := ""
	if text != "" {
		content = fmt.Sprintf(`{"type":"output_text","text":%q}`, text)
	}
	const form = `{"type":"message","role":"assistant","phase":%q,"content":[%s]}`
	return fmt.Sprintf(form, phase, content)
}

// ending is the event that ends a stream, with the members of its response.
func ending(name, members string) string {
	return fmt.Sprintf(`{"type":"response.%s","response":{"id":"resp_1",%s}}`, name, members)
}

const (
	begun = `{"type":"response.created","sequence_number":0,
		"response":{"id":"resp_1","model":"gpt-5.2","status":"in_progress","background":true}}`
	searchItem    = `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search"}}`
	reasoningItem = `{"type":"reasoning","id":"rs_1","summary":[]}`
	usage         = `"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}`

	emptyFailure = `{"type":"response.failed","response":{"id":"resp_1","status":"failed","error":null}}`
	emptyError   = `{"type":"error","code":null,"message":null,"param":null}`
	cutMessage   = `{"type":"message","status":"incomplete",
		"content":[{"type":"output_text","text":"Yes."}]}`
)

// whole are the events of an answer without one that ends the stream.
func whole() []string {
	yes := message("final_answer", "Yes.")
	return []string{
		begun,
		added(0, reasoningItem), done(0, reasoningItem),
		added(1, searchItem), done(1, searchItem),
		added(2, message("commentary", "")), delta(2, "Hm."), done(2, message("commentary", "Hm.")),
		added(3, message("final_answer", "")), delta(3, "Yes."), done(3, yes),
	}
}

// endRow is how a stream ends, and what that means. want is the status and the text of a response,
// or the kind and the message of an error.
type endRow struct {
	name   string
	events []string
	want   string
}

// statusRows have an event that ends the stream. A plain answer of its response means the same.
func statusRows() []endRow {
	half := `"output":[` + message("", "Hal") + `]`
	cut := `"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},`
	failed := `"status":"failed","error":{"code":%q,"message":"No."},"output":[]`
	return []endRow{
		{"completed", []string{ending("completed", `"status":"completed",`+half)}, "completed: Hal"},
		{"no status", []string{ending("completed", half)}, "completed: Hal"},
		{"completed, but incomplete", []string{ending("completed", cut+half)}, "incomplete: Hal"},
		{
			"completed, but failed for good",
			[]string{ending("completed", fmt.Sprintf(failed, "invalid_prompt"))},
			"filtered: No.",
		},
		{
			"completed, but failed for now",
			[]string{ending("completed", fmt.Sprintf(failed, "server_error"))},
			"server: No.",
		},
		{
			"completed, but cancelled",
			[]string{ending("completed", `"status":"cancelled",`+half)},
			"canceled: the response was cancelled",
		},
		{
			"cancelled",
			[]string{ending("cancelled", `"status":"cancelled",`+half)},
			"canceled: the response was cancelled",
		},
		{"done", []string{ending("done", `"status":"completed",`+half)}, "completed: Hal"},
		{"done, but incomplete", []string{ending("done", cut+half)}, "incomplete: Hal"},
		{
			"done, but failed",
			[]string{ending("done", fmt.Sprintf(failed, "server_error"))},
			"server: No.",
		},
	}
}

// lessRows have a response with less than was streamed.
func lessRows() []endRow {
	open := []string{begun, added(0, message("", "")), delta(0, "Ye"), delta(0, "s.")}
	part := `{"type":"response.content_part.done","output_index":0,"part":{"type":"output_text"}}`
	emptied := append(open[:len(open):len(open)], part, done(0, message("", "")))
	after := func(events []string, last ...string) []string {
		return append(events[:len(events):len(events)], last...)
	}
	text := `{"type":"response.output_text.done","output_index":0,"text":"Yes."}`

	return []endRow{
		{"done with its usage only", after(whole(), ending("done", usage)), "completed: Hm.Yes."},
		{"done without a response", after(whole(), `{"type":"response.done"}`), "completed: Hm.Yes."},
		{"an empty output", after(whole(), ending("completed", `"output":[]`)), "completed: Hm.Yes."},
		{"deltas only", after(open, ending("completed", `"output":[]`)), "completed: Yes."},
		{"deltas without items", []string{
			delta(0, "Yes."),
			ending("completed", `"output":[]`),
		}, "completed: Yes."},
		{"the end of a text only", []string{text, ending("completed", `"output":[]`)}, "completed: Yes."},
		{"no text at the end", after(emptied, ending("completed", `"output":[]`)), "completed: Yes."},
		{
			"an empty message",
			after(open, ending("completed", `"output":[`+message("", "")+`]`)),
			"completed: Yes.",
		},
		{
			"a search only",
			after(open, ending("completed", `"output":[`+searchItem+`]`)),
			"completed: Yes.",
		},
		{
			"half of the text",
			after(open, ending("incomplete", `"output":[`+message("", "Ye")+`]`)),
			"incomplete: Yes.",
		},
		{
			"another text",
			after(open, ending("completed", `"output":[`+message("", "No")+`]`)),
			"completed: No",
		},
		{
			"a text that a filter takes back",
			after(open, ending("incomplete", `"incomplete_details":{"reason":"content_filter"},
				"output":[`+message("", "")+`]`)),
			"incomplete: ",
		},
		{
			"two items with the same id", []string{
				done(0, strings.Replace(message("", "One."), "{", `{"id":"a",`, 1)),
				done(1, strings.Replace(message("", "Two."), "{", `{"id":"a",`, 1)),
				ending("completed", `"output":[]`),
			}, "completed: One.Two.",
		},
	}
}

// failureRows have failures without details, and what comes after them.
func failureRows() []endRow {
	telling := `{"type":"error","error":{"code":"rate_limit_exceeded","message":"Slow."}}`
	filtered := `{"type":"error","error":{"code":"content_policy_violation","message":"No."}}`
	words := `{"type":"error","error":"overloaded"}`
	return []endRow{
		{"a failure", []string{emptyFailure}, "failed: the response failed"},
		{"an error", []string{emptyError}, "failed: the stream ended with an error"},
		{"an error in words", []string{words}, "failed: overloaded"},
		{"an empty failure, then its kind", []string{emptyFailure, telling}, "rate_limit: Slow."},
		{"an empty error, then its kind", []string{emptyError, telling}, "rate_limit: Slow."},
		{"words, then the kind", []string{words, telling}, "rate_limit: Slow."},
		{"then a final one", []string{emptyFailure, filtered}, "filtered: No."},
		{
			"with something between them",
			[]string{emptyError, `{"type":"keepalive"}`, emptyFailure, telling},
			"rate_limit: Slow.",
		},
		{"then words", []string{emptyFailure, words}, "failed: overloaded"},
		{"words first", []string{words, emptyFailure}, "failed: overloaded"},
		{"then an answer", []string{emptyError, ending("completed", `"output":[`+
			message("", "Yes.")+`]`)}, "completed: Yes."},
	}
}

// meaning describes what a call returned, as endRow.want does.
func meaning(t *testing.T, r *Response, err error) string {
	t.Helper()
	if err != nil {
		e := asError(t, err)
		return e.Kind.Label() + ": " + e.Message
	}
	return r.Status + ": " + textOf(r.Output...)
}

// requestsOf returns how many requests a row costs with one retry.
func requestsOf(want string) int {
	kind, _, _ := strings.Cut(want, ": ")
	switch kind {
	case "server", "rate_limit", "connection":
		return 2
	}
	return 1
}

// Each end means the same whether events are watched or not, in the foreground and in the background.
func TestEnds(t *testing.T) {
	rows := append(statusRows(), lessRows()...)
	for _, tt := range append(rows, failureRows()...) {
		for _, isWatched := range []bool{false, true} {
			bubble(t, fmt.Sprintf("%s, watched: %t", tt.name, isWatched), func(t *testing.T) {
				c, api := newClient(1, sseStep(tt.events...))
				call := &Call{}
				if isWatched {
					call.Sink = func(Event) {}
				}
				r, err := c.Create(t.Context(), call, question())
				wantEqual(t, "outcome", meaning(t, r, err), tt.want)
				api.wantRequests(t, requestsOf(tt.want))
			})
		}

		bubble(t, tt.name+", in the background", func(t *testing.T) {
			events := append([]string{begun}, tt.events...)
			c, api := newClient(0, sseStep(events...), answer(200, `{"status":"failed","output":[],
				"error":{"code":"server_error","message":"from a GET"}}`))
			r, err := c.Create(t.Context(), &Call{}, backgroundQuestion())
			want := tt.want
			if len(api.bodies) > 1 { // an error is no end
				want = "server: from a GET"
			}
			wantEqual(t, "outcome", meaning(t, r, err), want)
		})
	}
}

// A plain answer means what the same response means at the end of a stream.
func TestPlainEnds(t *testing.T) {
	for _, tt := range statusRows() {
		bubble(t, tt.name, func(t *testing.T) {
			object := gjson.Get(tt.events[0], "response").Raw
			c, api := newClient(1, answer(200, object))
			r := question()
			r.Plain = true
			resp, err := c.Create(t.Context(), &Call{}, r)
			wantEqual(t, "outcome", meaning(t, resp, err), tt.want)
			api.wantRequests(t, requestsOf(tt.want))
		})
	}
}

// A stream without an event that ends it is the answer if its last item is one and all are complete.
// Otherwise, and where the connection breaks, it is asked again.
func TestCleanEnds(t *testing.T) {
	all := whole()
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
				again := sseStep(slices.Concat(all, []string{ending("done", usage)})...)
				c, api := newClient(1, stream(all[:n]...), again)
				call := &Call{}
				r, err := c.Create(t.Context(), call, question())
				wantEqual(t, "outcome", meaning(t, r, err), "completed: Hm.Yes.")
				if err == nil {
					wantEqual(t, "model", r.Model, "gpt-5.2")
				}
				wantEqual(t, "tokens", call.Usage.Total, int64(3*(requests-1)))
				api.wantRequests(t, requests)
			})
		}
	}

	noAnswer := []struct{ name, last string }{
		{"a commentary", message("commentary", "Hm.")},
		{"a search", searchItem},
		{"reasoning", reasoningItem},
		{"no text", message("", "")},
	}
	for _, tt := range noAnswer {
		bubble(t, tt.name+" is no answer", func(t *testing.T) {
			c, api := newClient(1, sseStep(begun, done(0, tt.last)), sseStep(all...))
			_, err := c.Create(t.Context(), &Call{}, question())
			wantSuccess(t, err)
			api.wantRequests(t, 2)
		})
	}

	bubble(t, "an item that is cut", func(t *testing.T) {
		c, _ := newClient(0, sseStep(begun, done(0, cutMessage)))
		r, err := c.Create(t.Context(), &Call{}, question())
		wantEqual(t, "outcome", meaning(t, r, err), "incomplete: Yes.")
	})

	bubble(t, "items that end in another order", func(t *testing.T) {
		c, _ := newClient(0, sseStep(
			added(0, reasoningItem), added(1, message("", "")),
			done(1, message("", "Yes.")), done(0, reasoningItem)))
		r, err := c.Create(t.Context(), &Call{}, question())
		wantEqual(t, "outcome", meaning(t, r, err), "completed: Yes.")
		wantEqual(t, "first item", r.Output[0].Type, "reasoning")
	})

	// Its usage is worth a GET.
	gone := answer(404, `{"error":{"message":"No such response."}}`)
	for name, get := range map[string]step{"found": answer(200, finished), "lost": gone} {
		bubble(t, "in the background, "+name, func(t *testing.T) {
			c, api := newClient(0, sseStep(all...), get)
			r, err := c.Create(t.Context(), &Call{}, backgroundQuestion())
			text := meaning(t, r, err)
			wantEqual(t, "whether "+text+" is the answer", strings.HasSuffix(text, "Yes."), true)
			for _, body := range api.bodies[1:] {
				wantEqual(t, "body of a GET", len(body), 0)
			}
		})
	}
}

// A server that says nothing more after a failure without details ends the call soon.
func TestSilentFailure(t *testing.T) {
	bubble(t, "silence", func(t *testing.T) {
		c, api := newClient(1, hangs(sseStep(emptyFailure)))
		_, err := c.Create(t.Context(), &Call{}, question())
		wantEqual(t, "outcome", meaning(t, nil, err), "failed: the response failed")
		api.wantRequests(t, 1)
	})
}

// The citations of a text that only deltas have are in events, too. It can be sent back.
func TestStreamedMessage(t *testing.T) {
	c, _ := newClient(0, sseStep(
		added(0, `{"type":"message","id":"msg_1","phase":"final_answer","content":[]}`),
		delta(0, "Yes & no."),
		`{"type":"response.output_text.annotation.added","output_index":0,
			"annotation":{"type":"url_citation","url":"https://a.example","title":"A"}}`,
		ending("completed", `"output":[]`)))
	r, err := c.Create(t.Context(), &Call{}, question())
	wantSuccess(t, err)

	wantEqual(t, "annotations", r.Output[0].Content[0].Annotations, []Source{
		{Type: "url_citation", URL: "https://a.example", Title: "A"},
	})
	wantEqual(t, "item", object(t, string(r.InputItems()[0])), object(t, `{"type":"message",
		"id":"msg_1","role":"assistant","phase":"final_answer","status":"completed","content":[
		{"type":"output_text","text":"Yes & no.","annotations":[
		{"type":"url_citation","url":"https://a.example","title":"A"}]}]}`))
}

// What the API has billed counts, whatever becomes of the call: once for each response.
func TestUsageOfCall(t *testing.T) {
	failed := `"status":"failed","error":{"code":%q,"message":"No."},"output":[],`
	billed := `,"tool_usage":{"web_search":{"num_requests":2}}`
	for _, tt := range []struct {
		name   string
		step   step
		tokens int64
	}{
		{"failed for good", sseStep(ending("failed", fmt.Sprintf(failed, "x")+usage+billed)), 3},
		{"failed twice", sseStep(ending("failed", fmt.Sprintf(failed, "server_error")+usage+billed)), 6},
		{"no output", answer(200, `{"status":"completed",`+usage+billed+`}`), 3},
		{"no text", sseStep(ending("incomplete", `"output":[],`+usage+billed)), 3},
		{"a failure without details", sseStep(ending("failed", `"error":null,`+usage+billed)), 3},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			c, _ := newClient(1, tt.step)
			call := &Call{}
			_, _ = c.Create(t.Context(), call, question())
			wantEqual(t, "tokens", call.Usage.Total, tt.tokens)
			wantEqual(t, "searches", int64(call.Searches), tt.tokens/3*2)
		})
	}
}
