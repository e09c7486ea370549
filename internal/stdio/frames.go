package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
)

const (
	// maxMessage is the memory that one message may take, in bytes.
	maxMessage = 64 << 20
	// maxHeader bounds a header block and a line that is no object, in bytes.
	maxHeader = 64 << 10
)

// Why a stretch of the input is not a message. The texts reach the client.
var (
	errNotJSON = errors.New("not JSON")
	errHeader  = errors.New("header without a body")
	errTooLong = errors.New("message larger than 64 MiB")
)

// frame is one message of the input, or one stretch that is none.
type frame struct {
	json json.RawMessage // the JSON value; nil when the stretch is none
	line bool            // it stood on a line, without a header
	err  error           // why it is not JSON, or how the input ended
	end  bool            // the input has ended
}

// frames cuts the input into messages. Whatever arrives, it comes back to a
// state in which the next message is understood.
type frames struct {
	src *source
	log *slog.Logger

	// What is left of the last frame, passed over only when the next one is
	// asked for: a broken message is answered at once.
	rest int64 // bytes of its declared length
	lost bool  // bytes up to a line end or a header
}

// next waits for the next frame. After one with end set there are no more.
func (f *frames) next() frame {
	f.pass(f.rest)
	if f.lost {
		f.resync()
	}
	f.rest, f.lost = 0, false
	for {
		b, err := f.src.peek()
		if err != nil {
			return frame{err: err, end: true}
		}
		switch b {
		case ' ', '\t', '\r', '\n':
			f.src.drop(1)
		case '{', '[':
			return f.value(noLength, true)
		default:
			if fr, ok := f.text(); ok {
				return fr
			}
		}
	}
}

// text reads a line that does not begin like an object: a byte order mark, a
// header, a bare JSON value, or garbage. It reports whether that was a frame.
func (f *frames) text() (frame, bool) {
	line, err := f.src.line(maxHeader)
	if err != nil { // errLong: there is at least one byte
		return f.lose(errNotJSON), true
	}
	if rest, ok := bytes.CutPrefix(line, []byte("\ufeff")); ok {
		f.src.unread(rest)
		return frame{}, false
	}
	// A first header has a dash in its name, as all that frame a message have,
	// or ends as headers do: "warning: x" is somebody's log line.
	if name, _, ok := header(line); ok && (strings.Contains(name, "-") || bytes.HasSuffix(line, []byte("\r\n"))) {
		f.src.unread(line)
		return f.framed(), true
	}
	if i := headerIn(line); i > 0 { // garbage before a header, on one line
		f.src.unread(line[i:])
		return frame{err: errNotJSON}, true
	}
	if v := bytes.TrimSpace(line); json.Valid(v) {
		return frame{json: v, line: true}, true
	}
	return frame{err: errNotJSON}, true
}

// framed reads a header block and the value behind it.
func (f *frames) framed() frame {
	length := noLength
	for size := 0; ; {
		// The body behind a forgotten blank line (transports.md §1.8). It may end
		// without a line end, so it cannot be read as a line first.
		if b, err := f.src.peek(); err == nil && length != noLength && (b == '{' || b == '[') {
			return f.value(length, false)
		}
		line, err := f.src.line(maxHeader - size)
		if err != nil { // endless, or the input ended within the block
			return f.lose(errHeader)
		}
		size += len(line)
		if len(bytes.TrimRight(line, "\r\n")) == 0 {
			f.log.Debug("header", "headerEnd", size, "length", length)
			return f.body(length)
		}
		name, value, ok := header(line)
		if !ok { // a new start
			f.src.unread(line)
			return frame{err: errHeader}
		}
		if strings.EqualFold(name, "Content-Length") {
			digits, _, glued := strings.Cut(value, "{")
			length = parseLength(strings.TrimSpace(digits))
			if glued { // no line end at all between header and body
				f.src.unread(line[bytes.IndexByte(line, '{'):])
				return f.value(length, false)
			}
		}
	}
}

