package wire

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Message is one message that the server wrote.
type Message struct {
	Framing string // "framed" or "line"
	JSON    string // its text; behind a frame it may end in a line end
	ID      string // the JSON text of its id; "" for a notification
	Method  string // of a notification; "" for an answer
}

// Frame is a body as spec §2.1 frames it.
func Frame(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// Read reads the next message. It takes nothing but the two framings and
// JSON-RPC: whatever else comes is an error, with what was read in the Message.
// io.EOF, and an empty Message, is the end.
func Read(r *bufio.Reader) (Message, error) {
	line, err := r.ReadString('\n')
	if errors.Is(err, io.EOF) && line == "" {
		return Message{}, io.EOF
	}
	if err != nil {
		return Message{JSON: line}, fmt.Errorf("stdout ends within %q: %w", line, within(err))
	}
	m := Message{Framing: "line", JSON: line[:len(line)-1]}
	if length, ok := strings.CutPrefix(line, "Content-Length: "); ok {
		if m, err = readBody(r, length); err != nil {
			return m, err
		}
	}
	var envelope struct {
		Version string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  string          `json:"method"`
	}
	if err := json.Unmarshal([]byte(m.JSON), &envelope); err != nil {
		return m, fmt.Errorf("stdout holds %q: %w", m.JSON, err)
	}
	if envelope.Version != "2.0" {
		return m, fmt.Errorf("stdout holds %q, which is no JSON-RPC", m.JSON)
	}
	m.ID, m.Method = string(envelope.ID), envelope.Method
	return m, nil
}

// within is err for an end that came too early: io.EOF is for the one in time.
func within(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// readBody reads what follows a header whose value, up to the line end, is length.
func readBody(r *bufio.Reader, length string) (Message, error) {
	m := Message{Framing: "framed"}
	digits, crlf := strings.CutSuffix(length, "\r\n")
	n, err := strconv.Atoi(digits)
	if err != nil || !crlf || n <= 0 || strconv.Itoa(n) != digits {
		return m, fmt.Errorf("a header says %q", "Content-Length: "+length)
	}
	blank, err := r.ReadString('\n')
	if err != nil || blank != "\r\n" {
		return m, fmt.Errorf("the header is followed by %q (%v)", blank, err)
	}
	body := make([]byte, n)
	_, err = io.ReadFull(r, body)
	if m.JSON = string(body); err != nil {
		return m, fmt.Errorf("reading a body of %d bytes: %w", n, within(err))
	}
	return m, nil
}
