// Package jsonx writes JSON with <, > and & as they are: nothing here ends up in HTML, and people
// read URLs and answers. It also counts the elements of JSON before that is decoded.
//
//	jsonx.go     JSON without HTML escapes
//	elements.go  the number of elements, and its bounds
package jsonx

import (
	"bytes"
	"encoding/json"
)

// Marshal is json.Marshal without the escapes of <, > and &, which RFC 8259 section 7 does not
// require.
func Marshal(v any) ([]byte, error) {
	return MarshalIndent(v, "")
}

// MarshalIndent is Marshal with a line for each value, indented by indent for each level. With ""
// the JSON is one line. It has no line feed at its end. The error is that of json.Marshal.
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
