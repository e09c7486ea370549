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
	maxMessage    = 64 << 20 // bytes of one message
	maxLine       = 64 << 10 // bytes of a header, and of a line that is no object or array
	bufferSize    = maxLine  // bytes: a line must fit
	maxLengthLine = 64       // bytes of the longest Content-Length header that resync finds
)

// parseError says why a part of the input is not a message. The next Read continues after that
// part. The client gets the text.
type parseError string

func (e parseError) Error() string {
	return string(e)
}

const errNotJSON parseError = "not JSON"

// Frame is one JSON value of the input. The JSON is valid, but need not be a message of JSON-RPC.
type Frame struct {
	Body      []byte
	HasHeader bool // Body follows a header; otherwise it is on a line of its own
}

// Reader splits a byte stream into messages. Each is either framed by a Content-Length header or on
// a line of its own (spec §2).
type Reader struct {
	in  *bufio.Reader
	log *slog.Logger // Transport.Connect replaces that of NewReader, which discards all

	// After a parseError, the next Read skips this many bytes, or the rest of the line. They are
	// not skipped before Read returns the error, because they may arrive late.
	skipBytes int
	skipsLine bool
}

// unknownLength stands for the length of a body without a valid Content-Length.
const unknownLength = -1

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{
		in:  bufio.NewReaderSize(in, bufferSize),
		log: slog.New(slog.DiscardHandler),
	}
}

// Read waits for the next value. The error is that of the input, io.EOF at its end, or a
// parseError. A parseError is about a part that is not a message; the next Read goes on behind this
// part.
func (r *Reader) Read() (Frame, error) {
	r.resync()
	first, _, err := r.skipSpace()
	if err != nil {
		return Frame{}, err
	}

	if opensContainer(first) {
		body, err := r.readValue(maxMessage, unknownLength, true)
		return Frame{Body: body}, err
	}

	line := r.peekLine(maxLine)
	if firstHeader.Match(line) {
		return r.readFramed()
	}
	if !json.Valid(line) {
		r.skipsLine = true
		return Frame{}, errNotJSON
	}
	body := bytes.Clone(bytes.TrimSpace(line))
	r.discard(len(line))
	return Frame{Body: body}, nil
}

// opensContainer reports whether a JSON object or array begins with first.
func opensContainer(first rune) bool {
	return first == '{' || first == '['
}

var (
	headerLine = regexp.MustCompile(`^[\w-]+:[^{\n]*\n$`)
	// firstHeader matches a header line that ends with \r\n or has a hyphen in its name. So it does
	// not match a line of a log, such as "warning: x".
	firstHeader = regexp.MustCompile(`^([\w-]+:[^{\n]*\r|\w*-[\w-]*:[^{\n]*)\n$`)
	// lengthLine never matches inside JSON, whose strings have no line ends.
	lengthLine = regexp.MustCompile(`(?i)^content-length:[ \t]*\d+[ \t]*\r?\n$`)
)

// readFramed reads headers and the value after them. The value ends where its JSON ends, even if
// the declared length differs: some clients declare wrong lengths. If the body is not JSON, a valid
// length says where it ends.
func (r *Reader) readFramed() (Frame, error) {
	size := 0
	declared := false
	length := unknownLength // the last Content-Length, if it is valid
	line := r.peekLine(maxLine)
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
		line = r.peekLine(maxLine)
	}

	r.log.Debug("header", "headerEnd", size)

	// Some clients omit the empty line after a Content-Length, so it is required only without one.
	isEmpty := len(bytes.TrimSpace(line)) == 0
	if !declared && !isEmpty {
		return Frame{}, parseError("header without a body") // line may be a message
	}

	if isEmpty { // what follows the empty line counts for the length
		r.discard(len(line))
	}
	limit := maxMessage
	// After an error of the input, readValue finds no JSON, and the next Read returns the error.
	first, skipped, _ := r.skipSpace()
	if skipped < length { // else the client has not counted these blanks
		length -= skipped
	}
	if !opensContainer(first) && length > 0 {
		limit = length // only the length says where a scalar such as a number ends
	}
	body, err := r.readValue(limit, length, false)
	return Frame{
		Body:      body,
		HasHeader: true,
	}, err
}

