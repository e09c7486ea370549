package llm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// fixture is a file of testdata/stream: comments, the payloads of a stream, the
// events that follow from them. The items of the response are those of the last
// payload or, without any there, those that were streamed.
type fixture struct {
	name     string
	payloads []string
	events   string
	output   []string
}

func fixtures(t testing.TB) []fixture {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("testdata", "stream", "*.txt"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	var all []fixture
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		head, rest, _ := strings.Cut(string(data), "-- events --\n")
		f := fixture{name: strings.TrimSuffix(filepath.Base(name), ".txt")}
		for line := range strings.Lines(head) {
			if !strings.HasPrefix(line, "#") {
				f.payloads = append(f.payloads, strings.TrimSuffix(line, "\n"))
			}
		}
		f.events = rest
		for _, item := range gjson.Get(f.payloads[len(f.payloads)-1], "response.output").Array() {
			f.output = append(f.output, item.Raw)
		}
		for _, p := range f.payloads {
			if gjson.Get(p, "type").Str == "response.output_item.done" && !gjson.Get(f.payloads[len(f.payloads)-1], "response.output.0").Exists() {
				f.output = append(f.output, gjson.Get(p, "item").Raw)
			}
		}
		all = append(all, f)
	}
	return all
}

func TestFixtures(t *testing.T) {
	for _, f := range fixtures(t) {
		t.Run(f.name, func(t *testing.T) {
			c, _, _ := newClient(t, 0, sseStep(f.payloads...))
			events, r, err := collect(c.Stream(t.Context(), question()))
			if err != nil {
				t.Fatal(err)
			}
			compare(t, events, f.events)
			blocks(t, events)
			var got []string
			for _, item := range r.Output {
				got = append(got, string(item.Raw))
			}
			if diff := cmp.Diff(f.output, got); diff != "" {
				t.Errorf("output (-sent +response):\n%s", diff)
			}
			if r.ID != "resp_1" || r.RequestID != "req_1" {
				t.Errorf("response %q of request %q, want resp_1 of req_1", r.ID, r.RequestID)
			}
		})
	}
}

// FuzzAccumulator takes the payloads of all fixtures in any order: blocks pair, and the
// items of a response can be sent back.
func FuzzAccumulator(f *testing.F) {
	var pool []string
	for _, fx := range fixtures(f) {
		var picks []byte
		for _, p := range fx.payloads {
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
			r, err := acc.take([]byte(pool[(int(picks[0])<<8|int(picks[1]))%len(pool)]))
			if r != nil {
				if _, err := json.Marshal(r.InputItems()); err != nil {
					t.Errorf("the output cannot be sent back: %v", err)
				}
			}
			if r != nil || err != nil {
				break
			}
		}
		acc.stopAll()
		blocks(t, events)
	})
}
