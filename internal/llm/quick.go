package llm

import "unicode/utf8"

// quick reads the payload of a delta, of which a long answer has many thousands:
// an object of strings, whole numbers, constants and empty lists. It allocates
// only what differs from typ and itemID, those of the event before. On anything
// else it gives up, with some of the fields of w set.
func (w *wire) quick(data []byte, typ, itemID string) bool {
	q := scanner{data: data}
	if !q.accept('{') {
		return false
	}
	for {
		key, plain, ok := q.str()
		if !ok || !plain || !q.accept(':') {
			return false
		}
		switch key = key[1 : len(key)-1]; string(key) {
		case "item", "part", "annotation", "response", "error":
			return false
		}
		switch q.peek() {
		case '"':
			value, plain, ok := q.str()
			if !ok || !w.setText(string(key), value, plain, typ, itemID) {
				return false
			}
		case '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
			n, ok := q.number()
			if !ok {
				return false
			}
			w.setNumber(string(key), n)
		default:
			if !q.word("null") && !q.word("true") && !q.word("false") && !(q.accept('[') && q.accept(']')) {
				return false
			}
		}
		if q.accept('}') {
			return q.peek() == 0 && q.pos == len(data)
		}
		if !q.accept(',') {
			return false
		}
	}
}

func (w *wire) setText(key string, value []byte, plain bool, typ, itemID string) bool {
	var field *string
	switch key {
	case "type":
		field, w.Type = &w.Type, typ
	case "item_id":
		field, w.ItemID = &w.ItemID, itemID
	case "delta":
		field = &w.Delta
	case "text":
		field = &w.Text
	case "refusal":
		field = &w.Refusal
	case "arguments":
		field = &w.Arguments
	case "input":
		field = &w.Input
	default:
		return plain // Whether its escapes are right is for the thorough way to say.
	}
	if !plain {
		return unquote(value, field)
	}
	if value = value[1 : len(value)-1]; *field != string(value) {
		*field = string(value)
	}
	return true
}

func (w *wire) setNumber(key string, n int) {
	switch key {
	case "output_index":
		w.OutputIndex = n
	case "content_index":
		w.ContentIndex = n
	case "summary_index":
		w.SummaryIndex = n
	}
}

// scanner is the place in a payload up to which quick has read.
type scanner struct {
	data []byte
	pos  int
}

// peek returns the next byte that is no white space, 0 at the end.
func (q *scanner) peek() byte {
	for ; q.pos < len(q.data); q.pos++ {
		if c := q.data[q.pos]; !space(c) {
			return c
		}
	}
	return 0
}

func (q *scanner) accept(c byte) bool {
	if q.peek() != c {
		return false
	}
	q.pos++
	return true
}

func (q *scanner) word(s string) bool {
	if end := q.pos + len(s); end <= len(q.data) && string(q.data[q.pos:end]) == s {
		q.pos = end
		return true
	}
	return false
}

// str reads a string and returns it with its quotes; plain says that it stands
// for itself, without escapes.
func (q *scanner) str() (s []byte, plain, ok bool) {
	if !q.accept('"') {
		return nil, false, false
	}
	start := q.pos - 1
	plain, ascii := true, true
	for ; q.pos < len(q.data); q.pos++ {
		switch c := q.data[q.pos]; {
		case c == '"':
			q.pos++
			s = q.data[start:q.pos]
			return s, plain, ascii || utf8.Valid(s)
		case c == '\\':
			plain = false
			q.pos++
		case c < ' ':
			return nil, false, false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return nil, false, false
}

// number reads a whole number as the indexes are.
func (q *scanner) number() (n int, ok bool) {
	start := q.pos
	for ; q.pos < len(q.data) && q.data[q.pos]-'0' <= 9; q.pos++ {
		n = n*10 + int(q.data[q.pos]-'0')
	}
	digits := q.pos - start
	if digits == 0 || digits > 9 || digits > 1 && q.data[start] == '0' {
		return 0, false
	}
	// A fraction or an exponent is no end of a number.
	c := q.peek()
	return n, c == ',' || c == '}'
}
