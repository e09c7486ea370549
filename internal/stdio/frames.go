package stdio

import (
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
	maxHeader  = 64 << 10 // bytes of one header block
	chunk      = 32 << 10 // bytes asked of the input at a time
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
	in   io.Reader
	log  *slog.Logger
	page []byte // the destination of in.Read
	buf  []byte // read and not consumed
	off  int64  // bytes consumed so far

	// How to continue after a parse error. The next Read does it, so that the
	// error is returned before more input arrives.
	lost bool  // input has to be skipped
	end  int64 // up to this offset; 0: up to the end of the line
}

// NewReader returns a Reader of in.
func NewReader(in io.Reader) *Reader {
	return &Reader{in: in, log: slog.New(slog.DiscardHandler), page: make([]byte, chunk)}
}

// Read waits for the next message. Its error is that of the input, io.EOF at
// its end, or says that a part of the input is not a message. In that case the
// next Read returns what follows that part.
func (r *Reader) Read() (Frame, error) {
	if r.lost {
		r.resync()
	}
	b, err := r.start()
	if err != nil {
		return Frame{}, err
	}
	if b == '{' || b == '[' {
		body, err := r.value(maxMessage, true)
		if err != nil {
			r.lost, r.end = true, 0
		}
		return Frame{Body: body}, err
	}
	line, err := r.line(maxHeader)
	// "warning: x" is a log line unless it ends or is named as headers are.
	if m := header.FindSubmatch(line); m != nil && (bytes.HasSuffix(line, []byte("\r\n")) || bytes.Contains(m[1], []byte("-"))) {
		return r.framed()
	}
	if err != nil || !json.Valid(line) {
		r.drop(1) // in case it looks like a header after all
		r.lost, r.end = true, 0
		return Frame{}, errNotJSON
	}
	r.drop(len(line))
	return Frame{Body: bytes.TrimSpace(line)}, nil
}

var header = regexp.MustCompile(`^([\w-]+):\s*([^{]*?)\s*$`)

// framed reads a header block and the value after it.
func (r *Reader) framed() (Frame, error) {
	var length int64
	known := false
	for size := 0; ; {
		// The blank line may be missing (transports.md §1.8).
		if b, _ := r.at(0); known && (b == '{' || b == '[') {
			return r.body(length)
		}
		line, err := r.line(maxHeader - size)
		if err != nil {
			r.drop(min(1, len(r.buf))) // not to find the same header again
			r.lost, r.end = true, 0
			return Frame{}, errHeader
		}
		size += len(line)
		if len(bytes.TrimSpace(line)) == 0 {
			r.drop(len(line))
			r.log.Debug("header", "headerEnd", size, "length", length)
			return r.body(length)
		}
		m := header.FindSubmatch(line)
		if m == nil { // perhaps the next message
			return Frame{}, errHeader
		}
		if bytes.EqualFold(m[1], []byte("Content-Length")) {
			known = true
			length, _ = strconv.ParseInt(string(m[2]), 10, 64)
		}
		r.drop(len(line))
	}
}

// body reads the value after a header. It ends where its JSON ends, even if
// length differs: clients declare wrong lengths, and so do the examples of spec
// §2.3. A length that is possible says where a body ends that is not JSON.
func (r *Reader) body(length int64) (Frame, error) {
	var end int64
	if length > 0 && length <= maxMessage {
		end = r.off + length
	}
	b, err := r.start()
	if err != nil {
		return Frame{}, errHeader // the next Read returns err
	}
	limit := maxMessage
	if b != '{' && b != '[' && end > r.off {
		limit = int(end - r.off) // only the length shows where a number ends
	}
	body, err := r.value(limit, false)
	if err != nil {
		r.lost, r.end = true, end
	}
	return Frame{Body: body, Framed: true}, err
}

// value reads one JSON value. If line is set, the value ends with its line at
// the latest. After an error nothing is consumed.
func (r *Reader) value(limit int, line bool) ([]byte, error) {
	v := &view{r: r, limit: limit, line: line}
	dec := json.NewDecoder(v)
	var body json.RawMessage
	if err := dec.Decode(&body); err != nil && v.off == maxMessage {
		return nil, errTooLong
	} else if err != nil {
		return nil, errNotJSON
	}
	r.drop(int(dec.InputOffset()))
	return body, nil
}

// view reads the input without consuming it.
type view struct {
	r     *Reader
	off   int  // bytes read
	limit int  // bytes that may be read
	line  bool // only up to the next line feed
}

func (v *view) Read(p []byte) (int, error) {
	if v.off == v.limit || v.line && v.off > 0 && v.r.buf[v.off-1] == '\n' {
		return 0, io.EOF
	}
	if _, err := v.r.at(v.off); err != nil {
		return 0, err
	}
	n := copy(p[:min(len(p), v.limit-v.off)], v.r.buf[v.off:])
	if i := bytes.IndexByte(p[:n], '\n'); v.line && i >= 0 {
		n = i + 1
	}
	v.off += n
	return n, nil
}

// start skips white space and byte order marks and returns the first byte of
// the next message.
func (r *Reader) start() (byte, error) {
	for {
		b, err := r.at(0)
		switch {
		case err != nil:
			return 0, err
		case b == ' ' || b == '\t' || b == '\r' || b == '\n':
			r.drop(1)
		case b == 0xef && r.has("\ufeff"):
			r.drop(len("\ufeff"))
		default:
			return b, nil
		}
	}
}

// line returns the next line with its end, or what is left of the input, without
// consuming it. The end has to come within limit bytes.
func (r *Reader) line(limit int) ([]byte, error) {
	for i := range limit {
		b, err := r.at(i)
		if err != nil && i > 0 {
			return r.buf, nil
		} else if err != nil {
			return nil, err
		}
		if b == '\n' {
			return r.buf[:i+1], nil
		}
	}
	return nil, errHeader
}

// resync skips input up to the offset r.end, or up to the end of the line if
// that is 0, but not past a Content-Length header.
func (r *Reader) resync() {
	r.lost = false
	for r.end == 0 || r.off < r.end {
		b, err := r.at(0)
		if err != nil || b|' ' == 'c' && r.has("Content-Length:") {
			return
		}
		r.drop(1)
		if b == '\n' && r.end == 0 {
			return
		}
	}
}

// has reports whether the input continues with s, in any case.
func (r *Reader) has(s string) bool {
	_, err := r.at(len(s) - 1)
	return err == nil && strings.EqualFold(string(r.buf[:len(s)]), s)
}

// at waits until i+1 bytes have arrived and returns the last of them.
func (r *Reader) at(i int) (byte, error) {
	for len(r.buf) <= i {
		n, err := r.in.Read(r.page)
		if n > 0 {
			r.log.Debug("stdin", "chunk", n)
			r.buf = append(r.buf, r.page[:n]...)
		} else if err != nil {
			return 0, err
		}
	}
	return r.buf[i], nil
}

// drop consumes n bytes.
func (r *Reader) drop(n int) {
	r.off += int64(n)
	if r.buf = r.buf[n:]; len(r.buf) == 0 {
		r.buf = nil // a large message is not kept for the rest of the session
	}
}

// Write writes a message in one call of w.Write, with a Content-Length header
// or followed by a line feed.
func Write(w io.Writer, body []byte, framed bool) error {
	head, tail := "", "\n"
	if framed {
		head, tail = fmt.Sprintf("Content-Length: %d\r\n\r\n", len(body)), ""
	}
	b := slices.Concat([]byte(head), body, []byte(tail))
	_, err := w.Write(b)
	return err
}
