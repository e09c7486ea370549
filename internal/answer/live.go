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
	messages []liveMessage
	blocks   map[int]int // index of a text block -> of its message
}

type liveMessage struct {
	id    string
	raw   string
	shown string // what See has returned of it
}

// See returns the text that ev adds, if any.
func (l *Live) See(ev llm.Event) string {
	switch e := ev.(type) {
	case llm.BlockStart:
		if e.Kind == llm.BlockText {
			return l.start(e)
		}
	case llm.BlockDelta:
		// Rest deals with text that arrives for an earlier message.
		if at, ok := l.blocks[e.Index]; ok && at == len(l.messages)-1 {
			l.messages[at].raw += e.Text
			return l.show(settled(l.messages[at].raw))
		}
	case llm.Retrying:
		*l = Live{}
	}
	return ""
}

// start begins a message, or a further part of the last one.
func (l *Live) start(e llm.BlockStart) string {
	if l.blocks == nil {
		l.blocks = map[int]int{}
	}
	shown, n := "", len(l.messages)
	if n == 0 || e.ID == "" || l.messages[n-1].id != e.ID {
		if n > 0 {
			shown = l.show(clean(l.messages[n-1].raw))
		}
		l.messages = append(l.messages, liveMessage{id: e.ID})
	}
	l.blocks[e.Index] = len(l.messages) - 1
	return shown
}

// show makes body what is shown of the last message, and returns what is new.
func (l *Live) show(body string) string {
	m := &l.messages[len(l.messages)-1]
	body = strings.TrimSpace(body)
	more, ok := strings.CutPrefix(body, m.shown)
	if !ok || more == "" {
		return ""
	}
	if m.shown == "" && len(l.messages) > 1 {
		more = "\n\n" + more
	}
	m.shown = body
	return more
}

// Rest returns what is missing of the text of the answer. Messages that are not
// part of the answer may have been shown before it. If what was shown is not
// the start of the answer, ok is false and the whole text must be shown again.
func (l *Live) Rest(answer string) (rest string, ok bool) {
	var shown []string
	for _, m := range l.messages {
		if m.shown != "" {
			shown = append(shown, m.shown)
		}
	}
	if len(shown) == 0 {
		return answer, true
	}
	for i := range shown {
		if rest, ok := strings.CutPrefix(answer, strings.Join(shown[i:], "\n\n")); ok {
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
	raw = unsettled.ReplaceAllString(raw, "")
	return clean(strings.TrimRightFunc(raw, unicode.IsSpace))
}
