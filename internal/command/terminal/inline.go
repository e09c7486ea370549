package terminal

import (
	"fmt"
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// lineBreak matches the HTML of a line break.
var lineBreak = text.LazyRegexp(`(?i)^<br\s*/?>$`)

// otherNumber matches the text of a link that is only the number of its page in a list of the model
// or the server ("[[2]](https://a.example)"). The number of the page here is another.
var otherNumber = text.LazyRegexp(`^\[\d{1,3}\]$`)

// inlineBuilder makes a styled text from inlines of Markdown, and adds the pages of its links to
// sources.
type inlineBuilder struct {
	styled
	sources *sources
}

// inlines appends inlines of Markdown. Their own styles are added to st.
func (b *inlineBuilder) inlines(list markdown.Inlines, st style) {
	var words strings.Builder // so far: a URL may have escaped characters
	for _, x := range list {
		switch x := x.(type) {
		case *markdown.Plain:
			words.WriteString(x.Text)
			continue
		case *markdown.Escaped:
			words.WriteString(x.Text)
			continue
		}
		b.text(words.String(), st)
		words.Reset()

		switch x := x.(type) {
		case *markdown.AutoLink:
			b.text(x.Text, st)
		case *markdown.HTMLTag: // tables have <br>
			b.text(lineBreak().ReplaceAllString(x.Text, " "), st)
		case *markdown.SoftBreak, *markdown.HardBreak: // models break lines where they mean it
			b.add("\n", st)
		case *markdown.Code:
			b.add(strings.ReplaceAll(x.Text, " ", noBreak), st.with(code))
		case *markdown.Strong:
			b.inlines(x.Inner, st.with(bold))
		case *markdown.Emph:
			b.inlines(x.Inner, st.with(italic))
		case *markdown.Del:
			if x.Marker == "~" { // models write 3~5 and 10~20 for ranges
				b.add("~", st)
				b.inlines(x.Inner, st)
				b.add("~", st)
				continue
			}
			b.inlines(x.Inner, st.with(struck))
		case *markdown.Link:
			b.link(x.Inner, x.URL, st)
		case *markdown.Image:
			b.link(x.Inner, x.URL, st)
		}
	}
	b.text(words.String(), st)
}

// link appends a link. If its URL is not that of a page for the list of sources, the Markdown of
// the link is shown.
func (b *inlineBuilder) link(inner markdown.Inlines, u string, st style) {
	page := b.sources.page(strings.ReplaceAll(u, glue, ""))
	if page == "" {
		b.add("[", st)
		b.inlines(inner, st)
		b.add("]("+u+")", st)
		return
	}

	words := inlineBuilder{sources: b.sources}
	words.inlines(inner, st.linkTo(page))
	if !otherNumber().MatchString(words.String()) {
		b.styled = append(b.styled, words.styled...)
	}
	b.number(page)
}

// text appends a text. URLs in it become links, unless the text is a part of a link.
func (b *inlineBuilder) text(words string, st style) {
	words = strings.ReplaceAll(words, glue, "")
	begin := 0
	for _, at := range cite.FindLinks(words, -1) {
		u := words[at.Start:at.End]
		page := b.sources.page(u)
		if page == "" || st.page != "" {
			continue
		}

		b.add(words[begin:at.Start], st)
		b.add(u, st.linkTo(page))
		b.number(page)
		begin = at.End
	}
	b.add(words[begin:], st)
}

// number appends the number of a page in the list of sources.
func (b *inlineBuilder) number(page string) {
	n := b.sources.add(cite.Citation{URL: page})
	b.add(fmt.Sprintf("[%d]", n), style{dim, page})
}
