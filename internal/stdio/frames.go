package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
	"unicode"
)

const (
	maxMessage = 64 << 20 // bytes of one message
	maxLine    = 64 << 10 // bytes of a header, or of a line that is not an object
	maxLength  = 64       // bytes of a Content-Length header that ends a parse error
)

// parseError says why a part of the input is not a message. Reading continues after that part. The
// text is sent to the client.
type parseError string

func (e parseError) Error() string { return string(e) }

const errNotJSON parseError = "not JSON"

// Frame is one JSON value of the input. The JSON is valid; what it means is not checked.
type Frame struct {
	Body   []byte
	Framed bool // it follows a header; otherwise it is on a line of its own
}

// Reader splits a byte stream into messages. Each is either framed by a Content-Length header or on
// a line of its own (spec §2.1).
type Reader struct {
	in  *bufio.Reader
	log *slog.Logger

	// skip is the number of bytes to skip after a parse error, or restOfLine. The next Read skips
	// them, so that the error is returned before more input arrives.
	skip int
}

// restOfLine is a number of bytes that only the input tells: those up to the end of the line.
const restOfLine = -1

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, maxLine), log: slog.New(slog.DiscardHandler)}
}

// Read waits for the next message. Its error is that of the input, io.EOF at its end, or says that
// a part of the input is not a message. In that case the next Read returns what follows that part.
func (r *Reader) Read() (Frame, error) {
	r.resync()
	first, err := r.start()
	if err != nil {
		return Frame{}, err
	}

	if opensValue(first) {
		body, err := r.value(maxMessage, restOfLine, true)
		return Frame{Body: body}, err
	}

	line := r.line(maxLine)
	if startsHeaders(line) {
		return r.framed()
	}
	if !json.Valid(line) {
		r.skip = restOfLine
		return Frame{}, errNotJSON
	}
	body := bytes.Clone(bytes.TrimSpace(line))
	r.discard(len(line))
	return Frame{Body: body}, nil
}

// opensValue reports whether a JSON object or array begins with b.
func opensValue(b byte) bool { return b == '{' || b == '[' }

var (
	headerLine = regexp.MustCompile(`^([\w-]+):[ \t]*([^{\n]*?)[ \t]*\r?\n$`)
	// lengthLine never matches inside JSON: its strings have no line ends.
	lengthLine = regexp.MustCompile(`(?i)^content-length:[ \t]*\d+[ \t]*\r?\n$`)
)

// startsHeaders reports whether line is the first header of a message. A line of a log, such as
// "warning: x", has neither \r\n nor a hyphen in its name.
func startsHeaders(line []byte) bool {
	m := headerLine.FindSubmatch(line)
	if m == nil {
		return false
	}
	return bytes.HasSuffix(line, []byte("\r\n")) || bytes.Contains(m[1], []byte("-"))
}

// framed reads headers and the value after them. The value ends where its JSON ends, even if the
// length differs: clients declare wrong lengths. If the body is not JSON, a valid length says where
// it ends.
func (r *Reader) framed() (Frame, error) {
	h := r.headers()
	next := r.line(maxLine) // the empty line, which some clients omit after a length
	if !h.hasLength && len(bytes.TrimSpace(next)) > 0 {
		return Frame{}, parseError("header without a body") // next may be a message
	}
	r.log.Debug("header", "headerEnd", h.size, "length", h.length)

	limit := maxMessage
	first, _ := r.start() // the value reports the error
	if !opensValue(first) && h.length > 0 {
		limit = h.length // only the length shows where a number ends
	}
	body, err := r.value(limit, h.length, false)
	return Frame{Body: body, Framed: true}, err
}

// headers are the headers of a message.
type headers struct {
	size      int  // bytes
	hasLength bool // there is a Content-Length, valid or not
	length    int  // that of the last Content-Length; restOfLine if it is absent or invalid
}

// headers consumes the headers of a message, without the empty line after them.
func (r *Reader) headers() headers {
	h := headers{length: restOfLine}
	for {
		line := r.line(maxLine)
		m := headerLine.FindSubmatch(line)
		if m == nil {
			return h
		}

		if bytes.EqualFold(m[1], []byte("Content-Length")) {
			h.hasLength = true
			h.length = parseLength(string(m[2]))
		}
		h.size += len(line)
		r.discard(len(line))
	}
}

