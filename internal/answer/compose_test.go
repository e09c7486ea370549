package answer

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

var update = flag.Bool("update", false, "write the golden files")

// midnight is 2025-08-09 00:30 in Tokyo and the day before in UTC.
var midnight = time.Date(2025, 8, 8, 15, 30, 0, 0, time.UTC)

var tokyo = time.FixedZone("Asia/Tokyo", 9*60*60)

func fixedNow() time.Time { return midnight }

// response decodes a response, or wraps the items of an output.
func response(t *testing.T, body string) *llm.Response {
	t.Helper()
	if strings.HasPrefix(body, "[") {
		body = `{"status":"completed","output":` + body + `}`
	}
	r := new(llm.Response)
	if err := json.Unmarshal([]byte(body), &r.Response); err != nil {
		t.Fatalf("decoding %s: %v", body, err)
	}
	return r
}

// message is a message item with these citations.
func message(phase, text string, urls ...string) string {
	annotations := []map[string]any{}
	for _, u := range urls {
		annotations = append(annotations, map[string]any{"type": "url_citation", "url": u, "title": "T"})
	}
	m, _ := json.Marshal(map[string]any{"type": "message", "role": "assistant", "phase": phase,
		"content": []any{map[string]any{"type": "output_text", "text": text, "annotations": annotations}}})
	return string(m)
}

// search is a web_search_call item. A source without a dot is a name.
func search(sources ...string) string {
	list := []map[string]any{}
	for _, s := range sources {
		if strings.Contains(s, ".") {
			list = append(list, map[string]any{"type": "url", "url": s})
		} else {
			list = append(list, map[string]any{"type": "api", "name": s})
		}
	}
	m, _ := json.Marshal(map[string]any{"type": "web_search_call", "status": "completed",
		"action": map[string]any{"type": "search", "query": "q", "sources": list}})
	return string(m)
}

func output(items ...string) string { return "[" + strings.Join(items, ",") + "]" }

func compose(t *testing.T, o Options, body string) (*Answer, error) {
	t.Helper()
	o.Now, o.Location = fixedNow, tokyo
	return New(o).compose([]*llm.Response{response(t, body)})
}

// Each testdata/NAME.json is a response, NAME.golden the JSON of its answer.
// definition and weather are the cases of spec-v0.9 section 10.
func TestComposeFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			ans, err := compose(t, Options{}, string(body))
			if err != nil {
				t.Fatal(err)
			}
			ans.Model = "gpt-5.2"
			var b bytes.Buffer
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			enc.SetIndent("", "  ")
			if err := enc.Encode(ans); err != nil {
				t.Fatal(err)
			}
			golden := strings.TrimSuffix(file, ".json") + ".golden"
			if *update {
				if err := os.WriteFile(golden, b.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("compose(%s) (-want +got):\n%s", file, diff)
			}
		})
	}
}

