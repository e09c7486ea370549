package main_test

import (
	"bufio"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// message is one message that the program wrote.
type message struct {
	framing string // "framed" or "line"
	raw     string // its JSON text
	id      string // the JSON text of its id; "" for a notification
}

// String is a message as scripts see it: one line. The frame of an answer to
// something that came before any message holds a line end as well.
func (m message) String() string { return m.framing + " " + strings.TrimRight(m.raw, "\n") }

// frame is a message as spec §2.1 frames it.
func frame(body string) string { return wire.Frame(body) }

// readMessage reads the next message, strictly. io.EOF is the end.
func readMessage(r *bufio.Reader) (message, error) {
	m, err := wire.Read(r)
	return message{framing: m.Framing, raw: m.JSON, id: m.ID}, err
}