// discard consumes n bytes that are in the buffer.
func (r *Reader) discard(n int) {
	_, _ = r.in.Discard(n)
}

// readValue reads one JSON value of at most limit bytes. If endsWithLine is set, the value ends
// with its line at the latest. If the value is not JSON, the next Read continues length bytes after
// the start of the value, or after its line if length is unknownLength. The decoder reads through a
// peekReader, so the bytes of the value are still in the buffer, except the first in.discarded.
func (r *Reader) readValue(limit, length int, endsWithLine bool) ([]byte, error) {
	in := &peekReader{
		in:           r.in,
		endsWithLine: endsWithLine,
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
	if !r.skipsLine {
		r.skipBytes = max(0, length-in.discarded)
	}
	if limit == maxMessage && limited.N == 0 {
		return nil, parseError("message larger than 64 MiB")
	}
	return nil, errNotJSON
}

// peekReader reads from in without consuming it, because what follows a value, or is not JSON, may
// be the next message. It consumes only the first parts of a value that is larger than the buffer.
type peekReader struct {
	in           *bufio.Reader
	endsWithLine bool // stop before a line feed
	peeked       int  // bytes returned by Read that are still in the buffer of in
	discarded    int  // bytes returned by Read that have left the buffer
}

// Read returns the next bytes. The decoder calls Read when it has used all earlier bytes, so that
// these may be discarded.
func (r *peekReader) Read(p []byte) (int, error) {
	// Half of the buffer stays: if the value is not JSON, resync looks there for a header, which
	// may begin in what the decoder has taken for a string.
	if r.peeked == bufferSize {
		n, _ := r.in.Discard(bufferSize / 2)
		r.discarded += n
		r.peeked -= n
	}

	if _, err := r.in.Peek(r.peeked + 1); err != nil {
		return 0, err
	}
	buffered, _ := r.in.Peek(r.in.Buffered())
	n := copy(p, buffered[r.peeked:])

	if end := bytes.IndexByte(p[:n], '\n'); end >= 0 && r.endsWithLine {
		r.peeked += end
		return end, io.EOF
	}
	r.peeked += n
	return n, nil
}

// skipSpace consumes white space and byte order marks, skipped bytes. It returns the character that
// follows them, which it does not consume.
func (r *Reader) skipSpace() (first rune, skipped int, err error) {
	for {
		first, size, err := r.in.ReadRune()
		if err != nil {
			return 0, skipped, err
		}
		if !strings.ContainsRune(" \t\r\n\ufeff", first) {
			return first, skipped, r.in.UnreadRune()
		}
		skipped += size
	}
}

// peekLine returns the next line with its end, or what is left of the input, without consuming it.
// It returns at most limit bytes. Of a line that begins with { or [ it returns only that character,
// without waiting for more.
func (r *Reader) peekLine(limit int) []byte {
	for n := 1; ; n++ {
		b, err := r.in.Peek(n)
		if err != nil || n == limit {
			return b
		}
		if b[n-1] == '\n' || opensContainer(rune(b[0])) {
			return b
		}
	}
}

// resync skips the input that the last parseError was about, but stops before a Content-Length
// header.
func (r *Reader) resync() {
	for skipped := 0; r.skipsLine || skipped < r.skipBytes; skipped++ {
		first, _ := r.in.Peek(1)
		header := bytes.EqualFold(first, []byte("c")) && lengthLine.Match(r.peekLine(maxLengthLine))
		if header {
			break
		}

		b, err := r.in.ReadByte()
		if err != nil || r.skipsLine && b == '\n' {
			break
		}
	}
	r.skipBytes = 0
	r.skipsLine = false
}

// WriteFrame writes a message with one call of w.Write: framed by a Content-Length header, or
// followed by a line feed.
func WriteFrame(w io.Writer, body []byte, withHeader bool) error {
	header := ""
	end := "\n"
	if withHeader {
		header = fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body))
		end = ""
	}
	_, err := w.Write(slices.Concat([]byte(header), body, []byte(end)))
	return err
}