func TestComposeNoText(t *testing.T) {
	tests := []struct{ body, want string }{
		{`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning"}]}`, "incomplete: max_output_tokens"},
		{`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, "incomplete: content_filter"},
		{`{"status":"incomplete","incomplete_details":null,"output":[]}`, "incomplete: unknown reason"},
		{`{"status":"completed","output":[]}`, "no output"},
		{output(message("", " \n")), "no output"},
		{output(message("", "\ue200cite\ue202turn0search0\ue201")), "no output"},
	}
	for _, tt := range tests {
		_, err := compose(t, Options{}, tt.body)
		var e *NoTextError
		if !errors.As(err, &e) || e.Reason != tt.want {
			t.Errorf("compose(%s) = %v, want %q", tt.body, err, tt.want)
		}
	}
}

// A commentary that cites a page proves a search. Its pages are cited when the
// answer cites none.
func TestComposeCommentary(t *testing.T) {
	const a, b = "https://a.example/", "https://b.example/"
	tests := []struct {
		name, output string
		used         bool
		want         []string
	}{
		{"only the commentary cites", output(message("commentary", "c", a), message("final_answer", "f")), true, []string{a}},
		{"the answer cites too", output(message("commentary", "c", a), message("final_answer", "f", b)), true, []string{b}},
		{"no usable citation in the answer", output(message("commentary", "c", a), message("final_answer", "f", "javascript:x")), true, []string{a}},
		{"before the sources", output(message("commentary", "c", a), search(b), message("final_answer", "f")), true, []string{a}},
		{"no citation", output(message("commentary", "c"), message("final_answer", "f")), false, []string{}},
	}
	for _, tt := range tests {
		got, err := compose(t, Options{}, tt.output)
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		urls := []string{}
		for _, c := range got.Citations {
			urls = append(urls, c.URL)
		}
		if got.UsedSearch != tt.used || !cmp.Equal(urls, tt.want) {
			t.Errorf("%s: used_search %t, citations %v, want %t, %v", tt.name, got.UsedSearch, urls, tt.used, tt.want)
		}
		if !strings.HasPrefix(got.Text, "f") || strings.Contains(got.Text, "Sources:") != tt.used {
			t.Errorf("%s: text %q", tt.name, got.Text)
		}
	}
}

func TestMessageText(t *testing.T) {
	part := func(typ, text string) string {
		m, _ := json.Marshal(map[string]string{"type": typ, "text": text, "refusal": text})
		return string(m)
	}
	msg := func(phase string, parts ...string) string {
		return `{"type":"message","role":"assistant","phase":"` + phase + `","content":[` + strings.Join(parts, ",") + `]}`
	}
	tests := []struct{ name, output, want string }{
		{"nothing", output(), ""},
		{"no message", output(`{"type":"reasoning","summary":[{"type":"summary_text","text":"hmm"}]}`), ""},
		{"two messages", output(msg("", part("output_text", "a\n")), msg("", part("output_text", "b"))), "a\n\nb"},
		{"parts continue", output(msg("", part("output_text", "a "), part("output_text", "b"))), "a b"},
		{"a refusal is a paragraph", output(msg("", part("output_text", "a"), part("refusal", "no"), part("output_text", "b"))), "a\n\nno\n\nb"},
		{"unknown parts", output(msg("", part("output_image", "x"), part("output_text", "a"))), "a"},
		{"final phase only", output(msg("commentary", part("output_text", "c")), msg("final_answer", part("output_text", "f"))), "f"},
		{"no final phase", output(msg("commentary", part("output_text", "c")), msg("", part("output_text", "d"))), "c\n\nd"},
		{"empty final phase", output(msg("commentary", part("output_text", "c")), msg("final_answer")), "c"},
		{"unknown phase", output(msg("epilogue", part("output_text", "e"))), "e"},
	}
	for _, tt := range tests {
		if got := textOf(finalMessages(response(t, tt.output).Output)); got != tt.want {
			t.Errorf("%s: text %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestClean(t *testing.T) {
	tests := []struct{ in, want string }{
		{"no marker", "no marker"},
		{"Dry.\ue200cite\ue202turn0search0\ue201 Warm.", "Dry. Warm."},
		{"Dry.\ue200cite\ue202turn0search0\ue202turn1news2\ue201", "Dry."},
		{"a\ue200cite\ue202turn0\ue201b\ue200cite\ue202turn1\ue201c", "abc"},
		{"\ue200navlist\ue202Titles with spaces, 日本\ue202turn0search0\ue201end", "end"},
		{"Dry.\ue200", "Dry."},
		{"Dry. \ue200cite\ue202turn0", "Dry."}, // cut short
		{"\ue203It is dry.\ue204\ue206", "It is dry."},
		{"x\ue201y\ue202z\ue2ff", "xyz"},
		{"Dry \ue200cite\ue202turn0\ue201 and warm", "Dry and warm"},
		{"Dry \ue200cite\ue202turn0\ue201 \ue200cite\ue202turn1\ue201, warm", "Dry, warm"},
		{"晴れ \ue200cite\ue202turn0\ue201。", "晴れ。"},
		{"Dry \ue200cite\ue202turn0\ue201\nWarm \ue200cite\ue202turn1\ue201", "Dry\nWarm"},
		{"on \ue200cite\ue202turn0\ue201 .NET", "on .NET"},
		{"    \ue200cite\ue202turn0\ue201 code", "    code"},
		{"\ue100\ue300\uf8ff", "\ue100\ue300\uf8ff"}, // not the API's: icon fonts

		{"([a](https://a.example/x?utm_source=openai))", "([a](https://a.example/x))"},
		{"https://a.example/?utm_source=openai&b=2 and", "https://a.example/?b=2 and"},
		{"https://a.example/?a=1&utm_source=openai&b=2#top", "https://a.example/?a=1&b=2#top"},
		{"See https://a.example/?a=1&utm_source=openai.", "See https://a.example/?a=1."},
		{"https://a.example/?utm_source=openais", "https://a.example/?utm_source=openais"},
		{"?q=utm_source=openai", "?q=utm_source=openai"},
	}
	for _, tt := range tests {
		if got := Clean(tt.in); got != tt.want {
			t.Errorf("Clean(%+q) = %+q, want %+q", tt.in, got, tt.want)
		}
	}
}
