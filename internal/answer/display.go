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

// SourcesAt returns where the last heading of a list of sources begins in the text of an answer,
// and the pages of that list if it ends the text, else nil. Without a heading it returns the length
// of the text.
func SourcesAt(body string) (at int, list []Citation) {
	doc := newDocument(body, nil)
	begin, end := doc.list()
	if begin == 0 {
		return len(body), nil
	}
	at = len(body) + 1
	for _, l := range doc[begin-1:] {
		at -= len(l.text) + 1
	}
	if !doc.endsInSources() {
		return at, nil
	}
	list = []Citation{}
	for i := begin; i < end; i++ {
		for k, l := range doc[i].links {
			list = append(list, Citation{URL: PageURL(doc[i].text[l.start:l.end]), PublishedAt: doc.listDate(i, k)})
		}
	}
	return at, list
}
