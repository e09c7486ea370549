package llm

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// fixtures returns the files of testdata/stream: the payloads of a stream, without comments, and
// the events that follow from them.
func fixtures(t testing.TB) (payloads map[string][]string, events map[string]string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", "stream", "*.txt"))
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

		head, rest, _ := strings.Cut(string(data), "\n-- events --\n")
		payloads[name] = slices.DeleteFunc(strings.Split(head, "\n"), func(line string) bool {
			return strings.HasPrefix(line, "#")
		})

		events[name] = rest
	}

	return payloads, events
}

// The items of the response are those of the last payload or, without any there, those that were
// streamed.
func TestFixtures(t *testing.T) {
	payloads, scripts := fixtures(t)
	for name, stream := range payloads {
		t.Run(filepath.Base(name), func(t *testing.T) {
			c, _, _ := newClient(t, 0, sseStep(stream...))
			events, r, err := ask(t, c)
			if err != nil {
				t.Fatal(err)
			}

			compare(t, events, scripts[name])

			last := stream[len(stream)-1]
			want := rawItems(gjson.Get(last, "response.output"))
			if len(want) == 0 {
				const items = `..#(type=="response.output_item.done")#.item`
				want = rawItems(gjson.Get(strings.Join(stream, "\n"), items))
			}

			var got []string
			for _, item := range r.Output {
				got = append(got, string(item.Raw))
			}

			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}

			if r.ID != "resp_1" {
				t.Errorf("id = %q, want resp_1", r.ID)
			}

			if r.RequestID != "req_1" {
				t.Errorf("request id = %q, want req_1", r.RequestID)
			}
		})
	}
}

func rawItems(output gjson.Result) []string {
	var items []string
	for _, item := range output.Array() {
		items = append(items, item.Raw)
	}

	return items
}

// FuzzAccumulator takes the payloads of all fixtures in any order: blocks pair, and the items of a
// response can be sent back.
func FuzzAccumulator(f *testing.F) {
	var pool []string
	payloads, _ := fixtures(f)
	for _, name := range slices.Sorted(maps.Keys(payloads)) {
		var picks []byte
		for _, p := range payloads[name] {
			picks = append(picks, byte(len(pool)>>8), byte(len(pool)))
			pool = append(pool, p)
		}

		f.Add(picks)
		slices.Reverse(picks)
		f.Add(picks)
	}

	f.Fuzz(func(t *testing.T, picks []byte) {
		var events []Event
		keep := func(e Event) bool {
			events = append(events, e)
			return true
		}

		acc := newAccumulator(&emitter{yield: keep}, func([]byte) {})

		var r *Response
		var err error
		for ; len(picks) > 1 && r == nil && err == nil; picks = picks[2:] {
			pick := int(picks[0])<<8 | int(picks[1])
			r, err = acc.handleEvent([]byte(pool[pick%len(pool)]))
		}

		if r != nil {
			_, err = json.Marshal(r.InputItems())
			if err != nil {
				t.Errorf("the output cannot be sent back: %v", err)
			}
		}

		acc.stopBlocks()
		checkBlocks(t, events)
	})
}
