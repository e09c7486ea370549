package llm

import (
	"encoding/json"
	"slices"
)

// forgot reports that the final output of a completed response has no text,
// although text was streamed: a server that forgets what it has said must not
// take back an answer that a person has read.
func (f *fold) forgot(output []json.RawMessage, status string) bool {
	return status == "completed" && !slices.ContainsFunc(output, speaks) &&
		slices.ContainsFunc(f.tracks.list, func(t *track) bool { return speaks(t.done) || t.spoke() })
}

// speaks reports that an item is a message with text.
func speaks(item json.RawMessage) bool {
	o := objectOf(item)
	return headOf(item).Type == "message" &&
		(o.str("content") != "" || slices.ContainsFunc(o.objects("content"), func(c object) bool { return partText(c) != "" }))
}

// spoke reports that text of the item was streamed.
func (t *track) spoke() bool {
	return slices.ContainsFunc(t.parts, func(p *part) bool {
		return p.kind == BlockText && p.list == "content" && len(p.text) > 0
	})
}
