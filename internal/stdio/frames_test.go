package stdio

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"
)

const (
	ping   = `{"jsonrpc":"2.0","id":1,"method":"ping"}`
	notice = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// framed is a message as spec §2.1 frames it.
func framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// cutAll is every frame of an input, in words: "F:" a framed value, "L:" one
// on a line, "E" what is no message, "EL" what is none but stood on a line.
func cutAll(r io.Reader) []string {
	log := slog.New(slog.DiscardHandler)
	f := &frames{src: newSource(r, log), log: log}
	var out []string
	for {
		fr := f.next()
		switch {
		case fr.end:
			return out
		case fr.err != nil && fr.line:
			out = append(out, "EL")
		case fr.err != nil:
			out = append(out, "E")
		case fr.line:
			out = append(out, "L:"+string(fr.json))
		default:
			out = append(out, "F:"+string(fr.json))
		}
	}
}

var frameTests = []struct {
	name, in string
	want     []string
}{
	{"nothing", "", nil},
	{"white space", " \r\n\t\n", nil},
	{"framed", framed(ping), []string{"F:" + ping}},
	{"two framed", framed(ping) + framed(notice), []string{"F:" + ping, "F:" + notice}},
	{"line", ping + "\n", []string{"L:" + ping}},
	{"line without its end", ping, []string{"L:" + ping}},
	{"crlf lines", ping + "\r\n" + notice + "\r\n", []string{"L:" + ping, "L:" + notice}},
	{"blank lines between", "\n\n" + ping + "\n\n\n" + ping, []string{"L:" + ping, "L:" + ping}},
	{"both", framed(ping) + ping + "\n" + framed(notice), []string{"F:" + ping, "L:" + ping, "F:" + notice}},

	// Headers.
	{"lower case", "content-length: 40\r\n\r\n" + ping, []string{"F:" + ping}},
	{"upper case, no space", "CONTENT-LENGTH:40\r\n\r\n" + ping, []string{"F:" + ping}},
	{"bare line feeds", "Content-Length: 40\n\n" + ping, []string{"F:" + ping}},
	{"other header behind", "Content-Length: 40\r\nContent-Type: application/json; charset=utf-8\r\n\r\n" + ping, []string{"F:" + ping}},
	{"other header before", "X-Trace: a:b\r\nContent-Length: 40\r\nfoo: bar\r\n\r\n" + ping, []string{"F:" + ping}},
	{"two lengths", "Content-Length: 7\r\nContent-Length: 40\r\n\r\n" + ping, []string{"F:" + ping}},
	{"no length at all", "Content-Type: application/json\r\n\r\n" + ping, []string{"F:" + ping}},
	{"length is no number", "Content-Length: forty\r\n\r\n" + ping + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"negative length", "Content-Length: -1\r\n\r\n" + ping + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"length beyond uint64", "Content-Length: 99999999999999999999999\r\n\r\n" + ping + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"blank line forgotten", "Content-Length: 40\r\n" + ping + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"no line end at all", "Content-Length: 40" + ping + "\n" + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"carriage returns only", "Content-Length: 40\r\r" + ping + "\n" + framed(ping), []string{"F:" + ping, "F:" + ping}},
	{"a first header of one word", "Host: x\r\n" + framed(ping), []string{"F:" + ping}},
	{"header cut off by a line", "Content-Type: x\r\n" + ping + "\n", []string{"E", "L:" + ping}},
	{"header only", "Content-Length: 40\r\n\r\n", []string{"E"}},
	{"half a header", "Content-Len", []string{"E"}},

	// Lengths that are not those of the body.
	{"length too large", "Content-Length: 118\r\n\r\n" + ping + framed(notice), []string{"F:" + ping, "F:" + notice}},
	{"length too small", "Content-Length: 3\r\n\r\n" + ping + framed(notice), []string{"F:" + ping, "F:" + notice}},
	{"length zero", "Content-Length: 0\r\n\r\n" + ping + framed(notice), []string{"F:" + ping, "F:" + notice}},
	{"99 GB", "Content-Length: 99000000000\r\n\r\n" + ping + framed(notice), []string{"F:" + ping, "F:" + notice}},
	{"99 GB of garbage", "Content-Length: 99000000000\r\n\r\ngarbage\n" + framed(ping), []string{"E", "F:" + ping}},
	{"brace in a string", framed(`{"a":"}{","b":"\"}"}`) + framed(ping), []string{`F:{"a":"}{","b":"\"}"}`, "F:" + ping}},
	{"pretty printed", framed("{\n  \"a\": [1, 2.5e-3, true, null]\n}\n") + framed(ping), []string{"F:{\n  \"a\": [1, 2.5e-3, true, null]\n}", "F:" + ping}},

	// Bodies that are no JSON: the length says where to go on.
	{"garbage body", framed("this is not JSON") + framed(ping), []string{"E", "F:" + ping}},
	{"unbalanced body", framed(`{"a":[1`) + framed(ping), []string{"E", "F:" + ping}},
	{"unbalanced body before a line", framed(`{"a":`) + "\n" + ping + "\n" + ping + "\n", []string{"E", "L:" + ping, "L:" + ping}},
	{"body shorter than declared", "Content-Length: 60\r\n\r\n{\"a\":[1" + framed(ping) + framed(notice), []string{"E", "F:" + ping, "F:" + notice}},
	{"more values than a message may hold", framed("["+strings.Repeat("[],", maxValues)+"[]]") + framed(ping), []string{"E", "F:" + ping}},
	{"open string", framed(`{"a":"b`) + framed(ping), []string{"E", "F:" + ping}},
	{"wrong brackets", framed(`{"a":[1}]`) + framed(ping), []string{"E", "F:" + ping}},
	{"balanced, not valid", framed(`{"a":01,"b":nul}`) + framed(ping), []string{"E", "F:" + ping}},
	{"garbage without a length", "Content-Length: x\r\n\r\nnot JSON\n" + framed(ping), []string{"E", "F:" + ping}},
	{"a scalar", framed("42") + framed(ping), []string{"F:42", "F:" + ping}},
	{"empty body", framed("") + framed(ping), []string{"E", "F:" + ping}},
	{"an array", framed("[" + ping + "]"), []string{"F:[" + ping + "]"}},

	// Byte order marks.
	{"mark before a header", "\ufeff" + framed(ping), []string{"F:" + ping}},
	{"mark before a line", "\ufeff" + ping + "\n", []string{"L:" + ping}},
	{"mark in a body", framed("\ufeff" + ping), []string{"F:" + ping}},
	{"mark before the second", ping + "\n\ufeff" + ping + "\n", []string{"L:" + ping, "L:" + ping}},

	// Garbage between messages.
	{"garbage line", "hello there\n" + ping + "\n", []string{"E", "L:" + ping}},
	{"a log line", "warning: it is late\n" + framed(ping), []string{"E", "F:" + ping}},
	{"garbage before a header", "gar bage" + framed(ping), []string{"E", "F:" + ping}},
	{"broken line", `{"jsonrpc":"2.0","id":` + "\n" + ping + "\n", []string{"EL", "L:" + ping}},
	{"line with an open string", `{"a":"b` + "\n" + ping + "\n", []string{"EL", "L:" + ping}},
	{"a line too many braces", ping + "}\n" + ping + "\n", []string{"L:" + ping, "E", "L:" + ping}},
	{"two on a line", ping + ping + "\n", []string{"L:" + ping, "L:" + ping}},
	{"a line then a header", ping + framed(ping), []string{"L:" + ping, "F:" + ping}},
	{"scalars on lines", "42\n\"x\"\nnull\n[]\n" + ping, []string{"L:42", `L:"x"`, "L:null", "L:[]", "L:" + ping}},
	{"bytes that are no text", "\x00\xff\xfe\x01\n" + ping, []string{"E", "L:" + ping}},
}

func TestFrames(t *testing.T) {
	for _, tt := range frameTests {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, cutAll(strings.NewReader(tt.in))); diff != "" {
				t.Errorf("frames(%q) (-want +got):\n%s", tt.in, diff)
			}
			// How the bytes arrive changes nothing.
			if diff := cmp.Diff(tt.want, cutAll(iotest.OneByteReader(strings.NewReader(tt.in)))); diff != "" {
				t.Errorf("frames(%q) byte by byte (-want +got):\n%s", tt.in, diff)
			}
			if diff := cmp.Diff(tt.want, cutAll(iotest.DataErrReader(strings.NewReader(tt.in)))); diff != "" {
				t.Errorf("frames(%q) with EOF at once (-want +got):\n%s", tt.in, diff)
			}
		})
	}
}

