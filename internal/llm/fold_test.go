package llm

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// fixture is a file of testdata/stream: comments, the payloads of a stream, the
// events that they give, and the items of the response where they are not those
// of the last payload.
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
		var output string
		f.events, output, _ = strings.Cut(rest, "-- output --\n")
		for line := range strings.Lines(output) {
			f.output = append(f.output, strings.TrimSuffix(line, "\n"))
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
			want := f.output
			if want == nil {
				want = lastOutput(t, f)
			}
			var got []string
			for _, it := range r.Output {
				data, err := it.MarshalJSON()
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, string(data))
			}
			if f.output != nil {
				sameJSON(t, got, want)
			} else if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("output (-sent +response):\n%s", diff)
			}
			if r.ID != "resp_1" || r.RequestID != "req_1" {
				t.Errorf("response %q of request %q, want resp_1 of req_1", r.ID, r.RequestID)
			}
		})
	}
}

// lastOutput is the output in the last event, byte for byte.
func lastOutput(t *testing.T, f fixture) []string {
	t.Helper()
	o := parseObject(json.RawMessage(f.payloads[len(f.payloads)-1])).object("response")
	var out []string
	for _, item := range o.list("output") {
		out = append(out, string(item))
	}
	if out != nil {
		return out
	}
	for _, p := range f.payloads {
		o := parseObject(json.RawMessage(p))
		if o.str("type") == "response.output_item.done" {
			out = append(out, string(o.get("item")))
		}
	}
	return out
}

// sameJSON compares lists of JSON texts, not minding the order of keys.
func sameJSON(t *testing.T, got, want []string) {
	t.Helper()
	decode := func(list []string) (out []any) {
		for _, s := range list {
			var v any
			if err := json.Unmarshal([]byte(s), &v); err != nil {
				t.Fatal(err)
			}
			out = append(out, v)
		}
		return out
	}
	if diff := cmp.Diff(decode(want), decode(got)); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}
