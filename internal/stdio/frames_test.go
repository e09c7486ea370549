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

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
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
	want string // joined by spaces
}{
	{
		"a line then a header",
		ping + framed(ping),
		pingLine + " " + pingFrame,
	},

	// Headers.
	{
		"no line end behind the length",
		"Content-Length: 40" + ping + "\n" + framed(ping),
		"E " + pingFrame,
	},
	{
		"header cut off by a line",
		"Content-Type: x\r\n" + ping + "\n",
		"E " + pingLine,
	},
	{
		"the name of the header in garbage",
		"x Content-Length: Content-Length: " + framed(ping),
		"E " + pingFrame,
	},

	// Bodies that are not JSON, and what was read with them.
	{
		"a line in an open body",
		framed(`{"a":`) + "\n" + ping + "\n" + ping + "\n",
		"E " + pingLine + " " + pingLine,
	},
	{
		"a header in an open string",
		"Content-Length: 60\r\n\r\n{\"a\":\"b" + framed(ping) + framed(notice),
		"E " + pingFrame + " F:" + notice,
	},
	{
		"a header in a long string",
		"Content-Length: 9\r\n\r\n{\"a\":\"" + long + framed(ping),
		"E " + pingFrame,
	},
	{
		"long array that is not JSON",
		framed("["+strings.Repeat("1, ", maxLine)+"]") + ping + "\n",
		"E " + pingLine,
	},

	// Lines that are not JSON.
	{
		"no header in garbage",
		`{"a":Ccccc` + "\n" + ping + "\n",
		"E " + pingLine,
	},
	{
		"long line with an open string",
		`{"a":"b` + long + "\n" + ping + "\n",
		"E " + pingLine,
	},
	{
		"a value at the start of garbage",
		"2026-01-01 \"x\"\n\"a\":\n" + ping + "\n",
		"E E " + pingLine,
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
				compare.Equal(t, "read", strings.Join(readAll(in), " "), tt.want)
			})
		}
	}
}

// More than a message may have takes bounded memory, many messages that are not valid do not copy
// the buffer each, and the message after them is understood.
func TestReaderMemory(t *testing.T) {
	compare.SkipShort(t, "reads 200 MiB")
	const (
		garbage = 16 << 20
		message = maxMessage + 1<<20
		many    = 1 << 18
	)
	for _, tt := range []struct {
		head string
		part string
		size int    // of the parts after the head
		most uint64 // MiB
	}{
		{"", "x", garbage, 1},
		{"X-Y: ", "x", garbage, 1},
		{"Content-Length: 16777216\r\n\r\n", "x", garbage, 1},
		{`{"a":"`, "x", message, 300},
		{"Content-Length: 99000000000\r\n\r\n{\"a\":\"", "x", message, 300},

		{"", "{x}\n", many, 500},
		{"", "Content-Length: 1\r\n\r\n[[", many, 500},
		{"", "Content-Length: 1\r\n", many, 500},
		{"", "Content-Length:", many, 500},
		{"", "[1,\n", many, 500},
		{"", "[", many, 500},
	} {
		t.Run(fmt.Sprintf("%q", tt.head+tt.part), func(t *testing.T) {
			text := tt.head + strings.Repeat(tt.part, tt.size/len(tt.part)) + "\"}\n" + framed(ping)
			in := strings.NewReader(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := readAll(in)
			runtime.ReadMemStats(&after)

			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if allocated > tt.most {
				t.Errorf("allocated %d MiB, want at most %d", allocated, tt.most)
			}

			if got[0] != "E" || got[len(got)-1] != pingFrame {
				t.Errorf("read %.100q, want errors and a ping", got)
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
