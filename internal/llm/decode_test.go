package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var ignoreRaw = cmpopts.IgnoreUnexported(Message{}, Reasoning{}, FunctionCall{}, FunctionOutput{}, Search{})

func raw(s string) *Raw {
	typ := parseObject(json.RawMessage(s)).str("type")
	return &Raw{Type: typ, JSON: json.RawMessage(s)}
}

// decodeTests are also the seeds of the fuzz test.
var decodeTests = []struct {
	in   string
	want Item
}{
	{`{"type":"message","id":"msg_1","status":"completed","role":"assistant","phase":"final_answer","content":[
		{"type":"output_text","text":"Hi","logprobs":[],"annotations":[
			{"type":"url_citation","url":"https://a.example/","title":"A","start_index":0,"end_index":2},
			{"type":"file_citation","file_id":"f"}, null, "x", 1]},
		{"type":"refusal","refusal":"No."}, null, []]}`,
		&Message{ID: "msg_1", Status: "completed", Role: "assistant", Phase: "final_answer", Content: []Part{
			{Type: "output_text", Text: "Hi", Annotations: []Annotation{
				{Type: "url_citation", URL: "https://a.example/", Title: "A", End: 2}, {Type: "file_citation"}}},
			{Type: "refusal", Text: "No."}}}},
	{`{"type":"message","role":"assistant","content":"plain","phase":null}`,
		&Message{Role: "assistant", Content: []Part{{Type: "output_text", Text: "plain"}}}},
	{`{"role":"user","content":"typeless"}`, &Message{Role: "user", Content: []Part{{Type: "input_text", Text: "typeless"}}}},
	{`{"type":"message","content":[{"type":"output_text","text":7,"annotations":{"url":"x"}}],"role":[],"id":1}`,
		&Message{Content: []Part{{Type: "output_text"}}}},
	{`{"type":"message","content":[{"type":"output_text","text":"a","annotations":[{"type":"url_citation","start_index":"1","end_index":1e1}]}]}`,
		&Message{Content: []Part{{Type: "output_text", Text: "a", Annotations: []Annotation{{Type: "url_citation", End: 10}}}}}},
	{`{"type":"message","content":[{"type":"output_text","text":"a","annotations":[{"type":"url_citation","url_citation":{"url":"https://a.example/","title":"A","start_index":0,"end_index":1}}]}]}`,
		&Message{Content: []Part{{Type: "output_text", Text: "a", Annotations: []Annotation{{Type: "url_citation", URL: "https://a.example/", Title: "A", End: 1}}}}}},
	{`{"type":"message"}`, &Message{}},

	{`{"type":"reasoning","id":"rs_1","summary":[{"type":"summary_text","text":"One"},{"type":"summary_text","text":"Two"}],"encrypted_content":"gAAA"}`,
		&Reasoning{ID: "rs_1", Summary: []string{"One", "Two"}, EncryptedContent: "gAAA"}},
	{`{"type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"Hm, "},{"type":"reasoning_text","text":"yes"}],"encrypted_content":null}`,
		&Reasoning{Text: "Hm, yes"}},
	{`{"type":"reasoning","summary":null,"content":null,"encrypted_content":5}`, &Reasoning{}},

	{`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"sum","arguments":"{\"a\":1}","status":"completed"}`,
		&FunctionCall{ID: "fc_1", CallID: "call_1", Name: "sum", Arguments: `{"a":1}`}},
	{`{"type":"function_call","call_id":"call_1","name":"sum","arguments":{"a":1}}`, &FunctionCall{CallID: "call_1", Name: "sum", Arguments: `{"a":1}`}},
	{`{"type":"custom_tool_call","call_id":"call_2","name":"sql","input":"SELECT 1"}`,
		&FunctionCall{CallID: "call_2", Name: "sql", Arguments: "SELECT 1", Custom: true}},
	{`{"type":"function_call_output","call_id":"call_1","output":"3"}`, &FunctionOutput{CallID: "call_1", Output: "3"}},
	{`{"type":"custom_tool_call_output","call_id":"call_2","output":[{"type":"input_text","text":"1"}]}`,
		&FunctionOutput{CallID: "call_2", Output: `[{"type":"input_text","text":"1"}]`, Custom: true}},

	{`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q1","queries":["q1","q2",null,3],
		"sources":[{"type":"url","url":"https://a.example/"},{"type":"api","name":"oai-weather"},null,
			{"type":"url","url":"https://b.example/","title":"B","published_at":"2026-01-02"}]}}`,
		&Search{ID: "ws_1", Status: "completed", Action: "search", Query: "q1", Queries: []string{"q1", "q2"}, Sources: []Source{
			{Type: "url", URL: "https://a.example/"}, {Type: "api", Name: "oai-weather"},
			{Type: "url", URL: "https://b.example/", Title: "B", PublishedAt: "2026-01-02"}}}},
	{`{"type":"web_search_call","action":{"type":"search","queries":["only"],"sources":null}}`, &Search{Action: "search", Query: "only", Queries: []string{"only"}}},
	{`{"type":"web_search_call","action":{"type":"open_page","url":"https://a.example/"}}`, &Search{Action: "open_page", URL: "https://a.example/"}},
	{`{"type":"web_search_call","action":{"type":"find_in_page","url":"https://a.example/","pattern":"x"}}`,
		&Search{Action: "find_in_page", URL: "https://a.example/", Pattern: "x"}},
	{`{"type":"web_search_call","action":"search"}`, &Search{}},
	{`{"type":"web_search_call"}`, &Search{}},

	{`{"type":"image_generation_call","result":"iVBOR"}`, raw(`{"type":"image_generation_call","result":"iVBOR"}`)},
	{`{"type":null,"role":"assistant"}`, raw(`{"type":null,"role":"assistant"}`)},
	{`{"type":["message"]}`, raw(`{"type":["message"]}`)},
	{`null`, raw(`null`)},
	{`"message"`, raw(`"message"`)},
	{`[{"type":"message"}]`, raw(`[{"type":"message"}]`)},
	{`{}`, raw(`{}`)},
}

