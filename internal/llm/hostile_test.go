package llm

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// Answers that are small to send and would be large or slow to read.
func TestHostileAnswers(t *testing.T) {
	output := func(items string) step { return answer(200, `{"status":"completed","output":[`+items+`]}`) }
	list := func(element string, n int) string { return strings.TrimSuffix(strings.Repeat(element+",", n), ",") }
	message := func(annotations string) string {
		return `{"type":"message","content":[{"type":"output_text","text":"x","annotations":[` + annotations + `]}]}`
	}
	var parts []string
	for i := range maxElements + 2 {
		parts = append(parts, fmt.Sprintf(`{"type":"response.content_part.added","output_index":0,"content_index":%d,"part":{"type":"output_text"}}`, i))
	}
	for _, tt := range []struct {
		name    string
		step    step
		kind    Kind
		message string // its start
	}{
		{"items", output(list("{}", 1_000_000)), KindFailed, tooMany},
		{"parts", output(`{"type":"message","content":[` + list(`{"type":"output_text","text":"a"}`, 50_000) + `]}`), KindFailed, tooMany},
		{"annotations of many messages", output(list(message(list("0", 100)), 100)), KindFailed, tooMany},
		{"sources", output(`{"type":"web_search_call","action":{"sources":[` + list("{}", 10_001) + `]}}`), KindFailed, tooMany},
		{"queries", output(`{"type":"web_search_call","action":{"queries":[` + list(`""`, 10_001) + `]}}`), KindFailed, tooMany},
		{"streamed parts", sseStep(parts...), KindFailed, tooMany},
		{"streamed items", sseStep(strings.Split(strings.Repeat(`{"type":"response.output_item.done","item":{"type":"x"}}`+"\n", 10_002), "\n")...), KindFailed, tooMany},
		{"annotations of a streamed item", sseStep(`{"type":"response.output_item.done","item":` + message(list("0", 10_001)) + `}`), KindFailed, tooMany},
		{"an event", sseStep(`{"type":"x","x":"` + strings.Repeat("a", 40<<20) + `"}`), KindFailed, "an event of the answer is larger than 32 MiB"},
		{"an event in lines", sseStep(`{"type":"x",` + strings.Repeat("\ndata:"+strings.Repeat(" ", 1<<20), 40) + `}`), KindFailed, "an event of the answer is larger than 32 MiB"},
		{"a long code", sseStep(`{"type":"response.failed","response":{"error":{"code":"` + strings.Repeat("c", 1<<20) + `"}}}`), KindFailed, "the response failed"},
		{"many elements in many events", sseStep(slices.Repeat([]string{`{"type":"response.output_item.done","item":` + message(list("0", 5000)) + `}`}, 3)...), KindFailed, tooMany},
		{"depth of an event", sseStep(`{"error":` + strings.Repeat("[", 7_000_000)), KindConnection, "the answer was cut off: reading an event: invalid character"},
		{"depth of a response", output(strings.Repeat("[", 7_000_000)), KindBadResponse, "the answer is not a response object"},
		{"depth of an error", answer(400, `{"error":`+strings.Repeat("[", 1_000_000)), KindParameter, "Bad Request"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, _, _ := newClient(t, 0, tt.step)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			_, _, err := collect(c.Stream(t.Context(), question()))
			runtime.ReadMemStats(&after)
			if e := asError(t, err); e.Kind != tt.kind || !strings.HasPrefix(e.Message, tt.message) || len(e.Error()) > 2000 {
				t.Errorf("Stream = %v (%v), want %v %q", e, e.Kind, tt.kind, tt.message)
			}
			// All that is allocated, not what is held at a time.
			if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 400 {
				t.Errorf("%d MiB were allocated", n)
			}
		})
	}
	c, _, _ := newClient(t, 0, answer(200, `{"id":`+strings.Repeat("[", 7_000_000)))
	if _, err := c.Model(t.Context(), "gpt-5.2"); asError(t, err).Kind != KindBadResponse {
		t.Errorf("Model = %v, want %v", err, KindBadResponse)
	}
}

// A caller that wants no events pays for none.
func TestUnwatched(t *testing.T) {
	a := newAccumulator(&emitter{}, func([]byte) {})
	for _, ev := range []string{eventItem, eventPart, eventDelta, eventCompleted} {
		if _, err := a.handleEvent([]byte(ev)); err != nil {
			t.Fatal(err)
		}
	}
	if len(a.blocks)+len(a.byIndex) > 0 {
		t.Errorf("%d blocks and %d items without a caller", len(a.blocks), len(a.byIndex))
	}
}
