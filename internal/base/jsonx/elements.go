package jsonx

import (
	"encoding/json"

	"github.com/tidwall/gjson"
)

// Bounds of JSON that clients send. Decoded, a small text with many elements takes hundreds of
// times the memory of the text.
const (
	MaxElements = 10_000
	maxDepth    = 64
)

// CountElements returns an upper bound of the number of elements in valid JSON: the number of its
// commas, arrays and objects. With more than MaxElements of them, or more than 64 levels, it
// returns MaxElements+1. It allocates nothing.
func CountElements(data []byte) int {
	elements := 0
	depth := 0
	inString := false
	for i := 0; i < len(data); i++ {
		switch c := data[i]; {
		case c == '\\':
			i++
		case c == '"':
			inString = !inString
		case inString:
		case c == '[', c == '{':
			elements++
			depth++
		case c == ']', c == '}':
			depth--
		case c == ',':
			elements++
		}

		if elements > MaxElements || depth > maxDepth {
			return MaxElements + 1
		}
	}
	return elements
}

// ParseString parses the content of a string as JSON. If v is no string, its content is no JSON, or
// it exceeds the bounds of CountElements, the value that ParseString returns does not exist.
func ParseString(v gjson.Result) gjson.Result {
	data := []byte(v.Str)
	if !json.Valid(data) || CountElements(data) > MaxElements {
		return gjson.Result{}
	}
	return gjson.ParseBytes(data)
}
