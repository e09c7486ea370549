package answer

import (
	"regexp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"
)

var (
	// markers matches the citation markers that the API writes into the text
	// with private-use characters, and a space before them: U+E200 opens one,
	// U+E202 separates its fields, U+E201 closes it unless the text was cut
	// short.
	markers = regexp.MustCompile(` ?\x{E200}[^\x{E200}\x{E201}\n]*(?:\x{E201}|$)|[\x{E200}-\x{E2FF}]`)
	// tracker matches the query parameter that the API adds to links. The
	// submatches stay.
	tracker = regexp.MustCompile(`([?&])utm_source=openai&|[?&]utm_source=openai($|[^\w.&-]|\.(?:\s|$))`)
)

// Clean removes what the API adds to the text of the model: citation markers, and
// utm_source=openai in links.
func Clean(s string) string { return untracked(markers.ReplaceAllString(s, "")) }

func untracked(s string) string { return tracker.ReplaceAllString(s, "$1$2") }

// finalMessages returns the messages that make up the answer: those of phase
// final_answer that have text, else all messages. Phases are optional.
func finalMessages(items []responses.ResponseOutputItemUnion) []responses.ResponseOutputItemUnion {
	messages := slices.DeleteFunc(slices.Clone(items), func(it responses.ResponseOutputItemUnion) bool { return it.Type != "message" })
	final := slices.DeleteFunc(slices.Clone(messages), func(m responses.ResponseOutputItemUnion) bool {
		return m.Phase != responses.ResponseOutputMessagePhaseFinalAnswer || messageText(m) == ""
	})
	if len(final) > 0 {
		return final
	}
	return messages
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
	return strings.TrimSpace(Clean(b.String()))
}
