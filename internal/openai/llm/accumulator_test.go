package llm

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
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
