package answer

import "strings"

// below sets more apart from the text. A block of code that was cut off is
// ended first, or more would be code.
func below(text, more string) string {
	if open := openFence(text); open != "" {
		text += "\n" + open
	}
	return text + "\n\n" + more
}

// openFence is the fence that ends the block of code in which a text stops, or
// "" (https://spec.commonmark.org/0.31.2/#fenced-code-blocks).
func openFence(text string) string {
	open := ""
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		switch {
		case !fence(line):
		case open == "":
			open = line[:len(line)-len(strings.TrimLeft(line, line[:1]))]
		case strings.HasPrefix(line, open) && strings.Trim(line, open[:1]) == "":
			open = ""
		}
	}
	return open
}

// fence reports whether a line begins or ends a block of code.
func fence(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~")
}
