package llm

import (
	"bytes"
	stdjson "encoding/json"

	"github.com/segmentio/encoding/json"
)

// The JSON of an answer is checked with the library that the MCP SDK reads with:
// encoding/json takes four times as long, and that was a tenth of the processor
// time of a call.

// deepest is how deep encoding/json lets values stand in each other.
const deepest = 10000

// valid is Valid of encoding/json. The library has no bound on the depth, so what
// could be too deep is left to the one that has.
func valid(data []byte) bool {
	if bytes.Count(data, []byte("["))+bytes.Count(data, []byte("{")) > deepest {
		return stdjson.Valid(data)
	}
	return json.Valid(data)
}

// unquote reads a JSON string into s, which stays as it is when data is none.
func unquote(data []byte, s *string) bool {
	var text string
	if len(data) == 0 || data[0] != '"' || json.Unmarshal(data, &text) != nil {
		return false
	}
	*s = text
	return true
}