// endless is a stream of n bytes that are made as they are read.
func endless(head string, b byte, n int64, tail string) io.Reader {
	return io.MultiReader(strings.NewReader(head), io.LimitReader(repeat(b), n), strings.NewReader(tail))
}

type repeat byte

func (r repeat) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(r)
	}
	return len(p), nil
}

// TestFramesMemory sends more than a message may hold, in every shape. What is
// kept of it is bounded, and the message behind it is understood.
func TestFramesMemory(t *testing.T) {
	const size = 200 << 20
	for _, tt := range []struct {
		name, head, tail string
		fill             byte
		kept             uint64 // MiB
	}{
		{"garbage line", "", "\n" + ping + "\n", 'x', 8},
		{"garbage line that ends in a header", "", framed(ping), 'x', 8},
		{"a string without end", `{"a":"`, "\n" + ping + "\n", 'x', 80},
		{"99 GB declared", "Content-Length: 99000000000\r\n\r\n{\"a\":\"", "\n" + ping + "\n", 'x', 80},
		{"a header without end", "X-Y: ", "\n" + ping + "\n", 'x', 8},
		{"nesting without end", "", "\n" + ping + "\n", '[', 8},
		{"blanks without end", "", ping + "\n", ' ', 8},
		{"body to pass over", fmt.Sprintf("Content-Length: %d\r\n\r\n", size), ping + "\n", 'x', 8},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := &gauge{r: endless(tt.head, tt.fill, size, tt.tail)}
			got := cutAll(in)
			if want := ping; len(got) == 0 || !strings.HasSuffix(got[len(got)-1], want) {
				t.Errorf("the last frame of %.3q… is not %q", got, want)
			}
			if in.peak > tt.kept {
				t.Errorf("%d MiB on the heap, want at most %d", in.peak, tt.kept)
			}
		})
	}
}