// parseLength returns the value of a Content-Length, or restOfLine if it is not valid.
func parseLength(value string) int {
	n, err := strconv.Atoi(value)
	if err != nil || n < 0 || n > maxMessage {
		return restOfLine
	}
	return n
}

// discard consumes n bytes that are in the buffer.
func (r *Reader) discard(n int) { _, _ = r.in.Discard(n) }

// value reads one JSON value of at most limit bytes. If inLine is set, the value ends with its line
// at the latest. If it is not JSON, the input continues length bytes after its start, or after its
// line if length is restOfLine.
func (r *Reader) value(limit, length int, inLine bool) ([]byte, error) {
	in := &peekReader{in: r.in, limit: limit, inLine: inLine}
	dec := json.NewDecoder(in)
	var body json.RawMessage
	err := dec.Decode(&body)
	if err == nil {
		r.discard(int(dec.InputOffset()) - in.discarded)
		return body, nil
	}

	r.skip = restOfLine
	if length != restOfLine {
		r.skip = max(0, length-in.discarded)
	}
	if in.read == maxMessage && errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, parseError("message larger than 64 MiB")
	}
	return nil, errNotJSON
}

// peekReader reads what is in the buffer without consuming it: what follows a value, or is not
// JSON, may be the next message. Only a value that is larger than the buffer is consumed, up to its
// last part.
type peekReader struct {
	in        *bufio.Reader
	limit     int  // bytes that may be read
	inLine    bool // stop before a line feed
	read      int  // bytes so far; the last read-discarded of them are in the buffer
	discarded int  // of the bytes read
}

// Read is called when the decoder has seen all that was read.
func (r *peekReader) Read(p []byte) (int, error) {
	if r.read-r.discarded == maxLine { // the buffer is full
		n, _ := r.in.Discard(maxLine / 2)
		r.discarded += n
	}
	if r.read == r.limit {
		return 0, io.EOF
	}

	seen := r.read - r.discarded
	if _, err := r.in.Peek(seen + 1); err != nil {
		return 0, err
	}
	buffered, _ := r.in.Peek(r.in.Buffered())
	n := copy(p[:min(len(p), r.limit-r.read)], buffered[seen:])

	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 && r.inLine {
		r.read += end
		return end, io.EOF
	}
	r.read += n
	return n, nil
}

// start skips white space and byte order marks and returns the first byte of the next message.
func (r *Reader) start() (byte, error) {
	const mark = "\ufeff"
	for {
		b, err := r.in.Peek(1)
		if err != nil {
			return 0, err
		}

		switch {
		case strings.IndexByte(" \t\r\n", b[0]) >= 0:
			r.discard(1)
		case b[0] == mark[0] && r.has(mark):
			r.discard(len(mark))
		default:
			return b[0], nil
		}
	}
}

// line returns the next line with its end, or what is left of the input, without consuming it. It
// is cut after limit bytes. A line that begins with { or [ is returned at once.
func (r *Reader) line(limit int) []byte {
	for n := 1; ; n++ {
		b, err := r.in.Peek(n)
		if err != nil || n == limit {
			return b
		}
		if b[n-1] == '\n' || opensValue(b[0]) {
			return b
		}
	}
}

// resync skips input that is not a message, but not past a Content-Length header.
func (r *Reader) resync() {
	for r.skip != 0 {
		if r.has("content-length:") && lengthLine.Match(r.line(maxLength)) {
			break
		}

		b, err := r.in.ReadByte()
		if err != nil || b == '\n' && r.skip == restOfLine {
			break
		}
		if r.skip != restOfLine {
			r.skip--
		}
	}
	r.skip = 0
}

// has reports whether the input continues with s, which is in lower case, in upper or lower case.
// It waits only for as many bytes as it takes to see that.
func (r *Reader) has(s string) bool {
	for n := 1; n <= len(s); n++ {
		b, err := r.in.Peek(n)
		if err != nil {
			return false
		}
		if unicode.ToLower(rune(b[n-1])) != rune(s[n-1]) {
			return false
		}
	}
	return true
}

// Write writes a message in one call of w.Write, with a Content-Length header or followed by a line
// feed.
func Write(w io.Writer, body []byte, framed bool) error {
	message := fmt.Appendf(nil, "%s\n", body)
	if framed {
		message = fmt.Appendf(nil, "Content-Length: %d\r\n\r\n%s", len(body), body)
	}
	_, err := w.Write(message)
	return err
}
