package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
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
		r.lost = false
		r.resync()
	}
	if _, err := r.start(); err != nil {
		return Frame{}, err
	}
	if r.atHeader() {
		return r.framed()
	}
	body, err := r.value(maxMessage, true)
	if err != nil {
		r.lost, r.end = true, 0
	}
	return Frame{Body: body}, err
}

// framed reads a header block and the value after it.
func (r *Reader) framed() (Frame, error) {
	var length int64
	known := false
	for size := 0; ; {
		// The blank line may be missing (transports.md §1.8).
		if b, err := r.at(0); known && err == nil && (b == '{' || b == '[') {
			return r.body(length)
		}
		line, err := r.line(maxHeader - size)
		if err != nil {
			r.drop(min(1, len(r.buf))) // not to find the same header again
			r.lost, r.end = true, 0
			return Frame{}, errHeader
		}
		name, value, ok := strings.Cut(strings.TrimRight(string(line), "\r\n"), ":")
		if name != "" && (!ok || strings.IndexFunc(name, notName) >= 0) {
			return Frame{}, errHeader // the line may be a message
		}
		size += len(line)
		r.drop(len(line))
		if name == "" {
			r.log.Debug("header", "headerEnd", size, "length", length)
			return r.body(length)
		}
		if strings.EqualFold(name, "Content-Length") {
			known = true
			length, _ = strconv.ParseInt(strings.TrimSpace(value), 10, 64)
		}
	}
}

// body reads the value after a header. It ends where its JSON ends, even if
// length differs: clients declare wrong lengths, and so do the examples of spec
// §2.3. A believable length says where a body ends that is not JSON.
func (r *Reader) body(length int64) (Frame, error) {
	var end int64
	if length > 0 && length <= maxMessage {
		end = r.off + length
	}
	b, err := r.start()
	if errors.Is(err, io.EOF) {
		return Frame{}, errHeader
	} else if err != nil {
		return Frame{}, err
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
// the latest. After an error the input is where it was.
func (r *Reader) value(limit int, line bool) ([]byte, error) {
	v := &view{r: r, limit: limit, line: line}
	dec := json.NewDecoder(v)
	if err := dec.Decode(new(ignored)); err != nil {
		if v.off == maxMessage {
			return nil, errTooLong
		}
		return nil, errNotJSON
	}
	n := int(dec.InputOffset())
	body := r.buf[:n:n]
	r.drop(n)
	return body, nil
}

// view reads ahead without consuming anything.
type view struct {
	r     *Reader
	off   int // bytes read
	limit int
	line  bool // ends after a line feed
	ended bool
}

func (v *view) Read(p []byte) (int, error) {
	if v.ended || v.off == v.limit {
		return 0, io.EOF
	}
	if _, err := v.r.at(v.off); err != nil {
		return 0, err
	}
	n := copy(p[:min(len(p), v.limit-v.off)], v.r.buf[v.off:])
	if i := bytes.IndexByte(p[:n], '\n'); v.line && i >= 0 {
		n, v.ended = i+1, true
	}
	v.off += n
	return n, nil
}

// ignored lets the decoder check a value without building one.
type ignored struct{}

func (*ignored) UnmarshalJSON([]byte) error { return nil }

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

// has reports whether the input continues with s.
func (r *Reader) has(s string) bool {
	_, err := r.at(len(s) - 1)
	return err == nil && string(r.buf[:len(s)]) == s
}

// atHeader reports whether a header block begins here. Its first name has a
// dash, as all have that frame a message; "warning: x" is a log line.
func (r *Reader) atHeader() bool {
	dash := false
	for i := range maxHeader {
		b, err := r.at(i)
		if err != nil || b != ':' && notName(rune(b)) {
			return false
		}
		if b == ':' {
			return dash
		}
		dash = dash || b == '-'
	}
	return false
}

func notName(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
}

// line returns the next line with its end, which has to come within limit
// bytes. It consumes nothing.
func (r *Reader) line(limit int) ([]byte, error) {
	for i := range limit {
		b, err := r.at(i)
		if err != nil {
			return nil, err
		}
		if b == '\n' {
			return r.buf[:i+1], nil
		}
	}
	return nil, errHeader
}

const contentLength = "content-length:"

// resync skips input up to the offset end, or up to the end of the line when
// end is 0, but not past a Content-Length header. It keeps nothing of it.
func (r *Reader) resync() {
	const tail = len(contentLength) - 1
	for r.end == 0 || r.off < r.end {
		if _, err := r.at(0); err != nil {
			return
		}
		b, last := r.buf, false
		if n := r.end - r.off; r.end > 0 && int64(len(b)) >= n {
			b, last = b[:n], true
		} else if i := bytes.IndexByte(b, '\n'); r.end == 0 && i >= 0 {
			b, last = b[:i+1], true
		}
		if i := headerIn(b); i >= 0 {
			r.drop(i)
			return
		}
		if last {
			r.drop(len(b))
			return
		}
		r.drop(max(0, len(b)-tail)) // the rest may be the begin of a header
		if _, err := r.at(len(r.buf)); err != nil {
			r.drop(len(r.buf))
			return
		}
	}
}

// headerIn returns where a Content-Length header begins in b, or -1.
func headerIn(b []byte) int {
	for end := 0; ; {
		i := bytes.IndexByte(b[end:], ':')
		if i < 0 {
			return -1
		}
		end += i + 1
		start := end - len(contentLength)
		if start >= 0 && strings.EqualFold(string(b[start:end]), contentLength) {
			return start
		}
	}
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
	_, err := w.Write(encode(body, framed))
	return err
}

func encode(body []byte, framed bool) []byte {
	if framed {
		return append(fmt.Appendf(nil, "Content-Length: %d\r\n\r\n", len(body)), body...)
	}
	return append(body[:len(body):len(body)], '\n')
}
