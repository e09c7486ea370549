package answer

import (
	"regexp"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	maxBare  = 160 // characters of an entry without a bullet or a link
	maxName  = 8   // words of a name
	maxEntry = 20  // words of an entry besides its link
	minTitle = 8   // characters by which a title is known again
	minID    = 4   // characters by which a source without a URL is
)

// listEnd returns the line behind the last entry of the list headed at lines[at].
// Lines without a bullet are entries too where they can be no remark: in the
// block below the heading.
func listEnd(lines []string, at int, h heading, cited []Citation) int {
	end, block, bulleted := at+1, true, h.rest != ""
	for i := at + 1; i < len(lines); i++ {
		line := lines[i]
		switch {
		case blank(line):
			if h.rest != "" && end == at+1 {
				return end // the list was on the line of its heading
			}
			block = block && end == at+1
			continue
		case fence(line) || headingOf(line).kind != noHeading:
			return end
		case re().ruler.MatchString(line):
			if end > at+1 {
				return i + 1
			}
			continue // underlines the heading
		case re().bullet.MatchString(line):
			bulleted = true
		case end == at+1 && h.rest == "" && re().colon.MatchString(line):
			// introduces the entries: "I used these pages:"
		case bulleted && isRow(line) && blank(lines[i-1]):
			return end // a table of its own
		case re().indented.MatchString(line), isRow(line), re().opening.MatchString(line):
		case re().ending.MatchString(strings.TrimRight(line, " \t\r")):
			if !block && bulleted && blank(lines[i-1]) {
				return end // "For more see https://…"
			}
		case bulleted || !titleLike(line) || !block && !names(line, cited):
			return end
		}
		end = i + 1
	}
	if end == at+1 {
		return len(lines) // only rules
	}
	return end
}

// marked reports whether markup makes a line something else than prose.
func marked(line string) bool {
	return re().bullet.MatchString(line) || re().indented.MatchString(line) || re().ruler.MatchString(line) || isRow(line)
}

// isRow reports whether a line is a row of a table.
func isRow(line string) bool {
	return strings.HasPrefix(strings.TrimSpace(line), "|") || strings.Contains(line, " | ") || isDelimiter(line)
}

// isDelimiter reports whether a line is the one below the head of a table.
func isDelimiter(line string) bool {
	return strings.Contains(line, "|") && strings.Contains(line, "-") && strings.Trim(line, "|:- \t\r") == ""
}

// titleLike reports whether a bare line can be the title of a page: short, no
// sentence, no offer of more.
func titleLike(line string) bool {
	line = strings.TrimSpace(line)
	last, _ := utf8.DecodeLastRuneInString(line)
	return !strings.ContainsRune(".!?:。！？：", last) && utf8.RuneCountInString(line) <= maxBare &&
		!strings.HasPrefix(line, "#") && !re().offer.MatchString(line)
}

// names reports whether an entry names one of the citations: its host, its
// title, a part of its title, or the name of a source without a URL.
func names(entry string, cited []Citation) bool {
	entry = strings.ToLower(entry)
	name := strings.Join(strings.Fields(strings.Trim(entry, " \t\r\n-*•・>\"'「」『』_[]|")), " ")
	for _, c := range cited {
		id := c.URL
		if _, rest, ok := strings.Cut(id, "://"); ok {
			id, _, _ = strings.Cut(rest, "/")
		}
		if id = strings.TrimPrefix(strings.ToLower(id), "www."); len(id) >= minID && strings.Contains(entry, id) {
			return true
		}
		title := strings.ToLower(c.Title)
		if utf8.RuneCountInString(title) >= minTitle && strings.Contains(name, title) ||
			utf8.RuneCountInString(name) >= minTitle && strings.Contains(title, name) {
			return true
		}
	}
	return false
}

// hasLink reports whether an entry leads to a page.
func hasLink(entry string) bool {
	return re().link.MatchString(entry) || re().domain.MatchString(entry)
}

// beside is what an entry says besides its source and its date, which would be
// lost with it.
func beside(entry string, cited []Citation) string {
	for _, p := range []*regexp.Regexp{re().markdown, re().link, re().domain, re().date, re().quoted} {
		entry = p.ReplaceAllString(entry, " ")
	}
	entry = strings.ToLower(entry)
	for _, c := range cited {
		for _, s := range []string{c.Title, c.URL} {
			if s != "" {
				entry = strings.ReplaceAll(entry, strings.ToLower(s), " ")
			}
		}
	}
	return entry
}

// sentence tells what is said from what is named: the title of a page or the name
// of its publisher, of so many words at most.
func sentence(text string, words int) bool {
	return len(strings.Fields(text)) > words || re().sentence.MatchString(text)
}

// says reports whether an entry without a link is more than a name.
func says(entry string) bool { return sentence(entry, maxName) }

// dated reports whether a list, what stands on the line of its heading included,
// has entries and each of them an ISO date.
func dated(rest string, below []string) bool {
	n := 0
	if rest != "" {
		// Several entries may share the heading's line.
		if n++; len(dates(rest)) < max(1, len(re().link.FindAllString(rest, -1))) {
			return false
		}
	}
	for _, e := range entryTexts(below) {
		if n++; len(dates(e)) == 0 {
			return false
		}
	}
	return n > 0
}

// entryTexts groups lines into entries: a line that is not indented deeper than
// the first one starts a new entry. The head of a table is none.
func entryTexts(lines []string) []string {
	var entries []string
	base := -1
	for i, line := range lines {
		if blank(line) || re().ruler.MatchString(line) || isDelimiter(line) || i+1 < len(lines) && isDelimiter(lines[i+1]) {
			continue
		}
		depth := len(line) - len(strings.TrimLeft(line, " \t"))
		if base < 0 || depth <= base {
			base = max(base, depth)
			entries = append(entries, line)
			continue
		}
		entries[len(entries)-1] += "\n" + line
	}
	return entries
}

// dates lists the ISO dates in a text. Those inside a URL are part of its path
// ("/news/2025-09-30/") and say nothing about the entry.
func dates(s string) []string {
	if !strings.Contains(s, "-") {
		return nil
	}
	var found []string
	s = re().link.ReplaceAllString(s, " ")
	for _, m := range re().date.FindAllStringSubmatch(s, -1) {
		if _, err := time.Parse(time.DateOnly, m[1]); err == nil {
			found = append(found, m[1])
		}
	}
	return found
}
