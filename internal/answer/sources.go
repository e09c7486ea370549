package answer

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// withSources makes the text end with one list of sources (spec §3.4). A
// list that the model wrote near the end stays when all its entries are dated,
// and makes room for ours when not; the remark that a model likes to add below
// it moves in front of it. Without citations there is nothing to add, and the
// text stays as it is.
func withSources(text string, cited []Citation) string {
	if len(cited) == 0 {
		return text
	}
	body, list := splitSources(text, cited)
	if list == "" {
		var b strings.Builder
		b.WriteString("Sources:")
		for _, c := range cited {
			b.WriteString("\n- " + c.URL + " (" + c.PublishedAt + ")")
		}
		list = b.String()
	}
	if body == "" {
		return list
	}
	return below(body, list)
}

// splitSources takes all closing lists off a text. It returns the last of them
// whose entries are all dated, if any, as the list to keep.
func splitSources(text string, cited []Citation) (body, list string) {
	text = strings.TrimRightFunc(text, unicode.IsSpace)
	if openFence(text) != "" {
		return text, "" // code to the end
	}
	lines := strings.Split(text, "\n")
	for {
		lines = trimBlank(lines)
		at, end := lastList(lines, cited)
		if at < 0 {
			return joined(lines), list
		}
		if list == "" && dated(headingOf(lines[at]).rest, lines[at+1:end]) {
			list = joined(trimRulers(lines[at:end]))
		}
		lines = closeGap(lines, at, end)
	}
}

// joined is the text of lines without the space at its end.
func joined(lines []string) string {
	return strings.TrimRightFunc(strings.Join(lines, "\n"), unicode.IsSpace)
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

func trimBlank(lines []string) []string {
	for len(lines) > 0 && blank(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	return lines
}

// trimRulers takes off the rule that set the list apart from what followed it.
func trimRulers(lines []string) []string {
	for lines = trimBlank(lines); re().ruler.MatchString(lines[len(lines)-1]); {
		lines = trimBlank(lines[:len(lines)-1])
	}
	return lines
}

// closeGap takes the lines from at to end out; what stood below them becomes a
// paragraph of its own. It reuses the memory of lines.
func closeGap(lines []string, at, end int) []string {
	body, tail := trimBlank(lines[:at]), lines[end:]
	for len(tail) > 0 && blank(tail[0]) {
		tail = tail[1:]
	}
	if len(tail) == 0 || len(body) == 0 {
		return append(body, tail...)
	}
	return append(append(body, ""), tail...)
}

// lastList finds the last list of sources that ends the text, but for a short
// remark: lines[at:end], the heading first. at is -1 when there is none.
func lastList(lines []string, cited []Citation) (at, end int) {
	for i := len(lines) - 1; i >= 0 && !fence(lines[i]); i-- {
		h := headingOf(lines[i])
		if h.kind == noHeading {
			continue
		}
		end := listEnd(lines, i, h, cited)
		if isList(h, lines[i+1:end], remarkOf(lines[end:]), len(trimBlank(lines[:i])) == 0, cited) {
			return i, end
		}
	}
	return -1, -1
}

// isList decides whether heading and entries are a list of sources. The less
// the heading says so, the more the entries must: what is taken for a list by
// mistake is lost to the reader, so in doubt it is part of the answer. alone says
// that there is no answer above.
func isList(h heading, below []string, after remark, alone bool, cited []Citation) bool {
	entries := entryTexts(below)
	if h.rest != "" {
		entries = append(entries, h.rest)
	}
	linked, pages, named, said := 0, 0, 0, 0 // entries with a source, with a page, with a citation alone, with a sentence
	for _, e := range entries {
		known, more := names(e, cited), beside(e, cited)
		if known || hasLink(e) {
			linked++
		}
		if known || re().link.MatchString(e) {
			pages++
		}
		if known && !strings.ContainsFunc(more, unicode.IsLetter) {
			named++
		}
		if sentence(more, maxEntry) {
			said++
		}
	}
	n := len(entries)
	dated := dated(h.rest, below)
	probable := dated || n > 0 && 2*linked >= n
	switch {
	case after == answerGoesOn: // of such a list the model has written there would be two
		return h.kind == plainHeading && h.rest == "" && linked == n && dated
	case h.kind == looseHeading: // "The sources of the Nile:"
		return n > 0 && linked == n && (named == n || dated)
	case h.kind == weakHeading: // "References:" to what, in C++
		return dated && linked == n || n > 0 && said == 0 && (dated || 2*pages >= n)
	case h.kind == qualifiedHeading || after == anyRemark:
		return probable
	}
	// Names without a link: "Sources: Reuters". What says more is the answer.
	return probable || !alone && !slices.ContainsFunc(entries, says) && (!h.one || n == 0 || h.rest != "")
}

// A remark is what stands between a list of sources and the end of the text.
type remark int

const (
	noRemark     remark = iota // nothing, or an offer ("Let me know …"): the answer had ended
	anyRemark                  // one or two short paragraphs
	answerGoesOn               // more than that
)

// Bounds of a remark: beyond them the list stands in the middle of the answer.
const (
	maxRemarks = 2   // paragraphs
	maxRemark  = 400 // characters, all together
)

func remarkOf(lines []string) remark {
	kind, paragraphs, size, fresh := noRemark, 0, 0, true
	for _, line := range lines {
		if blank(line) {
			fresh = true
			continue
		}
		if fresh {
			paragraphs++
		}
		fresh = false
		size += utf8.RuneCountInString(line)
		if paragraphs > maxRemarks || size > maxRemark || !prose(line) {
			return answerGoesOn
		}
		if !re().offer.MatchString(line) {
			kind = anyRemark
		}
	}
	return kind
}

// prose reports whether a line is plain text: no heading, entry, row or code.
func prose(line string) bool {
	return !marked(line) && !fence(line) && !strings.HasPrefix(strings.TrimSpace(line), "#") &&
		headingOf(line).kind == noHeading
}
