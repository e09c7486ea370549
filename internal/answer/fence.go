package answer

import "strings"

// below sets more apart from the text. A block of code that was cut off is
// ended first, or more would be code.
func below(text, more string) string {
	if end := openFence(text); end != "" {
		text += "\n" + end
	}
	return text + "\n\n" + more
}

// openFence is the line that ends the block of code in which a text stops, or ""
// (https://spec.commonmark.org/0.31.2/#fenced-code-blocks). Where it depends on
// the lists around it whether a line is a fence, or models are known to mean
// something else by it, "" as well: more within code can be read, and an answer
// within code looks wrong.
func openFence(text string) string {
	open, indent, blocks := "", "", 0
	for line := range strings.SplitSeq(text, "\n") {
		body := strings.TrimLeft(line, " ")
		run := fenceRun(body)
		switch {
		case run == "":
			if fenceRun(strings.TrimLeft(body, "-*+>0123456789.) \t")) != "" {
				return "" // behind a bullet
			}
		case open == "":
			bare := strings.TrimSpace(body) == run
			if indent = line[:len(line)-len(body)]; len(indent) > 3 || bare && blocks > 0 {
				return "" // more likely the end of a block that had another in it
			}
			open = run
			blocks++
		case !strings.HasPrefix(run, open):
		case strings.TrimSpace(body) == run:
			open = ""
		default:
			return "" // a block in a block, or an end with more behind it
		}
	}
	if open == "" {
		return ""
	}
	return indent + open
}

// fenceRun is the run of three or more ` or ~ with which a line begins, "" when it
// is none or the backticks of a span of code ("```x```").
func fenceRun(line string) string {
	for _, mark := range []string{"`", "~"} {
		run := line[:len(line)-len(strings.TrimLeft(line, mark))]
		if len(run) >= 3 && (mark == "~" || !strings.Contains(line[len(run):], mark)) {
			return run
		}
	}
	return ""
}

// fence reports whether a line begins or ends a block of code.
func fence(line string) bool { return fenceRun(strings.TrimSpace(line)) != "" }
