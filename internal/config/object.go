package config

import (
	"bytes"
	"encoding/json"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// object is a JSON object that keeps its order. The zero value is {}.
type object []member

type member struct {
	name  string
	value any
}

// MarshalJSON writes the members in order.
func (o object) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, m := range o {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := unescaped.JSON(m.name)
		if err != nil {
			return nil, err
		}
		value, err := unescaped.JSON(m.value)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

// indented writes o for a person, with a line feed at the end.
func (o object) indented() []byte {
	data, err := unescaped.JSON(o)
	if err != nil {
		// The values are those of this package: strings, numbers that are
		// finite, and what was checked to be JSON when it was read.
		panic(err)
	}
	var b bytes.Buffer
	if err := json.Indent(&b, data, "", "  "); err != nil {
		panic(err)
	}
	b.WriteByte('\n')
	return b.Bytes()
}
