package stdio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
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

func framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// readAll returns what a Reader finds: "F:" and a framed value, "L:" and a line, "E" for an error.
func readAll(in io.Reader) []string {
	r := NewReader(in)
	var out []string
	for {
		f, err := r.Read()

		switch {
		case errors.As(err, new(parseError)):
			out = append(out, "E")
		case err != nil:
			return out
		case f.Framed:
			out = append(out, "F:"+string(f.Body))
		default:
			out = append(out, "L:"+string(f.Body))
		}
	}
}

// What readAll returns for a ping.
const (
	pingLine  = "L:" + ping
	pingFrame = "F:" + ping
)

// frameTests are inputs that the tests of the binary do not have.
var frameTests = []struct {
	name string
	in   string
	want []string
}{
	{
		"a line then a header",
		ping + framed(ping),
		[]string{pingLine, pingFrame},
	},

	// Headers.
	{
		"no line end behind the length",
		"Content-Length: 40" + ping + "\n" + framed(ping),
		[]string{"E", pingFrame},
	},
	{
		"header cut off by a line",
		"Content-Type: x\r\n" + ping + "\n",
		[]string{"E", pingLine},
	},
	{
		"garbage without a length",
		"Content-Length: x\r\n\r\nnot JSON\n" + framed(ping),
		[]string{"E", pingFrame},
	},
	{
		"the name of the header in garbage",
		"x Content-Length: Content-Length: " + framed(ping),
		[]string{"E", pingFrame},
	},

	// Bodies that are not JSON, and what was read with them.
	{
		"a line in an open body",
		framed(`{"a":`) + "\n" + ping + "\n" + ping + "\n",
		[]string{"E", pingLine, pingLine},
	},
	{
		"a header in an open body",
		"Content-Length: 60\r\n\r\n{\"a\":[1" + framed(ping) + framed(notice),
		[]string{"E", pingFrame, "F:" + notice},
	},
	{
		"a header in an open string",
		"Content-Length: 60\r\n\r\n{\"a\":\"b" + framed(ping) + framed(notice),
		[]string{"E", pingFrame, "F:" + notice},
	},
	{
		"a header in a long string",
		"Content-Length: 9\r\n\r\n{\"a\":\"" + long + framed(ping),
		[]string{"E", pingFrame},
	},
	{
		"long body that is not JSON",
		framed("["+long+"]") + framed(ping),
		[]string{"E", pingFrame},
	},
	{
		"long array that is not JSON",
		framed("["+strings.Repeat("1, ", maxLine)+"]") + ping + "\n",
		[]string{"E", pingLine},
	},

	// Lines that are not JSON.
	{
		"line with an open string",
		`{"a":"b` + "\n" + ping + "\n",
		[]string{"E", pingLine},
	},
	{
		"long line with an open string",
		`{"a":"b` + long + "\n" + ping + "\n",
		[]string{"E", pingLine},
	},
	{
		"a value at the start of garbage",
		"2026-01-01 \"x\"\n\"a\":\n" + ping + "\n",
		[]string{"E", "E", pingLine},
	},
}

// long is text that the buffer does not hold.
var long = strings.Repeat("x", 3*maxLine/2)

