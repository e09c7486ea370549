package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

const (
	maxMessage = 64 << 20 // bytes of one message
	maxLine    = 64 << 10 // bytes of a header, or of a line that is not an object
)

// parseError says why a part of the input is not a message. Reading continues
// after that part. The text is sent to the client.
type parseError string

func (e parseError) Error() string { return string(e) }

const (
	errNotJSON parseError = "not JSON"
	errHeader  parseError = "header without a body"
	errTooLong parseError = "message larger than 64 MiB"
)

// Frame is one JSON value of the input. The JSON is valid; what it means is
// not checked.
type Frame struct {
	Body   []byte
	Framed bool // it follows a header; otherwise it is on a line of its own
}

// Reader splits a byte stream into messages. Each is either framed by a
// Content-Length header or on a line of its own (spec §2.1).
type Reader struct {
	src io.Reader
	in  *bufio.Reader // of src
	log *slog.Logger

	// skip is the number of bytes to skip after a parse error, or restOfLine.
	// The next Read skips them, so that the error is returned before more input
	// arrives.
	skip int
}

const restOfLine = -1

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{src: in, in: bufio.NewReaderSize(in, maxLine), log: slog.New(slog.DiscardHandler)}
}

// Read waits for the next message. Its error is that of the input, io.EOF at
// its end, or says that a part of the input is not a message. In that case the
// next Read returns what follows that part.
func (r *Reader) Read() (Frame, error) {
	r.resync()
	b, err := r.start()
	if err != nil {
		return Frame{}, err
	}
	if b == '{' || b == '[' {
		body, err := r.value(maxMessage, restOfLine, true)
		return Frame{Body: body}, err
	}
	line := r.line()
	// "warning: x" is a log line, unless it ends in \r\n or its name has a hyphen.
	if m := header.FindSubmatch(line); m != nil && (bytes.HasSuffix(line, []byte("\r\n")) || bytes.Contains(m[1], []byte("-"))) {
		return r.framed()
	}
	if !json.Valid(line) {
		_, _ = r.in.Discard(1) // in case it looks like a header, where resync stops
		r.skip = restOfLine
		return Frame{}, errNotJSON
	}
	body := bytes.Clone(bytes.TrimSpace(line))
	_, _ = r.in.Discard(len(line))
	return Frame{Body: body}, nil
}

var header = regexp.MustCompile(`^([\w-]+):[ \t]*([^{\n]*?)[ \t]*\r?\n$`)

// framed reads a header block and the value after it. The value ends where its
// JSON ends, even if the length differs: clients declare wrong lengths. If the
// body is not JSON, a valid length says where it ends.
func (r *Reader) framed() (Frame, error) {
	size, length, known := 0, restOfLine, false
	line := r.line()
	for m := header.FindSubmatch(line); m != nil; m = header.FindSubmatch(line) {
		if bytes.EqualFold(m[1], []byte("Content-Length")) {
			n, err := strconv.Atoi(string(m[2]))
			if known, length = true, n; err != nil || n < 0 || n > maxMessage {
				length = restOfLine
			}
		}
		size += len(line)
		_, _ = r.in.Discard(len(line))
		line = r.line()
	}
	// Some clients omit the empty line.
	if !known && len(bytes.TrimSpace(line)) > 0 {
		return Frame{}, errHeader // the line may be the next message
	}
	r.log.Debug("header", "headerEnd", size, "length", length)
	limit := maxMessage
	if b, _ := r.start(); b != '{' && b != '[' && length > 0 {
		limit = length // only the length shows where a number ends
	}
	body, err := r.value(limit, length, false)
	return Frame{Body: body, Framed: true}, err
}

// value reads one JSON value of at most limit bytes. If inLine is set, the value
// ends with its line at the latest. If it is not JSON, the input continues
// length bytes after its start, or after its line.
func (r *Reader) value(limit, length int, inLine bool) ([]byte, error) {
	s := &single{in: r.in, left: limit, inLine: inLine}
	dec := json.NewDecoder(s)
	var body json.RawMessage
	err := dec.Decode(&body)
	if err == nil {
		return body, nil
	}
	// Put everything back. The next Read skips it.
	r.skip = length
	next, _ := r.in.Peek(r.in.Buffered())
	r.src = io.MultiReader(dec.Buffered(), bytes.NewReader(bytes.Clone(next)), r.src)
	r.in.Reset(r.src)
	if s.left == 0 && limit == maxMessage {
		return nil, errTooLong
	}
	return nil, errNotJSON
}

// single returns one byte at a time, so that a decoder reads nothing behind a
// value.
type single struct {
	in     *bufio.Reader
	left   int  // bytes that may be read
	inLine bool // stop before a line feed
}

func (s *single) Read(p []byte) (int, error) {
	if s.left == 0 {
		return 0, io.EOF
	}
	b, err := s.in.ReadByte()
	if err != nil {
		return 0, err
	}
	if s.inLine && b == '\n' {
		_ = s.in.UnreadByte()
		return 0, io.EOF
	}
	p[0] = b
	s.left--
	return 1, nil
}

// start skips white space and byte order marks and returns the first byte of
// the next message.
func (r *Reader) start() (byte, error) {
	for {
		b, err := r.in.Peek(1)
		switch {
		case err != nil:
			return 0, err
		case strings.IndexByte(" \t\r\n", b[0]) >= 0:
			_, _ = r.in.Discard(1)
		case b[0] == 0xef && r.has("\ufeff"):
			_, _ = r.in.Discard(len("\ufeff"))
		default:
			return b[0], nil
		}
	}
}

// line returns the next line with its end, or what is left of the input, without
// consuming it. A line that is too long is cut. A line that begins with { or [
// is returned at once.
func (r *Reader) line() []byte {
	for n := 1; ; n++ {
		b, err := r.in.Peek(n)
		if err != nil || b[n-1] == '\n' || b[0] == '{' || b[0] == '[' {
			return b
		}
	}
}

// resync skips input that is not a message, but not past a Content-Length
// header.
func (r *Reader) resync() {
	for ; r.skip != 0; r.skip = max(r.skip-1, restOfLine) {
		b, err := r.in.Peek(1)
		if err != nil || b[0]|' ' == 'c' && r.has("Content-Length:") {
			break
		}
		_, _ = r.in.Discard(1)
		if b[0] == '\n' && r.skip == restOfLine {
			break
		}
	}
	r.skip = 0
}

// has reports whether the input continues with s, in upper or lower case.
func (r *Reader) has(s string) bool {
	b, _ := r.in.Peek(len(s))
	return strings.EqualFold(string(b), s)
}

// Write writes a message in one call of w.Write, with a Content-Length header
// or followed by a line feed.
func Write(w io.Writer, body []byte, framed bool) error {
	if framed {
		body = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body)
	} else {
		body = slices.Concat(body, []byte("\n"))
	}
	_, err := w.Write(body)
	return err
}
