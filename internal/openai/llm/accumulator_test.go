package llm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// fixtures returns the files of testdata/stream: a comment, the payloads of a stream, and the
// events that follow from them.
func fixtures(t testing.TB) (
	payloads map[string][]string,
	events map[string]string,
) {
	files, _ := filepath.Glob("testdata/stream/*.txt")
	if len(files) == 0 {
		t.Fatal("no fixtures")
	}

	payloads = map[string][]string{}
	events = map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}

		_, stream, _ := strings.Cut(string(data), "\n")
		stream, events[name], _ = strings.Cut(stream, "\n-- events --\n")
		payloads[name] = strings.Split(stream, "\n")
	}

	return payloads, events
}

// The items of the response are those of the last payload or, without any there, those that were
// streamed.
func TestFixtures(t *testing.T) {
	payloads, scripts := fixtures(t)
	for name, stream := range payloads {
		t.Run(filepath.Base(name), func(t *testing.T) {
			cl, _ := newClient(0, sseStep(stream...))
			events, r, err := watch(t, cl, question())
			wantSuccess(t, err)
			wantScript(t, events, r, scripts[name])

			last := stream[len(stream)-1]
			want := gjson.Get(last, "response.output").Raw
			if want == "" || want == "[]" {
				const items = `..#(type=="response.output_item.done")#.item`
				want = gjson.Get(strings.Join(stream, "\n"), items).Raw
			}

			var got []string
			for _, item := range r.Output {
				got = append(got, string(item.Raw))
			}

			output := "[" + strings.Join(got, ",") + "]"
			wantEqual(t, "output", output, want)
		})
	}
}

// FuzzAccumulator takes the payloads of all fixtures in any order: blocks pair, and the items of a
// response can be sent back.
func FuzzAccumulator(f *testing.F) {
	var pool []string
	payloads, _ := fixtures(f)
	for _, name := range slices.Sorted(maps.Keys(payloads)) {
		var picks []rune
		for _, p := range payloads[name] {
			picks = append(picks, rune(len(pool)))
			pool = append(pool, p)
		}

		f.Add(string(picks))
		slices.Reverse(picks)
		f.Add(string(picks))
	}

	f.Fuzz(func(t *testing.T, picks string) {
		var events []call.Event
		cl, _ := newClient(0)
		acc := cl.newAccumulator(t.Context(), recorded(&events))
		for _, pick := range picks {
			r, err := acc.handleEvent([]byte(pool[int(pick)%len(pool)]))
			if r != nil {
				_, err = json.Marshal(r.InputItems())
				wantEqual(t, "error of the output as input", err, nil)
			}
			if r != nil || err != nil {
				break
			}
		}

		acc.stopBlocks()
		checkBlocks(t, events)
	})
}
