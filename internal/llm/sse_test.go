package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

// readSSE lists the events of a stream as name and data, and its last error.
func readSSE(s *sse) ([][2]string, error) {
	var all [][2]string
	for {
		name, data, err := s.next()
		if err != nil {
			return all, err
		}
		all = append(all, [2]string{name, string(data)})
	}
}

func TestSSE(t *testing.T) {
	type events = [][2]string
	tests := []struct {
		stream string
		want   events
	}{
		{"", nil},
		{"\n\n\n", nil},
		{"data: a\n\n", events{{"", "a"}}},
		{"data:a\n\ndata:  b\n\n", events{{"", "a"}, {"", " b"}}},           // one space at most is no data
		{"event: x\ndata: a\n\ndata: b\n\n", events{{"x", "a"}, {"", "b"}}}, // a name is for one event
		{"data: a\nevent: x\n\n", events{{"x", "a"}}},
		{"event: x\n\ndata: b\n\n", events{{"", "b"}}}, // no data, no event
		{"data: a\ndata: b\ndata\n\n", events{{"", "a\nb\n"}}},
		{"data\n\n", events{{"", ""}}},
		{": hello\n\n:\n\ndata: a\n: inside\n\n", events{{"", "a"}}},
		{"id: 1\nretry: 10\nfoo: bar\nnonsense\ndata: a\n\n", events{{"", "a"}}},
		{"data: a\r\n\r\ndata: b\r\n\r\n", events{{"", "a"}, {"", "b"}}},
		{"data: a\r\rdata: b\r\r", events{{"", "a"}, {"", "b"}}},
		{"data: a\r\ndata: b\n\r\n", events{{"", "a\nb"}}},
		{"data: a\n\ndata: b", events{{"", "a"}, {"", "b"}}}, // the end comes early
		{"data: a\n\ndata: b\n", events{{"", "a"}, {"", "b"}}},
		{"data: a\n\nevent: x", events{{"", "a"}}},
		{"\xef\xbb\xbfdata: a\n\n\xef\xbb\xbfdata: b\n\n", events{{"", "a"}}}, // only the first is a BOM
		{"data: a: b\n\n", events{{"", "a: b"}}},
		{"DATA: a\n\n data: b\n\n", nil},
	}
	readers := map[string]func(io.Reader) io.Reader{
		"whole":         func(r io.Reader) io.Reader { return r },
		"byte by byte":  iotest.OneByteReader,
		"half":          iotest.HalfReader,
		"data with EOF": iotest.DataErrReader,
	}
	for _, tt := range tests {
		for name, wrap := range readers {
			got, err := readSSE(newSSE(wrap(strings.NewReader(tt.stream))))
			if diff := cmp.Diff(tt.want, got); diff != "" || !errors.Is(err, io.EOF) {
				t.Errorf("%q, %s: %v (-want +got):\n%s", tt.stream, name, err, diff)
			}
		}
	}
}

// A line of any length that an answer may have is read; a longer one is an
// error and not memory.
func TestLongLines(t *testing.T) {
	long := strings.Repeat("x", 1<<20)
	got, err := readSSE(newSSE(strings.NewReader("data: " + long + "\n\ndata: a\n\n")))
	if !errors.Is(err, io.EOF) || len(got) != 2 || got[0][1] != long || got[1][1] != "a" {
		t.Errorf("a line of 1 MiB: %d events, %v", len(got), err)
	}
	for name, stream := range map[string]io.Reader{
		"a line":          io.MultiReader(strings.NewReader("data: a\n\ndata: "), &repeated{text: "x"}),
		"many data lines": io.MultiReader(strings.NewReader("data: a\n\n"), &repeated{text: "data: 0123456789\n"}),
	} {
		s := newSSE(stream)
		s.limit = 1 << 20
		got, err := readSSE(s)
		if !errors.Is(err, errTooLarge) || len(got) != 1 || cap(s.buf)+cap(s.data) > 8<<20 {
			t.Errorf("%s without end: %d events, %v, %d bytes", name, len(got), err, cap(s.buf)+cap(s.data))
		}
		if _, _, err := s.next(); !errors.Is(err, errTooLarge) {
			t.Errorf("%s without end, read on: %v", name, err)
		}
	}
}

