package answer

// These functions are for programs that show an answer: its links, its pages,
// and the list of sources at its end.

// Links returns where the URLs in a text are, without the punctuation that
// follows them.
func Links(s string) (list [][2]int) {
	for _, l := range links(s, maxLinks) {
		list = append(list, [2]int{l.start, l.end})
	}
	return list
}

// PageURL returns an http or https URL without tracking, or "" for anything
// else.
func PageURL(raw string) string { return pageURL(raw) }

// PageKey returns a key that is equal for URLs of one page.
func PageKey(u string) string { return pageKey(u) }

// SourcesAt returns where the last heading of a list of sources begins in the
// text of an answer, and whether that list ends the text. Without a heading it
// returns the length of the text.
func SourcesAt(body string) (at int, closing bool) {
	doc := newDocument(body, nil)
	list, _ := doc.list()
	if list == 0 {
		return len(body), false
	}
	at = len(body)
	for _, l := range doc[list-1:] {
		at -= len(l.text) + 1
	}
	return at + 1, doc.endsInSources()
}
