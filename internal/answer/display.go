package answer

// These functions are for programs that show an answer: its links, and the list
// of sources at its end.

// Links returns where the URLs in a text are, without the punctuation that
// follows them.
func Links(s string) (list [][2]int) {
	for _, l := range links(s, maxLinks) {
		list = append(list, [2]int{l.start, l.end})
	}
	return list
}

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
