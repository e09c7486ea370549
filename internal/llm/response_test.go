package llm

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCreate(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "response", "weather.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := newClient(t, 0, answer(200, string(body), "X-Request-Id", "req_1"))
	got, err := c.Create(t.Context(), question())
	if err != nil {
		t.Fatal(err)
	}
	want := &Response{
		ID:        "resp_weather",
		Model:     "gpt-5.2-2025-12-11",
		Status:    "completed",
		RequestID: "req_1",
		Usage:     Usage{Input: 1200, Cached: 1024, Output: 90, Reasoning: 64, Total: 1290},
		Output: []Item{
			&Reasoning{ID: "rs_1", Summary: []string{"Checking the weather"}, EncryptedContent: "gAAAAAB"},
			&Search{ID: "ws_1", Status: "completed", Action: "search", Query: "weather: Tokyo, Japan", Queries: []string{"weather: Tokyo, Japan"},
				Sources: []Source{{Type: "api", Name: "oai-weather"}}},
			&Search{ID: "ws_2", Status: "completed", Action: "open_page", URL: "https://weather.example/tokyo"},
			&Message{ID: "msg_1", Status: "completed", Role: "assistant", Phase: "commentary",
				Content: []Part{{Type: "output_text", Text: "Looking it up."}}},
			&Message{ID: "msg_2", Status: "completed", Role: "assistant", Phase: "final_answer", Content: []Part{{
				Type: "output_text", Text: "晴れ, 12 °C.", Annotations: []Annotation{
					{Type: "url_citation", URL: "https://weather.example/tokyo?utm_source=openai", Title: "Tokyo <today>", Start: 0, End: 2}}}}},
		},
	}
	got.Raw = nil
	raw, ok := got.Output[len(got.Output)-1].(*Raw)
	if !ok || raw.Type != "hologram" {
		t.Errorf("the last item = %#v, want a Raw hologram", got.Output[len(got.Output)-1])
	}
	got.Output = got.Output[:len(got.Output)-1]
	if diff := cmp.Diff(want, got, ignoreRaw); diff != "" {
		t.Errorf("Create (-want +got):\n%s", diff)
	}
}

// TestOddResponses are answers of 200 that are odd and still responses.
func TestOddResponses(t *testing.T) {
	tests := []struct {
		body string
		want Response
	}{
		{`{"output":[]}`, Response{Output: []Item{}}},
		{`{"id":7,"status":null,"model":{},"usage":"many","output":[]}`, Response{Output: []Item{}}},
		{`{"output":[null]}`, Response{Output: []Item{&Raw{JSON: json.RawMessage("null")}}}},
		{`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}`,
			Response{Status: "incomplete", Incomplete: "max_output_tokens", Output: []Item{}}},
		{`{"status":"incomplete","incomplete_details":null,"output":null}`, Response{Status: "incomplete", Incomplete: "unknown", Output: []Item{}}},
		{`{"output":[],"error":{"message":"left over"},"usage":{"input_tokens":3,"output_tokens":4.0,"total_tokens":null,"input_tokens_details":[]}}`,
			Response{Output: []Item{}, Usage: Usage{Input: 3, Output: 4, Total: 7}}},
		{`{"output":[],"usage":{"input_tokens":"3","output_tokens":1e99,"total_tokens":-1}}`, Response{Output: []Item{}, Usage: Usage{Total: -1}}},
		{" \n{\"output\":[]}\n\n", Response{Output: []Item{}}},
	}
	for _, tt := range tests {
		c, _, _ := newClient(t, 0, answer(200, tt.body))
		got, err := c.Create(t.Context(), question())
		if err != nil {
			t.Errorf("%s: %v", tt.body, err)
			continue
		}
		got.Raw = nil
		if diff := cmp.Diff(&tt.want, got, ignoreRaw); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.body, diff)
		}
	}
}