// repeated is a text without end.
type repeated struct {
	text string
	at   int
}

func (r *repeated) Read(p []byte) (int, error) {
	n := copy(p, r.text[r.at:])
	r.at = (r.at + n) % len(r.text)
	return n, nil
}

// An event is handed out with its blank line: what comes after may take
// minutes.
func TestNoReadAhead(t *testing.T) {
	for _, end := range []string{"\n\n", "\r\n\r\n", "\r\r"} {
		r, w := io.Pipe()
		go io.WriteString(w, "data: a"+end)
		if name, data, err := newSSE(r).next(); string(data) != "a" || err != nil {
			t.Errorf("next after %q = %q, %q, %v, want a", end, name, data, err)
		}
		r.Close()
	}
}

// TestFramings sends every fixture in all the ways in which the same events can
// be written, and holds that nothing changes.
func TestFramings(t *testing.T) {
	for name, frame := range framings() {
		for _, f := range fixtures(t) {
			body := frame(f.payloads)
			c, _, _ := newClient(t, 0, answer(200, body, "Content-Type", "text/event-stream"))
			events, _, err := collect(c.Stream(t.Context(), question()))
			if err != nil {
				t.Errorf("%s, %s: %v", name, f.name, err)
				continue
			}
			if diff := cmp.Diff(f.events, script(events)); diff != "" {
				t.Errorf("%s, %s (-want +got):\n%s", name, f.name, diff)
			}
		}
	}
}

func framings() map[string]func([]string) string {
	each := func(frame func(i int, payload string) string) func([]string) string {
		return func(payloads []string) string {
			var b strings.Builder
			for i, p := range payloads {
				b.WriteString(frame(i, p))
			}
			return b.String()
		}
	}
	event := func(p string) string { return parseObject(json.RawMessage(p)).str("type") }
	return map[string]func([]string) string{
		"CRLF":       each(func(_ int, p string) string { return "data: " + p + "\r\n\r\n" }),
		"CR":         each(func(_ int, p string) string { return "data:" + p + "\r\r" }),
		"BOM":        func(payloads []string) string { return "\xef\xbb\xbf" + frames(payloads...) },
		"keep-alive": each(func(i int, p string) string { return fmt.Sprintf(": ping %d\n\nevent: ping\n\ndata: %s\n\n", i, p) }),
		"names":      each(func(i int, p string) string { return fmt.Sprintf("event: %s\nid: %d\ndata: %s\n\n", event(p), i, p) }),
		"one name":   each(func(_ int, p string) string { return "event: message\ndata: " + p + "\n\n" }),
		"no end":     func(payloads []string) string { return strings.TrimRight(frames(payloads...), "\n") },
		"DONE":       func(payloads []string) string { return frames(payloads...) + "data: [DONE]\n\n" },
		"names only": each(func(_ int, p string) string {
			var o map[string]any
			typ := event(p)
			if typ == "" || json.Unmarshal([]byte(p), &o) != nil {
				return "data: " + p + "\n\n"
			}
			return "event: " + typ + "\ndata: " + without(p, "type") + "\n\n"
		}),
		"many lines": each(func(_ int, p string) string {
			var b bytes.Buffer
			if json.Indent(&b, []byte(p), "", " ") != nil {
				b.WriteString(p)
			}
			return "data: " + strings.ReplaceAll(b.String(), "\n", "\ndata: ") + "\n\n"
		}),
		"more fields": each(func(i int, p string) string {
			if rest, ok := strings.CutPrefix(p, `{"type":"`); ok {
				p = fmt.Sprintf(`{"sequence_number":%d,"logprobs":[{"token":"x","top_logprobs":[]}],"obfuscation":"a\"b","type":"%s`, i, rest)
			}
			return "data: " + p + "\n\n"
		}),
	}
}

// without takes one key out of an object, leaving the rest as it is written.
func without(payload, key string) string {
	d := json.NewDecoder(strings.NewReader(payload))
	d.Token()
	var b strings.Builder
	for d.More() {
		name, _ := d.Token()
		var value json.RawMessage
		if d.Decode(&value) != nil {
			return payload
		}
		if name != key {
			fmt.Fprintf(&b, ",%q:%s", name, value)
		}
	}
	return "{" + strings.TrimPrefix(b.String(), ",") + "}"
}
