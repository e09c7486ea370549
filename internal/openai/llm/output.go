package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// addStreamed replaces the output of r, or only its messages, if it lacks what was streamed. If a
// content filter has taken text back, only an empty output is replaced.
func (a *accumulator) addStreamed(r *call.Response) {
	filtered := r.IncompleteDetails.Reason == "content_filter"
	streamed := a.streamedItems(filtered)
	isLacking := !filtered && lacks(r.Output, streamed)
	switch {
	case len(streamed) == 0:
	case isLacking && countCitable(r.Output) > countCitable(streamed): // keep its searches
		isMessage := func(i call.Item) bool { return i.Type == "message" }
		messages := slices.DeleteFunc(streamed, func(i call.Item) bool { return !isMessage(i) })
		r.Output = append(slices.DeleteFunc(r.Output, isMessage), messages...)
	case isLacking, len(r.Output) == 0:
		r.Output = streamed
	}
}

// streamedItems returns the items that were streamed. Incomplete messages are among them only if no
// answer is complete: some servers give deltas other ids than items. If filtered, neither
// incomplete messages nor texts that only came as deltas are among them.
func (a *accumulator) streamedItems(filtered bool) []call.Item {
	var complete, unfinished []call.Item
	answered := filtered // leaves out incomplete messages, too
	for number := itemNumber(1); number <= a.lastItem; number++ {
		item := a.items[number]
		if !filtered {
			item = a.streamedItem(number)
		}
		_, done := a.doneTexts[number]
		switch {
		case done && item.Type != "":
			complete = append(complete, item)
			answered = answered || isAnswer(item)
		case textOf(item) != "":
			unfinished = append(unfinished, item)
		}
	}

	if answered {
		return complete
	}
	return append(complete, unfinished...)
}

// lacks reports whether items have no text although some was streamed, or the same text with fewer
// searches and citations. A text that differs from what was streamed is what the server means.
func lacks(items, streamed []call.Item) bool {
	itemText := strings.TrimSpace(textOf(items...))
	streamedText := strings.TrimSpace(textOf(streamed...))
	same := itemText == streamedText && countCitable(items) < countCitable(streamed)
	return streamedText != "" && (itemText == "" || same)
}

// countCitable counts the searches of items, their sources and the citations in their texts.
func countCitable(items []call.Item) int {
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

// streamedItem returns an item as it was streamed. A message gets the texts and annotations that
// came only in events of their own.
func (a *accumulator) streamedItem(number itemNumber) call.Item {
	item := a.items[number]
	if cmp.Or(item.Type, "message") != "message" {
		return item
	}
	annotations := 0
	for _, b := range a.textBlocks[number] {
		annotations += len(b.annotations)
	}
	whole := strings.TrimSpace(textOf(item)) != "" && countCitable([]call.Item{item}) >= annotations
	if whole {
		return item
	}

	content := []map[string]any{}
	for _, b := range a.textBlocks[number] {
		item.ID = cmp.Or(item.ID, b.ID)
		content = append(content, map[string]any{
			"type":        "output_text",
			"text":        cmp.Or(b.whole, b.sent.String()),
			"annotations": append([]json.RawMessage{}, b.annotations...), // not null
		})
	}

	// Decoding sets Raw, which the input of another request needs.
	data, _ := jsonx.Marshal(nonZero(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "assistant",
		"status":  "completed",
		"id":      item.ID,
		"phase":   item.Phase,
		"content": content,
	}))
	message := call.Item{}
	_ = call.DecodeLenient(data, &message) // a message that is too large stays without text
	if lacks([]call.Item{item}, []call.Item{message}) {
		return message
	}
	return item
}

// emitUnstreamed sends the parts of the final output that were not streamed. It finds the number of
// an item by its id. An item with an unknown id is taken for the next streamed item of its type
// that no id of the output names: some servers give items other ids in the final output, and the
// output may lack items that were streamed.
func (a *accumulator) emitUnstreamed(output []call.Item) {
	named := map[itemNumber]bool{}
	for _, item := range output {
		named[a.byID[item.ID]] = true
	}

	next := unknownItem
	for _, item := range output {
		number := a.byID[item.ID]
		for number == unknownItem {
			next++
			// An item of which only deltas came has no type, and fits any.
			sameType := cmp.Or(a.items[next].Type, item.Type) == item.Type
			free := !named[next] && sameType
			isNew := next > a.lastItem // this item was not streamed
			if isNew || free {
				number = next
			}
		}
		a.emitItem(number, item, 0, true)
	}
}
