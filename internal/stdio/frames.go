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

// parseError says why a part of the input is not a message. Reading continues
// after that part. The text is sent to the client.
type parseError string

func (e parseError) Error() string { return string(e) }

const errNotJSON parseError = "not JSON"

// Frame is one JSON value of the input. The JSON is valid; what it means is not checked.
type Frame struct {
	Body   []byte
	Framed bool // it follows a header; otherwise it is on a line of its own
}

// Reader splits a byte stream into messages. Each is either framed by a
// Content-Length header or on a line of its own (spec §2.1).
type Reader struct {
	in  *bufio.Reader
	log *slog.Logger

	// skip is the number of bytes to skip after a parse error, or restOfLine. The next Read skips
	// them, so that the error is returned before more input arrives.
	skip int
}

const restOfLine = -1

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: bufio.NewReaderSize(in, maxLine), log: slog.New(slog.DiscardHandler)}
}

// Read waits for the next message. Its error is that of the input, io.EOF at its end, or says that
// a part of the input is not a message. In that case the next Read returns what follows that part.
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
	line := r.line(maxLine)
	// "warning: x" is a log line, unless it ends in \r\n or its name has a hyphen.
	if m := header.FindSubmatch(line); m != nil && (bytes.HasSuffix(line, []byte("\r\n")) || bytes.Contains(m[1], []byte("-"))) {
		return r.framed()
	}
	if !json.Valid(line) {
		r.skip = restOfLine
		return Frame{}, errNotJSON
	}
	body := bytes.Clone(bytes.TrimSpace(line))
	_, _ = r.in.Discard(len(line))
	return Frame{Body: body}, nil
}

var (
	header = regexp.MustCompile(`^([\w-]+):[ \t]*([^{\n]*?)[ \t]*\r?\n$`)
	// contentLength never occurs inside JSON: its strings have no line ends.
	contentLength = regexp.MustCompile(`(?i)^content-length:[ \t]*\d+[ \t]*\r?\n$`)
)

// framed reads a header block and the value after it. The value ends where its
// JSON ends, even if the length differs: clients declare wrong lengths. If the
// body is not JSON, a valid length says where it ends.
func (r *Reader) framed() (Frame, error) {
	size, length, known := 0, restOfLine, false
	line := r.line(maxLine)
	for m := header.FindSubmatch(line); m != nil; m = header.FindSubmatch(line) {
		if bytes.EqualFold(m[1], []byte("Content-Length")) {
			n, err := strconv.Atoi(string(m[2]))
			if err != nil || n < 0 || n > maxMessage {
				n = restOfLine
			}
			length, known = n, true
		}
		size += len(line)
		_, _ = r.in.Discard(len(line))
		line = r.line(maxLine)
	}
	// Some clients omit the empty line.
	if !known && len(bytes.TrimSpace(line)) > 0 {
		return Frame{}, parseError("header without a body") // the line may be the next message
	}
	r.log.Debug("header", "headerEnd", size, "length", length)
	limit := maxMessage
	b, _ := r.start() // the value reports the error
	if b != '{' && b != '[' && length > 0 {
		limit = length // only the length shows where a number ends
	}
	body, err := r.value(limit, length, false)
	return Frame{Body: body, Framed: true}, err
}

// value reads one JSON value of at most limit bytes. If inLine is set, the value
// ends with its line at the latest. If it is not JSON, the input continues
// length bytes after its start, or after its line.
func (r *Reader) value(limit, length int, inLine bool) ([]byte, error) {
	in := &peekReader{in: r.in, limit: limit, inLine: inLine}
	dec := json.NewDecoder(in)
	var body json.RawMessage
	err := dec.Decode(&body)
	if err == nil {
		_, _ = r.in.Discard(int(dec.InputOffset()) - in.discarded)
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

// peekReader reads what is in the buffer without consuming it: what follows a
// value, or is not JSON, may be the next message. Only a value that is larger than
// the buffer is consumed, up to its last part.
type peekReader struct {
	in        *bufio.Reader
	limit     int  // bytes that may be read
	inLine    bool // stop before a line feed
	read      int
	discarded int // of the bytes read
}

// Read is called when the decoder has seen all that was read.
func (r *peekReader) Read(p []byte) (int, error) {
	if r.read-r.discarded == maxLine {
		n, _ := r.in.Discard(maxLine / 2)
		r.discarded += n
	}
	at := r.read - r.discarded
	if r.read == r.limit {
		return 0, io.EOF
	}
	if _, err := r.in.Peek(at + 1); err != nil {
		return 0, err
	}
	buffered, _ := r.in.Peek(r.in.Buffered())
	n := copy(p[:min(len(p), r.limit-r.read)], buffered[at:])
	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 && r.inLine {
		r.read += end
		return end, io.EOF
	}
	r.read += n
	return n, nil
}

// start skips white space and byte order marks and returns the first byte of the next message.
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

// line returns the next line with its end, or what is left of the input, without consuming it. It
// is cut after limit bytes. A line that begins with { or [ is returned at once.
func (r *Reader) line(limit int) []byte {
	for n := 1; ; n++ {
		b, err := r.in.Peek(n)
		if err != nil || n == limit || b[n-1] == '\n' || b[0] == '{' || b[0] == '[' {
			return b
		}
	}
}

// resync skips input that is not a message, but not past a Content-Length header.
func (r *Reader) resync() {
	for ; r.skip != 0; r.skip = max(r.skip-1, restOfLine) {
		if r.has("content-length:") && contentLength.Match(r.line(maxLength)) {
			break
		}
		b, err := r.in.ReadByte()
		if err != nil || b == '\n' && r.skip == restOfLine {
			break
		}
	}
	r.skip = 0
}

// has reports whether the input continues with s, which is in lower case, in
// upper or lower case. It waits only for as many bytes as it takes to see that.
func (r *Reader) has(s string) bool {
	for n := 1; n <= len(s); n++ {
		b, err := r.in.Peek(n)
		if err != nil || unicode.ToLower(rune(b[n-1])) != rune(s[n-1]) {
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
