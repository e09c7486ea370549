package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// addStreamed completes the output of r with what was streamed:
//
//	the output has                     it becomes
//	no text, if text was streamed      what was streamed
//	the text, with fewer citations     what was streamed
//	the text, with fewer sources       what was streamed; its messages stay if they cite more
//	another text                       stays as it is
//
// An output with more sources than were streamed keeps its searches. If a content filter has taken
// text back, only an empty output is replaced.
func (a *accumulator) addStreamed(r *call.Response) {
	filtered := r.IncompleteDetails.Reason == "content_filter"
	streamed := a.streamedItems(filtered)
	moreSources := countSources(r.Output) - countSources(streamed)
	isLacking := !filtered && lacks(r.Output, streamed)
	switch {
	case len(streamed) == 0:
	case len(r.Output) == 0:
		r.Output = streamed
	case filtered:
	case isLacking && moreSources > 0:
		r.Output = append(others(r.Output), messages(streamed)...)
	case isLacking:
		r.Output = streamed
	case moreSources >= 0 || trimmedText(r.Output...) != trimmedText(streamed...):
	case countCitations(r.Output) > countCitations(streamed):
		r.Output = append(others(streamed), messages(r.Output)...)
	default:
		r.Output = streamed
	}
}

// lacks reports whether items lack the streamed text, or have the same text with fewer citations.
// Items with another text lack nothing: the server has replaced what it streamed.
func lacks(items, streamed []call.Item) bool {
	text, streamedText := trimmedText(items...), trimmedText(streamed...)
	same := text == streamedText && countCitations(items) < countCitations(streamed)
	return streamedText != "" && (text == "" || same)
}

func trimmedText(items ...call.Item) string { return strings.TrimSpace(textOf(items...)) }

func isMessage(item call.Item) bool    { return item.Type == "message" }
func isNotMessage(item call.Item) bool { return !isMessage(item) }

// messages returns the messages of items, and others the other items.
func messages(items []call.Item) []call.Item {
	return slices.DeleteFunc(slices.Clone(items), isNotMessage)
}

func others(items []call.Item) []call.Item {
	return slices.DeleteFunc(slices.Clone(items), isMessage)
}

// streamedItems returns the items that were streamed. If an answer is complete, incomplete messages
// are left out: they may be the same text, as some servers give deltas another id than the item.
// If a content filter has taken text back (filtered), incomplete messages are left out, too, and
// so are texts that came only as deltas.
func (a *accumulator) streamedItems(filtered bool) []call.Item {
	var complete, unfinished []call.Item
	onlyComplete := filtered
	for _, s := range a.items {
		item := s.Item
		if !filtered {
			item = s.asStreamed()
		}
		switch {
		case s.isComplete && item.Type != "":
			complete = append(complete, item)
			onlyComplete = onlyComplete || isAnswer(item)
		case textOf(item) != "":
			unfinished = append(unfinished, item)
		}
	}

	if onlyComplete {
		return complete
	}
	return append(complete, unfinished...)
}

// countCitations counts the citations in the texts of items.
func countCitations(items []call.Item) (n int) {
	for _, item := range items {
		for _, part := range item.Content {
			n += len(part.Annotations)
		}
	}
	return n
}

// countSources counts the searches of items and their sources.
func countSources(items []call.Item) (n int) {
	for _, item := range items {
		if item.IsSearch() {
			n += 1 + len(item.Action.Sources)
		}
	}
	return n
}

// asStreamed returns an item as it was streamed. A message gets the texts and annotations that came
// only in events of their own.
func (s *streamItem) asStreamed() call.Item {
	item := s.Item
	if cmp.Or(item.Type, "message") != "message" {
		return item
	}
	annotations := 0
	for _, b := range s.textBlocks {
		annotations += len(b.annotations)
	}
	whole := trimmedText(item) != "" && countCitations([]call.Item{item}) >= annotations
	if whole {
		return item
	}

	content := []map[string]any{}
	for _, b := range s.textBlocks {
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

// emitUnstreamed sends the parts of the final output that were not streamed. It finds the streamed
// item of each output item by its id. Some servers give items other ids in the final output. So an
// unknown id stands for the next streamed item of the same type that no known id stands for:
//
//	streamed       1 rs_1, 2 msg_1, 3 msg_2
//	final output   rs_1, msg_8, msg_2          msg_8 is taken for item 2
func (a *accumulator) emitUnstreamed(output []call.Item) {
	named := map[*streamItem]bool{}
	for _, item := range output {
		named[a.byID[item.ID]] = true
	}

	rest := a.items // those that an unknown id may still be taken for
	for _, item := range output {
		streamed := a.byID[item.ID]
		for streamed == nil && len(rest) > 0 {
			next := rest[0]
			rest = rest[1:]
			// An item of which only deltas came has no type, and fits any.
			sameType := cmp.Or(next.Type, item.Type) == item.Type
			if sameType && !named[next] {
				streamed = next
			}
		}
		if streamed == nil { // no event was about this item
			streamed = &streamItem{}
		}
		a.emitItem(streamed, item, 0, true)
	}
}
