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
)

// fixtures returns the files of testdata/stream: the payloads of a stream, without comments, and the
// events that follow from them.
func fixtures(t testing.TB) (payloads map[string][]string, events map[string]string) {
	t.Helper()
	files, _ := filepath.Glob(filepath.Join("testdata", "stream", "*.txt"))
	if len(files) == 0 {
		t.Fatal("no fixtures")
	}
	payloads, events = map[string][]string{}, map[string]string{}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(data), "\n-- events --\n")
		lines := strings.Split(head, "\n")
		payloads[name] = slices.DeleteFunc(lines, func(s string) bool { return strings.HasPrefix(s, "#") })
		events[name] = rest
	}
	return payloads, events
}

// The items of the response are those of the last payload or, without any there, those that were
// streamed.
func TestFixtures(t *testing.T) {
	payloads, want := fixtures(t)
	for name, stream := range payloads {
		t.Run(filepath.Base(name), func(t *testing.T) {
			c, _, _ := newClient(t, 0, sseStep(stream...))
			events, r, err := collect(c.Stream(t.Context(), question()))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, events, want[name])
			output := gjson.Get(stream[len(stream)-1], "response.output").Array()
			if len(output) == 0 {
				output = gjson.Get(strings.Join(stream, "\n"), `..#(type=="response.output_item.done")#.item`).Array()
			}
			for i, item := range output {
				if string(r.Output[i].Raw) != item.Raw || len(r.Output) != len(output) {
					t.Errorf("item %d of %d is %s, want %s of %d", i, len(r.Output), r.Output[i].Raw, item.Raw, len(output))
				}
			}
			if r.ID != "resp_1" || r.RequestID != "req_1" {
				t.Errorf("response %q of request %q, want resp_1 of req_1", r.ID, r.RequestID)
			}
		})
	}
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
		e := &emitter{yield: func(e Event) bool { events = append(events, e); return true }}
		acc := newAccumulator(e, func([]byte) {})
		for ; len(picks) > 1; picks = picks[2:] {
			r, err := acc.handleEvent([]byte(pool[(int(picks[0])<<8|int(picks[1]))%len(pool)]))
			if r != nil {
				if _, err := json.Marshal(r.InputItems()); err != nil {
					t.Errorf("the output cannot be sent back: %v", err)
				}
			}
			if r != nil || err != nil {
				break
			}
		}
		acc.stopBlocks()
		blocks(t, events)
	})
}
