package answer

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxLabel bounds the text of a heading that is not one by itself, in characters.
const maxLabel = 60

// headingKind says how surely a line is the heading of a list of sources.
type headingKind int

const (
	noHeading        headingKind = iota
	looseHeading                 // has a word for sources among others: "The sources of the Nile:"
	qualifiedHeading             // only such words and what goes with them: "Sources used:", 主な出典
	weakHeading                  // the word alone, one that also means something else: 参考, "References"
	plainHeading                 // the word alone: "Sources", 出典
)

// A heading is a line over a list of sources.
type heading struct {
	kind headingKind
	rest string // what follows the colon on the line
	one  bool   // "Source", which is many other things too
}

// wordKind knows the words (lower case) that are a heading by themselves, as
// models write them in English and Japanese. A plain one is a heading also in
// front of any text on the same line ("Sources: the agency"). 参考: often
// starts an ordinary remark, so there a link must follow.
func wordKind(word string) headingKind {
	switch word {
	case "sources", "source", "出典", "出典一覧", "出典元", "情報源", "引用元":
		return plainHeading
	case "references", "reference", "for reference", "参考", "参考情報", "参照", "引用":
		return weakHeading
	}
	return noHeading
}

// headingOf reads a line as the heading of a list, in any dress (## Sources,
// **Sources:**, 【出典】).
func headingOf(line string) heading {
	if !hasListWord(strings.ToLower(line)) || len(line) > 8*maxLabel && !strings.ContainsAny(line, ":：") {
		return heading{} // nearly all lines; not worth the expressions
	}
	label, rest, colon := line, "", false
	if strings.ContainsAny(label, "(（") {
		label = re().aside.ReplaceAllString(label, "$1$2") // Sources (retrieved 2025-08-09):
	}
	if i := strings.IndexAny(label, ":："); i >= 0 {
		_, size := utf8.DecodeRuneInString(label[i:])
		label, rest, colon = label[:i], strings.Trim(label[i+size:], " \t\r*_　"), true
	}
	word := strings.ToLower(strings.TrimFunc(label, func(r rune) bool { return !unicode.IsLetter(r) }))
	kind := labelKind(word)
	if kind == noHeading {
		return heading{}
	}
	bulleted := re().bullet.MatchString(line)
	switch {
	case rest != "" && (bulleted || re().indented.MatchString(line)):
		return heading{} // part of an entry: "- Source: https://…"
	case bulleted && !colon && !strings.Contains(line, "**"):
		return heading{} // an item of the answer: "- sources"
	case kind == looseHeading && (rest != "" || bulleted || !colon && !dressed(line)):
		return heading{}
	case rest != "" && kind == weakHeading && !re().link.MatchString(rest),
		rest != "" && kind != plainHeading && !hasLink(rest):
		return heading{}
	}
	return heading{kind, rest, word == "source"}
}

// labelKind judges the words of a heading (lower case).
func labelKind(words string) headingKind {
	if k := wordKind(words); k != noHeading {
		return k
	}
	switch {
	case utf8.RuneCountInString(words) > maxLabel || !hasListWord(words):
		return noHeading
	case re().listLabel.MatchString(words):
		return qualifiedHeading
	}
	return looseHeading
}

// dressed reports whether markup makes a line a heading.
func dressed(line string) bool {
	line = strings.TrimSpace(line)
	return strings.HasPrefix(line, "#") || strings.HasPrefix(line, "【") || strings.HasPrefix(line, "**") && strings.HasSuffix(line, "**")
}