func TestDecodeItem(t *testing.T) {
	for _, tt := range decodeTests {
		got := decodeItem(json.RawMessage(tt.in))
		if diff := cmp.Diff(tt.want, got, ignoreRaw); diff != "" {
			t.Errorf("decodeItem(%s) (-want +got):\n%s", tt.in, diff)
		}
		back, err := got.MarshalJSON()
		if err != nil || string(back) != tt.in {
			t.Errorf("decodeItem(%s) marshals to %s, %v", tt.in, back, err)
		}
	}
}

// Items made by hand are valid input, and read back as what they were.
func TestEncodeItem(t *testing.T) {
	tests := []struct {
		item Item
		want string
	}{
		{UserText("a < b"), `{"type":"message","role":"user","content":[{"type":"input_text","text":"a < b"}]}`},
		{&Message{Role: "assistant", Content: []Part{{Type: "output_text", Text: ""}, {Type: "refusal", Text: "No."}}},
			`{"type":"message","role":"assistant","content":[{"type":"output_text","text":"","annotations":[]},{"type":"refusal","refusal":"No."}]}`},
		{&Message{Role: "user"}, `{"type":"message","role":"user","content":[]}`},
		{&Reasoning{ID: "rs_1", EncryptedContent: "gAAA"}, `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"}`},
		{&Reasoning{Summary: []string{"S"}, Text: "T"},
			`{"type":"reasoning","summary":[{"type":"summary_text","text":"S"}],"content":[{"type":"reasoning_text","text":"T"}]}`},
		{&FunctionCall{CallID: "c", Name: "f"}, `{"type":"function_call","call_id":"c","name":"f","arguments":""}`},
		{&FunctionCall{CallID: "c", Name: "f", Arguments: "x", Custom: true}, `{"type":"custom_tool_call","call_id":"c","name":"f","input":"x"}`},
		{&FunctionOutput{CallID: "c"}, `{"type":"function_call_output","call_id":"c","output":""}`},
		{&FunctionOutput{CallID: "c", Output: "o", Custom: true}, `{"type":"custom_tool_call_output","call_id":"c","output":"o"}`},
		{&Search{ID: "ws_1", Status: "completed", Action: "search", Query: "q", Queries: []string{"q", "r"}},
			`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"queries":["q","r"],"query":"q","type":"search"}}`},
		{&Raw{Type: "compaction"}, `{"type":"compaction"}`},
	}
	for _, tt := range tests {
		got, err := tt.item.MarshalJSON()
		if err != nil || string(got) != tt.want {
			t.Errorf("%T marshals to %s, %v, want %s", tt.item, got, err, tt.want)
			continue
		}
		if _, ok := tt.item.(*Raw); ok {
			continue
		}
		if diff := cmp.Diff(tt.item, decodeItem(got), ignoreRaw); diff != "" {
			t.Errorf("%s read back (-want +got):\n%s", got, diff)
		}
	}
}

// FuzzDecodeItem holds that no item panics and that each one keeps its bytes.
func FuzzDecodeItem(f *testing.F) {
	for _, tt := range decodeTests {
		f.Add([]byte(tt.in))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		if !json.Valid(in) {
			return
		}
		back, err := decodeItem(in).MarshalJSON()
		if err != nil || string(back) != string(in) {
			t.Errorf("decodeItem(%s) marshals to %s, %v", in, back, err)
		}
	})
}
