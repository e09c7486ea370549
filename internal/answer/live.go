package answer

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Live follows the text of a run while it is streamed, for a reader at a
// terminal. It holds back what the answer may not contain: citation markers,
// parameters at the end of a link, and white space at the end. The zero value
// is ready. It is not safe for concurrent use.
type Live struct {
	ids    []string    // of the messages
	raw    []string    // their text
	blocks map[int]int // index of a text block -> of its message
	shown  string      // what See has returned
}

// See returns the text that ev adds, if any.
func (l *Live) See(ev llm.Event) string {
	switch e := ev.(type) {
	case llm.BlockStart:
		if e.Kind != llm.BlockText {
			return ""
		}
		if n := len(l.ids); n == 0 || e.ID == "" || e.ID != l.ids[n-1] {
			l.ids, l.raw = append(l.ids, e.ID), append(l.raw, "")
		}
		if l.blocks == nil {
			l.blocks = map[int]int{}
		}
		l.blocks[e.Index] = len(l.ids) - 1
	case llm.BlockDelta:
		at, ok := l.blocks[e.Index]
		if !ok {
			return ""
		}
		l.raw[at] += e.Text
	case llm.Retrying:
		*l = Live{}
	}
	body := l.body(0)
	more, ok := strings.CutPrefix(body, l.shown)
	if !ok {
		return "" // text for an earlier message, which Rest deals with
	}
	l.shown = body
	return more
}

// body joins the messages from the given one on. The last one may be under way.
func (l *Live) body(from int) string {
	var texts []string
	for i := from; i < len(l.raw); i++ {
		s := l.raw[i]
		if i == len(l.raw)-1 {
			s = settled(s)
		}
		if s = strings.TrimSpace(clean(s)); s != "" {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Rest returns what is missing of the text of the answer. Messages that are not
// part of the answer may have been shown before it. If what was shown is not
// the start of the answer, ok is false and the whole text must be shown again.
func (l *Live) Rest(answer string) (rest string, ok bool) {
	if l.shown == "" {
		return answer, true
	}
	for i := range l.raw {
		part := l.body(i)
		if rest, ok := strings.CutPrefix(answer, part); ok && part != "" && strings.HasSuffix(l.shown, part) {
			return rest, true
		}
	}
	return answer, false
}

// unsettled matches the parameters of a link at the end of a text under way.
var unsettled = regexp.MustCompile(`[?&][\w=&%.-]*$`)

// settled returns the part of a text under way that further text cannot change.
func settled(raw string) string {
	if i := strings.LastIndex(raw, "\uE200"); i >= 0 && !strings.ContainsAny(raw[i:], "\uE201\n") {
		raw = raw[:i]
	}
	return strings.TrimRightFunc(unsettled.ReplaceAllString(raw, ""), unicode.IsSpace)
}
