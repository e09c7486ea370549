package llm

import (
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const largeEvent = "an event of the answer is larger than 8 MiB"

func outputOf(items string) step {
	return answer(200, `{"status":"completed","output":[`+items+`]}`)
}

func listOf(element string, n int) string {
	return strings.TrimSuffix(strings.Repeat(element+",", n), ",")
}

// item101 has 101 elements, a quarter of them in each kind of list: a hundred of them are too many,
// but only just.
var item101 = `{"type":"x","content":[{"annotations":[` + listOf("0", 24) +
	`]}],"summary":[` + listOf("0", 25) + `],"action":{"queries":[` + listOf(`""`, 25) +
	`],"sources":[` + listOf("{}", 25) + `]}}`

// manyParts is a stream with more parts than an answer may have.
func manyParts() step {
	var parts []string
	for i := range maxElements + 2 {
		parts = append(parts, fmt.Sprintf(`{"type":"response.content_part.added","output_index":0,
			"content_index":%d,"part":{"type":"output_text"}}`, i))
	}

	return sseStep(parts...)
}

// hostileRow is an answer that is small to send and would be large or slow to read.
type hostileRow struct {
	name    string
	step    step
	message string // the start of the error's
}

// hostileRows are the answers of the table and others.
func hostileRows(t *testing.T) []hostileRow {
	itemDone := `{"type":"response.output_item.done","item":` + item101 + `}`
	items := slices.Repeat([]string{itemDone}, 100)
	lines := strings.Repeat("\n"+strings.Repeat(" ", 1<<20), 10)
	rows := []hostileRow{
		{"lists of many items", outputOf(listOf(item101, 100)), tooManyElements},
		{"streamed parts", manyParts(), tooManyElements},
		{"many elements in many events", sseStep(items...), tooManyElements},
		{"an event in lines", sseStep(`{"type":"x",` + lines + `}`), largeEvent},
		{"no end", withoutEnd(200), "the answer is larger than 16 MiB"},
		{"no end of an error", withoutEnd(500), "Internal Server Error"},
	}
	for _, row := range compare.Table(t, "hostile", 4) {
		next := sseStep(row[2])
		if status, _ := strconv.Atoi(row[1]); status > 0 {
			next = answer(status, row[2])
		}
		rows = append(rows, hostileRow{row[0], next, row[3]})
	}
	return rows
}

func TestHostileAnswers(t *testing.T) {
	compare.SkipShort(t, "reads a gigabyte")
	compare.SkipRace(t, "reading a gigabyte would take minutes")
	for _, tt := range hostileRows(t) {
		t.Run(tt.name, func(t *testing.T) {
			cl, _ := newClient(0, tt.step)
			before := allocated()
			_, _, err := watch(t, cl, question())
			total := allocated() - before

			e := asError(t, err)
			if !strings.HasPrefix(e.Message, tt.message) {
				t.Errorf("message = %q, want %q", e.Message, tt.message)
			}

			said := e.Error() + e.Code
			if len(said) > 2000 {
				t.Errorf("the error has %d characters", len(said))
			}

			if total > 400<<20 {
				t.Errorf("%d MiB were allocated", total>>20)
			}
		})
	}
}

// withoutEnd is an answer without end: it is read up to a bound.
func withoutEnd(status int) step {
	return func(req *http.Request) (*http.Response, error) {
		resp, err := answer(status, "")(req)
		resp.Body = io.NopCloser(endless{})
		return resp, err
	}
}

type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// allocated returns the bytes that were ever allocated, not those that are held.
func allocated() uint64 {
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.TotalAlloc
}

// The depth of an answer about a model does not end the process.
func TestHostileModel(t *testing.T) {
	cl, _ := newClient(0, answer(200, `{"id":`+strings.Repeat("[", 7_000_000)))
	_, err := cl.Model(t.Context(), "gpt-5.2")
	wantKind(t, err, call.KindBadResponse)
}

// A long line in small pieces takes as few reads of the decoder as one that comes at once.
func TestLineReader(t *testing.T) {
	const size = 1 << 20
	line := strings.Repeat("x", size) + "\nnext"
	r := lineReader{iotest.OneByteReader(strings.NewReader(line))}
	p := make([]byte, 4<<10)
	for i := range size / len(p) {
		n, err := r.Read(p)
		if n != len(p) || err != nil {
			t.Fatalf("read %d: %d bytes, %v", i, n, err)
		}
	}
	n, err := r.Read(p)
	compare.Equal(t, "the end of the line", string(p[:n]), "\n")
	compare.Equal(t, "its error", err, nil)
}
