package llm

import (
	"bytes"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// object is a JSON object whose fields are looked at one by one: a field that
// is missing, null or of another type reads as the zero value, and no field
// spoils the others. A nil object has no fields.
//
// The fields are parts of the bytes that the object was read from, and valid
// JSON: what is inside of them is not checked again. They are a list because most
// objects of an answer have few of them and are read once: maps were half of what
// reading an answer allocated.
type object []field

type field struct {
	name  []byte
	value json.RawMessage
}

// get returns the value of a field, nil when there is none. Of several with one
// name the last counts.
func (o object) get(name string) json.RawMessage {
	for _, f := range slices.Backward(o) {
		if string(f.name) == name {
			return f.value
		}
	}
	return nil
}

// with returns o with one more field, which counts before one of that name.
func (o object) with(name string, value json.RawMessage) object {
	return append(slices.Clip(o), field{[]byte(name), value})
}

// MarshalJSON returns the object with its fields sorted by name, once each.
func (o object) MarshalJSON() ([]byte, error) {
	fields := make(map[string]json.RawMessage, len(o))
	for _, f := range o {
		fields[string(f.name)] = f.value
	}
	return unescaped.JSON(fields)
}

// parseObject returns nil when data is no object.
func parseObject(data json.RawMessage) object {
	if !valid(data) {
		return nil
	}
	return objectOf(data)
}

// parseList returns nil when data is no array.
func parseList(data json.RawMessage) []json.RawMessage {
	if !valid(data) {
		return nil
	}
	return listOf(data)
}

func (o object) object(key string) object { return objectOf(o.get(key)) }

func (o object) list(key string) []json.RawMessage { return listOf(o.get(key)) }

// objects returns the entries of a list that are objects.
func (o object) objects(key string) []object {
	var out []object
	for _, data := range o.list(key) {
		if e := objectOf(data); e != nil {
			out = append(out, e)
		}
	}
	return out
}

// str returns a string, "" for anything else.
func (o object) str(key string) string {
	s, _ := stringOf(o.get(key))
	return s
}

// text returns a string, or anything else but null as its JSON: an error code
// may be a number, tool input an object.
func (o object) text(key string) string {
	s, ok := stringOf(o.get(key))
	if !ok && !bytes.Equal(o.get(key), []byte("null")) {
		return string(o.get(key))
	}
	return s
}

// strs returns the entries of a list that are strings.
func (o object) strs(key string) []string {
	var out []string
	for _, data := range o.list(key) {
		if s, ok := stringOf(data); ok {
			out = append(out, s)
		}
	}
	return out
}

// integer returns a whole number, also one written as 12.0 or 1.2e1.
func (o object) integer(key string) int64 {
	text := string(o.get(key))
	if i, err := strconv.ParseInt(text, 10, 64); err == nil {
		return i
	}
	f, err := strconv.ParseFloat(text, 64) // fails for what is no number
	if err != nil || math.Abs(f) >= math.MaxInt64 {
		return 0
	}
	return int64(f)
}

// stringOf returns the string that data is, false when it is anything else. Most
// stand for themselves between their quotes.
func stringOf(data json.RawMessage) (s string, ok bool) {
	if len(data) < 2 || data[0] != '"' {
		return "", false
	}
	if in := data[1 : len(data)-1]; plain(in) {
		return string(in), true
	}
	ok = unquote(data, &s)
	return s, ok
}

// plain reports that what stands between two quotes stands for itself.
func plain(in []byte) bool { return bytes.IndexByte(in, '\\') < 0 && utf8.Valid(in) }