func TestReader(t *testing.T) {
	for _, tt := range frameTests {
		for how, in := range map[string]io.Reader{
			"at once":          strings.NewReader(tt.in),
			"byte by byte":     iotest.OneByteReader(strings.NewReader(tt.in)),
			"with EOF at once": iotest.DataErrReader(strings.NewReader(tt.in)),
		} {
			t.Run(tt.name+", "+how, func(t *testing.T) {
				if diff := cmp.Diff(tt.want, readAll(in)); diff != "" {
					t.Errorf("read (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// allocated returns the MiB that f allocates, freed or not.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return (after.TotalAlloc - before.TotalAlloc) >> 20
}

// More than a message may have takes bounded memory, and the message after it is understood.
func TestReaderMemory(t *testing.T) {
	const (
		garbage = 16 << 20
		message = maxMessage + 1<<20
	)

	for _, tt := range []struct {
		name string
		head string
		size int // of the text between head and tail
		tail string
		most uint64 // MiB
	}{
		{"garbage line", "", garbage, "\n" + ping + "\n", 1},
		{"header without end", "X-Y: ", garbage, "\n" + ping + "\n", 1},
		{"body to skip", fmt.Sprintf("Content-Length: %d\r\n\r\n", garbage), garbage, framed(ping), 1},
		{"string without end", `{"a":"`, message, "\n" + ping + "\n", 300},
		{"99 GB", "Content-Length: 99000000000\r\n\r\n{\"a\":\"", message, framed(ping), 300},
	} {
		t.Run(tt.name, func(t *testing.T) {
			in := io.MultiReader(
				strings.NewReader(tt.head),
				strings.NewReader(strings.Repeat("x", tt.size)),
				strings.NewReader(tt.tail),
			)
			var got []string
			n := allocated(func() { got = readAll(in) })

			if n > tt.most {
				t.Errorf("allocated %d MiB, want at most %d", n, tt.most)
			}

			if len(got) != 2 || got[0] != "E" || !strings.HasSuffix(got[1], ping) {
				t.Errorf("read %.100q, want an error and a ping", got)
			}
		})
	}
}

// Many messages that are not valid do not copy the buffer each: that would be 4 GiB.
func TestReaderAllocations(t *testing.T) {
	for name, part := range map[string]string{
		"bad lines":        "{x}\n",
		"text":             "x\n",
		"open bodies":      "Content-Length: 1\r\n\r\n[[",
		"headers":          "Content-Length: 1\r\n",
		"names of headers": "Content-Length:",
		"open values":      "[1,\n",
		"brackets":         "[",
	} {
		t.Run(name, func(t *testing.T) {
			in := strings.NewReader(strings.Repeat(part, 1<<18/len(part)))
			if n := allocated(func() { readAll(in) }); n > 500 {
				t.Errorf("allocated %d MiB for 256 KiB, want at most 500", n)
			}
		})
	}
}

// FuzzFrames checks that it changes nothing where a read ends, that no message holds more than has
// arrived, and that input after anything is understood.
func FuzzFrames(f *testing.F) {
	for _, tt := range frameTests {
		if len(tt.in) < maxLine {
			f.Add([]byte(tt.in), uint16(len(tt.in)/2))
		}
	}

	after := "\n" + strings.Repeat(" ", 2*maxLine) + "\n" + framed(ping) + framed(ping)
	f.Fuzz(func(t *testing.T, in []byte, end uint16) {
		n := min(int(end), len(in))

		got := readAll(io.MultiReader(bytes.NewReader(in[:n]), bytes.NewReader(in[n:])))
		if diff := cmp.Diff(readAll(bytes.NewReader(in)), got); diff != "" {
			t.Fatalf("read in two parts (-whole +parts):\n%s", diff)
		}

		size := 0
		for _, s := range got {
			size += max(1, len(s)-len("F:"))
		}

		if size > len(in) {
			t.Fatalf("%d messages of %d bytes from %d bytes", len(got), size, len(in))
		}

		all := readAll(io.MultiReader(bytes.NewReader(in), strings.NewReader(after)))
		if last := all[len(all)-1]; last != pingFrame {
			t.Fatalf("the message at the end is read as %q", last)
		}
	})
}

func BenchmarkReader(b *testing.B) {
	for name, part := range map[string]string{
		"lines":      ping + "\n",
		"framed":     framed(ping),
		"long lines": `{"a":"` + long + `"}` + "\n",
		"bad lines":  "{x}\n",
	} {
		in := strings.Repeat(part, 1<<20/len(part))

		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				readAll(strings.NewReader(in))
			}
		})
	}
}
