// Package jsonx writes JSON with <, > and & as they are: nothing here ends up in HTML, and people
// read URLs and answers. It also checks messages that clients send, before they are decoded.
package jsonx

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Bounds of a message. Decoded, a small one with many elements takes hundreds of times its bytes.
const (
	MaxElements = 10_000
	maxDepth    = 64
)

// TooDense says what a message is that is beyond the bounds.
const TooDense = "more than 10,000 elements or 64 levels"

// Elements returns a bound of the elements in JSON: its commas, arrays and objects. It is more than
// MaxElements if there are so many, or more than 64 levels. Nothing is allocated.
func Elements(data []byte) int {
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

// IsMessage reports whether an object is a message of JSON-RPC 2.0 to every decoder: some ignore the
// case of the names of members, and of two with one name some take the first, some the last.
func IsMessage(object gjson.Result) bool {
	members := []string{"jsonrpc", "id", "method", "params", "result", "error"}
	seen := map[string]bool{}
	isClear := true
	object.ForEach(func(key, _ gjson.Result) bool {
		name := strings.ToLower(key.Str)
		isExact := name == key.Str || !slices.Contains(members, name)
		isClear = isExact && !seen[name]
		seen[name] = true
		return isClear
	})
	return isClear && object.Get("jsonrpc").Str == "2.0"
}

// Marshal is json.Marshal without the escapes for HTML, which RFC 8259 section 7 does not require.
func Marshal(v any) ([]byte, error) {
	return MarshalIndent(v, "")
}

// MarshalIndent is Marshal with a line for each value and this indent for each level; "" puts all
// into one line. There is no line feed at the end. The error is that of json.Marshal.
func MarshalIndent(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)

	if err := e.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