// TestBadResponses are answers of 200 that are none.
func TestBadResponses(t *testing.T) {
	tests := []struct {
		body    string
		kind    Kind
		message string
	}{
		{"", KindBadResponse, "the answer is empty"},
		{"<html><body>Sign in</body></html>", KindBadResponse, `the answer is not a response object (application/json): "<html><body>Sign in</body></html>"`},
		{"null", KindBadResponse, `the answer is not a response object (application/json): "null"`},
		{"[]", KindBadResponse, `the answer is not a response object (application/json): "[]"`},
		{"42", KindBadResponse, `the answer is not a response object (application/json): "42"`},
		{`{"id": oops}`, KindBadResponse, `the answer is not a response object (application/json): "{\"id\": oops}"`},
		{`{}`, KindBadResponse, "the response has no output"},
		{`{"output":{}}`, KindBadResponse, "the response has no output"},
		{`{"status":"completed","output":"text"}`, KindBadResponse, "the response has no output"},
		{`{"status":"queued","output":[]}`, KindBadResponse, "the response is still queued: background responses are not supported"},
		{`{"id":"resp_1","output":[`, KindConnection, "the answer was cut off"},
		{`{"status":"failed","error":{"code":"invalid_prompt","message":"Bad prompt"}}`, KindFailed, "Bad prompt"},
		{`{"status":"failed","error":"boom"}`, KindFailed, "boom"},
		{`{"status":"failed"}`, KindFailed, "the response failed"},
		{`{"status":"cancelled","output":[]}`, KindFailed, "the response was cancelled"},
		{`{"error":"boom"}`, KindFailed, "boom"},
	}
	for _, tt := range tests {
		c, _, _ := newClient(t, 0, answer(200, tt.body))
		_, err := c.Create(t.Context(), question())
		e := asError(t, err)
		if e.Kind != tt.kind || e.Message != tt.message || e.Status != 200 || e.Attempts != 1 {
			t.Errorf("%s: %v %d %q (%d attempts), want %v 200 %q", tt.body, e.Kind, e.Status, e.Message, e.Attempts, tt.kind, tt.message)
		}
	}
}

// TestRecordings sends real answers through, when they are there, and holds
// that every item goes back byte for byte.
func TestRecordings(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "recordings", "*.json"))
	if len(files) == 0 {
		t.Skip("no recordings beside the repository")
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r, err := decodeResponse(data, &http.Response{StatusCode: 200})
		if parseObject(data).get("error") != nil && parseObject(data).get("output") == nil {
			if e := asError(t, err); e.Kind != KindQuota {
				t.Errorf("%s: %v, want %v", file, e, KindQuota)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", file, err)
			continue
		}
		entries := parseObject(data).list("output")
		if len(entries) != len(r.Output) || r.Usage.Total == 0 || r.ID == "" || r.Model == "" {
			t.Errorf("%s: %d items of %d, usage %+v", file, len(r.Output), len(entries), r.Usage)
		}
		for i, it := range r.Output {
			if back, err := it.MarshalJSON(); err != nil || string(back) != string(entries[i]) {
				t.Errorf("%s: item %d marshals to %s, %v", file, i, back, err)
			}
			if _, unknown := it.(*Raw); unknown {
				t.Errorf("%s: item %d of type %s is not decoded", file, i, it.(*Raw).Type)
			}
		}
	}
}

// FuzzDecodeResponse holds that no answer panics and that each one is either a
// response or an *Error with a kind.
func FuzzDecodeResponse(f *testing.F) {
	f.Add([]byte(finished))
	f.Add([]byte(`{"status":"failed","error":{"code":429}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		r, err := decodeResponse(data, &http.Response{StatusCode: 200})
		if (r == nil) == (err == nil) {
			t.Fatalf("decodeResponse(%q) = %v, %v", data, r, err)
		}
		if err != nil && asError(t, err).Kind == 0 {
			t.Errorf("decodeResponse(%q): %v has no kind", data, err)
		}
	})
}
