package answer

import (
	"regexp"
	"strings"

	"github.com/openai/openai-go/v3/responses"
)

// markers matches the citation markers that the API writes into the text with
// private-use characters, and a space before them: U+E200 opens one, U+E202
// separates its fields, U+E201 closes it. In a text that was cut short the last
// one may not be closed; then only its fields are removed.
var markers = regexp.MustCompile(` ?(?:\x{E200}[^\x{E200}\x{E201}\n]*\x{E201}` +
	`|\x{E200}[\w-]*(?:\x{E202}[\w-]*)*)` +
	`|[\x{E200}-\x{E2FF}]`)

// tracker matches the query parameter that the API adds to links.
var tracker = regexp.MustCompile(`([?&])(?:utm_source=openai&)*utm_source=openai(&|\.?(?:[^\w.%-]|$))`)

// clean removes what the API adds to the text of the model: citation markers,
// and utm_source=openai in links.
func clean(s string) string { return untracked(markers.ReplaceAllString(s, "")) }

func untracked(s string) string {
	return tracker.ReplaceAllStringFunc(s, func(match string) string {
		m := tracker.FindStringSubmatch(match)
		if m[2] == "&" {
			return m[1]
		}
		return m[2]
	})
}

// finalMessages returns the messages that make up the answer: those of phase
// final_answer that have text, else all messages. Phases are optional.
func finalMessages(items []responses.ResponseOutputItemUnion) []responses.ResponseOutputItemUnion {
	var all, final []responses.ResponseOutputItemUnion
	for _, it := range items {
		if it.Type != "message" {
			continue
		}
		all = append(all, it)
		if it.Phase == responses.ResponseOutputMessagePhaseFinalAnswer && messageText(it) != "" {
			final = append(final, it)
		}
	}
	if len(final) > 0 {
		return final
	}
	return all
}

// textOf joins the messages by a blank line.
func textOf(messages []responses.ResponseOutputItemUnion) string {
	var texts []string
	for _, m := range messages {
		if t := messageText(m); t != "" {
			texts = append(texts, t)
		}
	}
	return strings.Join(texts, "\n\n")
}

// messageText joins the parts of a message. Parts of output text continue each
// other, as in OpenAI's SDKs; a refusal is a paragraph.
func messageText(m responses.ResponseOutputItemUnion) string {
	var b strings.Builder
	for _, part := range m.Content {
		switch part.Type {
		case "output_text", "text":
			b.WriteString(part.Text)
		case "refusal":
			b.WriteString("\n\n" + part.Refusal + "\n\n")
		}
	}
	return strings.TrimSpace(clean(b.String()))
}

// below appends a paragraph to the text. A code block that was cut short is
// closed first.
func below(text, more string) string {
	fence := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		run := line[:len(line)-len(strings.TrimLeft(line, "`"))]
		switch {
		case fence == "" && len(run) >= 3 && !strings.Contains(line[len(run):], "`"):
			fence = run
		case fence != "" && line == run && len(run) >= len(fence):
			fence = ""
		}
	}
	if fence != "" {
		text += "\n" + fence
	}
	return text + "\n\n" + more
}
