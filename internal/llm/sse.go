package llm

import (
	"bytes"
	"io"
)

// sse reads the events of a stream as the HTML standard defines them
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), and the last
// one also when the blank line after it is missing. OpenAI's own decoder
// (openai-go 3.94) loses that one, takes a BOM for part of the first field, and
// knows no bare CR.
type sse struct {
	src     io.Reader
	buf     []byte // what was read; buf[pos:] is still to be looked at
	pos     int
	err     error  // of src, for when buf is used up
	afterCR bool   // the line before ended in CR: an LF now belongs to it
	started bool   // the BOM is behind us
	name    string // of the event line
	was     string // the name of the event before, which is most often the same
	data    []byte // of the data lines, joined
	limit   int    // of a line, and of the data of an event
}

func newSSE(src io.Reader) *sse { return &sse{src: src, limit: maxBody} }

// next returns the name and the data of the next event that has any. The data
// is good until the call after. The error is that of the reader, or errTooLarge.
func (s *sse) next() (name string, data []byte, err error) {
	s.was, s.name, s.data = s.name, "", s.data[:0]
	seen := false
	for {
		line, err := s.line()
		switch {
		case err != nil && seen:
			return s.name, s.data, nil // the error comes again
		case err != nil:
			return "", nil, err
		case len(line) == 0 && seen:
			return s.name, s.data, nil
		case len(line) == 0:
			s.name = ""
			continue
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "event":
			if s.name = s.was; s.name != string(value) {
				s.name = string(value)
			}
		case "data":
			if seen {
				s.data = append(s.data, '\n')
			}
			if len(s.data)+len(value) > s.limit {
				return "", nil, s.tooLarge()
			}
			s.data, seen = append(s.data, value...), true
		}
	}
}

// line returns the next line without its end: LF, CRLF or CR. A line that the
// end of the stream cuts short is a line too.
func (s *sse) line() ([]byte, error) {
	searched := 0
	for {
		if s.afterCR && s.pos < len(s.buf) {
			if s.buf[s.pos] == '\n' {
				s.pos++
			}
			s.afterCR = false
		}
		rest := s.buf[s.pos:]
		if i := lineEnd(rest[searched:]); i >= 0 {
			i += searched
			s.afterCR = rest[i] == '\r'
			s.pos += i + 1
			return s.trim(rest[:i]), nil
		}
		searched = len(rest)
		if searched > s.limit {
			return nil, s.tooLarge()
		}
		if s.err != nil {
			s.pos = len(s.buf)
			if line := s.trim(rest); len(line) > 0 {
				return line, nil
			}
			return nil, s.err
		}
		s.fill()
	}
}

// tooLarge ends the reading.
func (s *sse) tooLarge() error {
	s.buf, s.pos, s.err = nil, 0, errTooLarge
	return s.err
}

// trim takes the BOM off the first line.
func (s *sse) trim(line []byte) []byte {
	if !s.started {
		s.started = true
		line = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf"))
	}
	return line
}

// lineEnd is the index of the first LF or CR, or -1.
func lineEnd(b []byte) int {
	i := bytes.IndexByte(b, '\n')
	if i >= 0 {
		b = b[:i]
	}
	if j := bytes.IndexByte(b, '\r'); j >= 0 {
		return j
	}
	return i
}

// fill reads once, behind what is left of the buffer.
func (s *sse) fill() {
	if s.pos > 0 {
		s.buf = s.buf[:copy(s.buf, s.buf[s.pos:])]
		s.pos = 0
	}
	s.buf = room(s.buf, s.limit)
	n, err := s.src.Read(s.buf[len(s.buf):cap(s.buf)])
	s.buf = s.buf[:len(s.buf)+n]
	s.err = err
}
