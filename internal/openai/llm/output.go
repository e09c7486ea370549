package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// addStreamed replaces the output of a response that has less than was streamed. A content filter
// takes text back: then only a missing output is replaced.
func (a *accumulator) addStreamed(r *call.Response) {
	filtered := r.IncompleteDetails.Reason == "content_filter"
	streamed := a.streamed(filtered)
	less := !filtered && lacks(r.Output, streamed)
	switch {
	case len(streamed) == 0:
	case less && citable(r.Output) > citable(streamed): // the output has searches
		isMessage := func(i call.Item) bool { return i.Type == "message" }
		messages := slices.DeleteFunc(streamed, func(i call.Item) bool { return !isMessage(i) })
		r.Output = append(slices.DeleteFunc(r.Output, isMessage), messages...)
	case less, len(r.Output) == 0:
		r.Output = streamed
	}
}

// streamed returns the items that were streamed. If no answer is complete, incomplete messages
// count, too: some servers give deltas other ids than items. With filtered, neither incomplete
// messages nor texts that only deltas had count.
func (a *accumulator) streamed(filtered bool) []call.Item {
	var complete, open []call.Item
	answered := filtered // then incomplete messages do not count, as after an answer
	for number := itemNumber(1); number <= a.last; number++ {
		item := a.items[number]
		if !filtered {
			item = a.item(number)
		}
		_, done := a.done[number]
		switch {
		case done && item.Type != "":
			complete = append(complete, item)
			answered = answered || isAnswer(item)
		case textOf(item) != "":
			open = append(open, item)
		}
	}

	if answered {
		return complete
	}
	return append(complete, open...)
}

// lacks reports whether items have no text although some was streamed, or the same text with fewer
// searches and citations. Any other text is what the server means.
func lacks(items, streamed []call.Item) bool {
	said := strings.TrimSpace(textOf(items...))
	text := strings.TrimSpace(textOf(streamed...))
	same := said == text && citable(items) < citable(streamed)
	return text != "" && (said == "" || same)
}

// citable counts the searches of items, their sources and the citations of their texts.
func citable(items []call.Item) int {
	n := 0
	for _, item := range items {
		if item.IsSearch() {
			n += 1 + len(item.Action.Sources)
		}
		for _, part := range item.Content {
			n += len(part.Annotations)
		}
	}
	return n
}

// item returns an item that was streamed. A message has what only other events had of it.
func (a *accumulator) item(number itemNumber) call.Item {
	item := a.items[number]
	if cmp.Or(item.Type, "message") != "message" {
		return item
	}
	cited := 0
	for _, b := range a.texts[number] {
		cited += len(b.annotations)
	}
	whole := strings.TrimSpace(textOf(item)) != "" && citable([]call.Item{item}) >= cited
	if whole {
		return item
	}

	content := []map[string]any{}
	for _, b := range a.texts[number] {
		item.ID = cmp.Or(item.ID, b.ID)
		content = append(content, map[string]any{
			"type":        "output_text",
			"text":        cmp.Or(b.whole, b.sent.String()),
			"annotations": append([]json.RawMessage{}, b.annotations...), // not null
		})
	}

	// Decoded from JSON, it has the Raw that another request sends back.
	data, _ := jsonx.Marshal(nonZero(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "assistant",
		"status":  "completed",
		"id":      item.ID,
		"phase":   item.Phase,
		"content": content,
	}))
	message := call.Item{}
	_ = call.Decode(data, &message) // a message that is too large has no text
	if lacks([]call.Item{item}, []call.Item{message}) {
		return message
	}
	return item
}

// completeOutput completes the items of the final output that were not streamed to their end. An
// item is known by its id. An item without a known id is the next streamed item of its type that no
// id names: the output may lack items that were streamed, and some servers give items other ids
// there.
func (a *accumulator) completeOutput(output []call.Item) {
	named := map[itemNumber]bool{}
	for _, item := range output {
		named[a.byID[item.ID]] = true
	}

	next := unknownItem
	for _, item := range output {
		number := a.byID[item.ID]
		for number == unknownItem {
			next++
			sameType := cmp.Or(a.items[next].Type, item.Type) == item.Type
			free := !named[next] && sameType
			if next > a.last || free {
				number = next
			}
		}
		a.emitItem(number, item, 0, true)
	}
}
