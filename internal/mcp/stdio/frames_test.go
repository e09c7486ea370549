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
		case f.HasHeader:
			out = append(out, "F:"+string(f.Body))
		default:
			out = append(out, "L:"+string(f.Body))
		}
	}
}

// pingFrame is what readAll returns for a ping.
const pingFrame = "F:" + ping

func TestReader(t *testing.T) {
	for _, row := range compare.Table(t, "frames", 3) {
		in, want := row[1], row[2]
		for how, reader := range map[string]io.Reader{
			"at once":          strings.NewReader(in),
			"byte by byte":     iotest.OneByteReader(strings.NewReader(in)),
			"with EOF at once": iotest.DataErrReader(strings.NewReader(in)),
		} {
			t.Run(row[0]+", "+how, func(t *testing.T) {
				compare.Equal(t, "read", strings.Join(readAll(reader), " "), want)
			})
		}
	}
}

// More than a message may have takes bounded memory, many messages that are not valid do not copy
// the buffer each, and the message after them is understood.
func TestReaderMemory(t *testing.T) {
	compare.SkipShort(t, "reads 200 MiB")
	for _, tt := range compare.Rows[struct {
		Head, Part string
		Size       int    // of the parts
		Most       uint64 // MiB
	}](t, "memory") {
		t.Run(fmt.Sprintf("%q", tt.Head+tt.Part), func(t *testing.T) {
			text := tt.Head + strings.Repeat(tt.Part, tt.Size/len(tt.Part)) + "\"}\n" + framed(ping)
			in := strings.NewReader(text)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			got := readAll(in)
			runtime.ReadMemStats(&after)

			allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
			if allocated > tt.Most {
				t.Errorf("allocated %d MiB, want at most %d", allocated, tt.Most)
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
	for _, row := range compare.Table(f, "frames", 3) {
		if in := row[1]; len(in) < maxLine {
			f.Add([]byte(in), uint16(len(in)/2))
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
