package llm

import (
	"bytes"
	"encoding/json"
)

// An answer is checked once, as a whole, and then taken apart level by level:
// json.Unmarshal would check and copy what is inside once for each level above
// it. The functions here are for JSON that is known to be valid; of anything
// else they return something or other.

// objectOf returns the fields of an object, nil for anything else.
func objectOf(data json.RawMessage) object {
	c, ok := enter(data, '{')
	if !ok {
		return nil
	}
	o := make(object, 0, 8)
	for {
		name, value := c.next(), c.next()
		if value == nil {
			return o
		}
		if n := len(name); n >= 2 && plain(name[1:n-1]) {
			name = name[1 : n-1]
		} else {
			s, _ := stringOf(name)
			name = []byte(s)
		}
		o = append(o, field{name, value})
	}
}

// listOf returns the elements of an array, nil for anything else.
func listOf(data json.RawMessage) []json.RawMessage {
	c, ok := enter(data, '[')
	if !ok {
		return nil
	}
	list := []json.RawMessage{}
	for {
		value := c.next()
		if value == nil {
			return list
		}
		list = append(list, value)
	}
}

// cursor goes through the parts of an object or array: keys, too, are parts.
type cursor struct {
	data []byte
	pos  int
}

// enter begins behind the bracket, and returns false where there is another one
// or none.
func enter(data []byte, bracket byte) (c cursor, ok bool) {
	for ; c.pos < len(data); c.pos++ {
		if !space(data[c.pos]) {
			ok = data[c.pos] == bracket
			break
		}
	}
	return cursor{data, c.pos + 1}, ok
}

// next returns the next part, nil at the end. It shares the bytes of the whole,
// but nothing that is appended to it runs into the part behind.
func (c *cursor) next() json.RawMessage {
	for ; c.pos < len(c.data); c.pos++ {
		switch b := c.data[c.pos]; {
		case b == '}' || b == ']':
			c.pos = len(c.data)
			return nil
		case b != ',' && b != ':' && !space(b):
			start := c.pos
			c.skip()
			return c.data[start:c.pos:c.pos]
		}
	}
	return nil
}

// skip moves behind the value at pos.
func (c *cursor) skip() {
	for depth := 0; c.pos < len(c.data); {
		switch b := c.data[c.pos]; {
		case b == '"':
			c.skipString()
		case b == '{' || b == '[':
			c.pos++
			depth++
			continue
		case b == '}' || b == ']':
			c.pos++
			depth--
		case depth == 0:
			for c.pos < len(c.data) && bytes.IndexByte([]byte(",:]} \t\r\n"), c.data[c.pos]) < 0 {
				c.pos++
			}
		default:
			c.pos++ // what is between the brackets, strings apart
		}
		if depth <= 0 {
			return
		}
	}
}

// skipString moves behind the string at pos.
func (c *cursor) skipString() {
	for i := c.pos + 1; i < len(c.data); i++ {
		end := bytes.IndexByte(c.data[i:], '"')
		if end < 0 {
			break
		}
		escapes := 0
		for j := i + end; j > i && c.data[j-1] == '\\'; j-- {
			escapes++
		}
		if i += end; escapes%2 == 0 {
			c.pos = i + 1
			return
		}
	}
	c.pos = len(c.data)
}

func space(b byte) bool { return b == ' ' || b == '\t' || b == '\r' || b == '\n' }
