package llm

import (
	"encoding/json"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// mend is the final output with what was streamed and is missing there, and
// false when nothing is: a server that forgets what it has said would otherwise
// take back an answer that a person has read.
func (f *fold) mend(list []json.RawMessage, tracks []*track) ([]json.RawMessage, bool) {
	changed, searched := false, false
	mended := make([]json.RawMessage, 0, len(list))
	for i, t := range tracks {
		data, ok := t.mend(list[i])
		changed = changed || ok
		searched = searched || t.typ == "web_search_call"
		mended = append(mended, data)
	}
	if searched {
		return mended, changed
	}
	var lost []json.RawMessage
	for _, t := range f.tracks.list {
		if !t.claimed && t.typ == "web_search_call" && t.done != nil {
			lost = append(lost, t.done)
		}
	}
	return append(lost, mended...), changed || len(lost) > 0
}

// mend puts the text and the citations that were streamed into a message that
// came without them. It returns false when the item stays as it is.
func (t *track) mend(item json.RawMessage) (json.RawMessage, bool) {
	pieces := t.texts()
	if t.typ != "message" || len(pieces) == 0 {
		return item, false
	}
	o := objectOf(item)
	list, spoken, cited := o.list("content"), o.str("content") != "", false
	for i, data := range list {
		c := objectOf(data)
		spoken = spoken || partText(c) != ""
		at := slices.IndexFunc(pieces, func(p *part) bool { return p.index == i })
		if at >= 0 && pieces[at].missing(c) {
			notes, _ := unescaped.JSON(pieces[at].annotations) // of valid JSON, as all here
			list[i], _ = unescaped.JSON(c.with("annotations", notes))
			cited = true
		}
	}
	switch {
	case !spoken:
		o = t.fill(o, "content")
	case cited:
		content, _ := unescaped.JSON(list)
		o = o.with("content", content)
	default:
		return item, false
	}
	data, _ := unescaped.JSON(o)
	return data, true
}

// texts are the pieces of a message that have text.
func (t *track) texts() []*part {
	var pieces []*part
	for _, p := range t.parts {
		if p.list == "content" && p.kind == BlockText && len(p.text) > 0 {
			pieces = append(pieces, p)
		}
	}
	return pieces
}

// missing reports that content is this very text without its citations.
func (p *part) missing(content object) bool {
	return len(p.annotations) > 0 && len(content.list("annotations")) == 0 && partText(content) == string(p.text)
}
