package stdio

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"regexp"
	"strconv"
	"strings"
)

const (
	maxMessage    = 64 << 20 // bytes of one message
	maxLine       = 64 << 10 // bytes of a header, or of a line that is not an object
	maxLengthLine = 64       // bytes of the longest line that resync takes for a Content-Length header
)

// parseError says why a part of the input is not a message. Reading continues after that part. The
// text is sent to the client.
type parseError string

func (e parseError) Error() string {
	return string(e)
}

const errNotJSON parseError = "not JSON"

// Frame is one JSON value of the input. The JSON is valid; what it means is not checked.
type Frame struct {
	Body   []byte
	Framed bool // it follows a header; otherwise it is on a line of its own
}

// Reader splits a byte stream into messages. Each is either framed by a Content-Length header or on
// a line of its own (spec §2).
type Reader struct {
	in  *bufio.Reader
	log *slog.Logger

	// After a parse error the next Read skips skip bytes, or the rest of the line. The error is
	// returned before, because more input may arrive late.
	skip      int
	skipsLine bool
}

// unknownLength is the length of a body that ends with its line.
const unknownLength = -1

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{
		in:  bufio.NewReaderSize(in, maxLine),
		log: slog.New(slog.DiscardHandler),
	}
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
		body, err := r.value(maxMessage, unknownLength, true)
		return Frame{Body: body}, err
	}

	line := r.line(maxLine)
	if firstHeader.Match(line) {
		return r.framed()
	}
	if !json.Valid(line) {
		r.skipsLine = true
		return Frame{}, errNotJSON
	}
	body := bytes.Clone(bytes.TrimSpace(line))
	r.discard(len(line))
	return Frame{Body: body}, nil
}

// opensValue reports whether a JSON object or array begins with first.
func opensValue(first rune) bool {
	return first == '{' || first == '['
}

var (
	headerLine = regexp.MustCompile(`^[\w-]+:[^{\n]*\n$`)
	// firstHeader does not match a line of a log, such as "warning: x", which has neither \r\n nor
	// a hyphen in its name.
	firstHeader = regexp.MustCompile(`^([\w-]+:[^{\n]*\r|\w*-[\w-]*:[^{\n]*)\n$`)
	// lengthLine never matches inside JSON: its strings have no line ends.
	lengthLine = regexp.MustCompile(`(?i)^content-length:[ \t]*\d+[ \t]*\r?\n$`)
)

// framed reads headers and the value after them. The value ends where its JSON ends, even if the
// length differs: clients declare wrong lengths. If the body is not JSON, a valid length says where
// it ends.
func (r *Reader) framed() (Frame, error) {
	size := 0
	declared := false
	length := unknownLength // unless the last one is valid
	line := r.line(maxLine)
	for headerLine.Match(line) {
		name, value, _ := strings.Cut(string(line), ":")
		if strings.EqualFold(name, "Content-Length") {
			n, err := strconv.Atoi(strings.TrimSpace(value))
			declared = true
			length = unknownLength
			if err == nil && n >= 0 && n <= maxMessage {
				length = n
			}
		}

		size += len(line)
		r.discard(len(line))
		line = r.line(maxLine)
	}

	r.log.Debug("header", "headerEnd", size)

	// Some clients omit the empty line after a length.
	if !declared && len(bytes.TrimSpace(line)) > 0 {
		return Frame{}, parseError("header without a body") // line may be a message
	}

	limit := maxMessage
	first, _ := r.start() // the value reports the error
	if !opensValue(first) && length > 0 {
		limit = length // only the length shows where a number ends
	}
	body, err := r.value(limit, length, false)
	return Frame{
		Body:   body,
		Framed: true,
	}, err
}

// discard consumes n bytes that are in the buffer.
func (r *Reader) discard(n int) {
	_, _ = r.in.Discard(n)
}

// value reads one JSON value of at most limit bytes. If inLine is set, the value ends with its line
// at the latest. If it is not JSON, the input continues length bytes after its start, or after its
// line if length is unknownLength.
func (r *Reader) value(limit, length int, inLine bool) ([]byte, error) {
	in := &peekReader{
		in:     r.in,
		inLine: inLine,
	}
	limited := &io.LimitedReader{
		R: in,
		N: int64(limit),
	}
	dec := json.NewDecoder(limited)
	var body json.RawMessage
	err := dec.Decode(&body)
	if err == nil {
		r.discard(int(dec.InputOffset()) - in.discarded)
		return body, nil
	}

	r.skipsLine = length == unknownLength
	r.skip = max(0, length-in.discarded)
	if limit == maxMessage && limited.N == 0 {
		return nil, parseError("message larger than 64 MiB")
	}
	return nil, errNotJSON
}

// peekReader reads what is in the buffer without consuming it: what follows a value, or is not
// JSON, may be the next message. Only a value that is larger than the buffer is consumed, up to its
// last part.
type peekReader struct {
	in        *bufio.Reader
	inLine    bool // stop before a line feed
	seen      int  // bytes read that are still in the buffer
	discarded int  // bytes read that are not
}

// Read is called when the decoder has seen all that was read.
func (r *peekReader) Read(p []byte) (int, error) {
	if r.seen == maxLine { // the buffer is full
		n, _ := r.in.Discard(maxLine / 2)
		r.discarded += n
		r.seen -= n
	}

	if _, err := r.in.Peek(r.seen + 1); err != nil {
		return 0, err
	}
	buffered, _ := r.in.Peek(r.in.Buffered())
	n := copy(p, buffered[r.seen:])

	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 && r.inLine {
		r.seen += end
		return end, io.EOF
	}
	r.seen += n
	return n, nil
}

// start skips white space and byte order marks and returns the first character of the next message.
func (r *Reader) start() (rune, error) {
	for {
		first, _, err := r.in.ReadRune()
		if err != nil {
			return 0, err
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", first) {
			return first, r.in.UnreadRune()
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
		if b[n-1] == '\n' || opensValue(rune(b[0])) {
			return b
		}
	}
}

// resync skips input that is not a message, but not past a Content-Length header.
func (r *Reader) resync() {
	for ; r.skip > 0 || r.skipsLine; r.skip-- {
		first, _ := r.in.Peek(1)
		header := bytes.EqualFold(first, []byte("c")) && lengthLine.Match(r.line(maxLengthLine))
		if header {
			break
		}

		b, err := r.in.ReadByte()
		if err != nil || r.skipsLine && b == '\n' {
			break
		}
	}
	r.skip = 0
	r.skipsLine = false
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
