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
	raw   []string // text blocks, the last one under way
	shown string   // what See has returned
}

// See returns the text that ev adds, if any.
func (l *Live) See(ev llm.Event) string {
	switch e := ev.(type) {
	case llm.BlockStart:
		if e.Kind == llm.BlockText {
			l.raw = append(l.raw, "")
		}
	case llm.BlockDelta:
		if len(l.raw) > 0 {
			l.raw[len(l.raw)-1] += e.Text
		}
	case llm.Retrying:
		*l = Live{}
	}
	body := l.body(0)
	more, ok := strings.CutPrefix(body, l.shown)
	if !ok {
		return ""
	}
	l.shown = body
	return more
}

// unsettled matches the parameters of a link at the end, of which one may turn
// out to be utm_source.
var unsettled = regexp.MustCompile(`[?&][\w=&%.-]*$`)

// body joins the blocks from the given one on, as far as text to come cannot
// change them.
func (l *Live) body(from int) string {
	var texts []string
	for i, s := range l.raw {
		if s = clean(s); i == len(l.raw)-1 {
			s = unsettled.ReplaceAllString(s, "")
		}
		if s = strings.TrimFunc(s, unicode.IsSpace); s != "" && i >= from {
			texts = append(texts, s)
		}
	}
	return strings.Join(texts, "\n\n")
}

// Rest returns what is missing of the text of the answer. Messages that are not
// part of the answer may have been shown before it. If what was shown is not
// the start of the answer, ok is false and the whole text must be shown again.
func (l *Live) Rest(answer string) (rest string, ok bool) {
	for i := range l.raw {
		part := l.body(i)
		if rest, ok := strings.CutPrefix(answer, part); ok && part != "" && strings.HasSuffix(l.shown, part) {
			return rest, true
		}
	}
	return answer, l.shown == ""
}