// gauge is a reader that looks at the heap every few MiB.
type gauge struct {
	r    io.Reader
	n    int
	peak uint64 // MiB
}

func (g *gauge) Read(p []byte) (int, error) {
	n, err := g.r.Read(p)
	if g.n += n; g.n >= 8<<20 {
		g.n = 0
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		g.peak = max(g.peak, m.HeapAlloc>>20)
	}
	return n, err
}

// FuzzFrames holds that how an input is split into reads changes nothing, that
// no message is made of more than has come, and that no input is the end: what
// comes later than the longest body that is taken by its length is understood.
func FuzzFrames(f *testing.F) {
	for _, tt := range frameTests {
		f.Add([]byte(tt.in), uint64(1))
	}
	behind := "\n" + strings.Repeat(" ", 2*maxHeader) + "\n" + framed(ping) + framed(ping)
	f.Fuzz(func(t *testing.T, in []byte, seed uint64) {
		want := cutAll(bytes.NewReader(in))
		got := cutAll(&split{in: in, rand: rand.New(rand.NewPCG(seed, 1))})
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("split differently (-whole +split):\n%s", diff)
		}
		size := 0
		for _, fr := range got {
			size += len(fr) - len("F:")
		}
		if size > len(in) || len(got) > len(in) {
			t.Fatalf("%d frames of %d bytes together from %d bytes", len(got), size, len(in))
		}
		if all := cutAll(io.MultiReader(bytes.NewReader(in), strings.NewReader(behind))); all[len(all)-1] != "F:"+ping {
			t.Fatalf("the message at the end came as %q", all[len(all)-1])
		}
	})
}

// split is a reader that gives some bytes at a time.
type split struct {
	in   []byte
	rand *rand.Rand
}

func (s *split) Read(p []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, s.in[:1+s.rand.IntN(len(s.in))])
	s.in = s.in[n:]
	return n, nil
}