// body reads the value behind a header: white space or a byte order mark in
// front of it is passed over, and what is no object is taken by its length.
func (f *frames) body(length int64) frame {
	for {
		b, err := f.src.peek()
		switch {
		case err != nil:
			return frame{err: errNotJSON}
		case b == '{' || b == '[':
			return f.value(length, false)
		case length > 0 && strings.IndexByte(" \t\r\n\xef\xbb\xbf", b) >= 0:
			f.src.drop(1)
			length--
			continue
		case length == noLength || length > maxHeader:
			return f.broken(nil, length, errNotJSON)
		}
		for int64(len(f.src.buf)) < length && f.src.fill() == nil {
		}
		v := f.src.take(int(min(length, int64(len(f.src.buf)))))
		if !json.Valid(v) {
			return frame{err: errNotJSON}
		}
		return frame{json: v}
	}
}

// value reads one object or array. It ends where its JSON ends, whatever
// length says (spec §2.1): clients declare lengths that are not theirs. Only when
// it is no JSON does a believable length tell where to go on.
// A value without a header ends at the end of its line at the latest.
func (f *frames) value(length int64, line bool) frame {
	var (
		scan  scanner
		parts [][]byte // what is read of it
		size  int
	)
	for {
		if _, err := f.src.peek(); err != nil {
			fr := f.broken(parts, length, errNotJSON)
			fr.line = line
			return fr
		}
		n, v := scan.find(f.src.buf, line)
		size += n
		parts = append(parts, f.src.take(n))
		switch {
		case v == done:
			j := bytes.Join(parts, nil)
			if json.Valid(j) {
				return frame{json: j, line: line}
			}
			fallthrough
		case v == bad:
			fr := f.broken(parts, length, errNotJSON)
			fr.line = line
			return fr
		case size >= maxMessage:
			return f.broken(parts, length, errTooLong)
		}
	}
}

// broken finds the way on behind a value that is no JSON, of which parts were
// read: to where length says, or to the end of the line.
func (f *frames) broken(parts [][]byte, length int64, err error) frame {
	if length == noLength || length > maxSkip {
		f.lost = true
		return frame{err: err}
	}
	read := bytes.Join(parts, nil)
	if n := int64(len(read)); n <= length {
		f.rest = length - n
	} else {
		f.src.unread(read[length:])
	}
	return frame{err: err}
}

// lose gives up on what arrives until there is a new start. The first byte is
// passed over now: it is what was not understood.
func (f *frames) lose(err error) frame {
	f.src.drop(min(1, len(f.src.buf)))
	f.lost = true
	return frame{err: err}
}

// pass drops the n bytes that a broken body has left, as declared; a header
// among them says that the body was shorter than that.
func (f *frames) pass(n int64) {
	const tail = len(contentLength) - 1
	for n > 0 {
		if _, err := f.src.peek(); err != nil {
			return
		}
		b := f.src.buf[:min(n, chunk, int64(len(f.src.buf)))]
		if i := headerIn(b); i >= 0 {
			f.src.drop(i)
			return
		}
		k := len(b)
		if int64(k) < n { // a header may be cut in two where b ends
			k = max(0, k-tail)
		}
		f.src.drop(k)
		n -= int64(k)
		if k == 0 && f.src.fill() != nil {
			f.src.drop(len(f.src.buf))
			return
		}
	}
}

// resync drops bytes up to the end of the line or the next Content-Length
// header, whichever comes first, and keeps nothing of them.
func (f *frames) resync() {
	const tail = len(contentLength) - 1
	for {
		if _, err := f.src.peek(); err != nil {
			return
		}
		b := f.src.buf[:min(chunk, len(f.src.buf))]
		if i := bytes.IndexByte(b, '\n'); i >= 0 {
			b = b[:i+1]
		}
		if i := headerIn(b); i >= 0 {
			f.src.drop(i)
			return
		}
		if b[len(b)-1] == '\n' {
			f.src.drop(len(b))
			return
		}
		// A header may be cut in two where b ends.
		f.src.drop(max(0, len(b)-tail))
		if len(f.src.buf) < len(contentLength) && f.src.fill() != nil {
			f.src.drop(len(f.src.buf))
			return
		}
	}
}
