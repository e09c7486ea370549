// Package jsonx writes JSON with <, > and & as they are: nothing here ends up in HTML, and people
// read URLs and answers. It also counts the elements of JSON before that is decoded.
//
//	jsonx.go     JSON without HTML escapes
//	elements.go  the number of elements, and its bounds
package jsonx

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
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
	err := encode(&b, v, indent)
	if err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// MarshalToString is Marshal for a value that is certain to be valid. It returns a string, because
// JSON may be large: converting the result of Marshal would copy it.
func MarshalToString(v any) string {
	var b strings.Builder
	_ = encode(&b, v, "")
	return strings.TrimSuffix(b.String(), "\n")
}

// encode writes the JSON of MarshalIndent with a line feed at its end.
func encode(w io.Writer, v any, indent string) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", indent)
	return e.Encode(v)
}
