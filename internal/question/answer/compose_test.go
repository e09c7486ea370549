package answer

import (
	"context"
	"runtime"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestText(t *testing.T) {
	for _, row := range compare.Table(t, "text", 4) {
		t.Run(row[0], func(t *testing.T) {
			body := completed(items(row[2])...)
			if row[1] != "" {
				body = incomplete(strings.Trim(row[1], "-"), items(row[2])...)
			}
			compare.Equal(t, "text", ask(t, body).Text, pages.Replace(row[3]))
		})
	}
}

// The URL of a page makes no link in the list. The citation has it as it is, and a list of the
// model gives its date in both forms.
func TestListedURL(t *testing.T) {
	for _, row := range compare.Table(t, "listed", 3) {
		t.Run(row[0], func(t *testing.T) {
			text := "x\n\nSources:\n- " + row[2] + " (2025-01-02)\n- and others"
			ans := ask(t, completed(search(), message("", text, row[1])))

			want := text + "\n\nSources:\n- " + row[2] + " (2025-01-02)"
			compare.Equal(t, "text", ans.Text, want)
			compare.Equal(t, "citation", ans.Citations[0].URL, row[1])
		})
	}
}

// A large text is copied once, however many sources follow it.
func TestLargeText(t *testing.T) {
	const size = 4 << 20
	response := &call.Response{Status: "completed"}
	body := completed(message("", strings.Repeat("Snow. ", size/6), "https://a.example/1",
		"https://a.example/2", "https://a.example/3"))
	err := call.DecodeLenient([]byte(body), response)
	if err != nil {
		t.Fatal(err)
	}
	a := New(Options{
		Create: func(context.Context, *call.Call, call.Request) (*call.Response, error) {
			return response, nil
		},
		Profiles: map[string]Profile{"answer": {}},
	})

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	ans, err := a.Ask(t.Context(), &call.Call{Tool: "answer"}, Question{Query: "?"})
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}

	compare.Contains(t, "end", ans.Text[size-100:], "/3 (")
	allocated := (after.TotalAlloc - before.TotalAlloc) >> 20
	if allocated > 2*size>>20 {
		t.Errorf("allocated %d MiB for a text of %d MiB", allocated, size>>20)
	}
}
