package fakeapi

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// recordings is the folder of real traffic beside the repository.
func recordings(t *testing.T) string {
	dir := filepath.Join("..", "..", "..", "shared", "recordings")
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no recordings of real traffic here: %v", err)
	}
	return dir
}

const twoTurns = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}
{"type":"response.novelty","payload":1}

{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[{"type":"message","content":[]}]}}
{"type":"response.created","response":{"id":"resp_2","status":"in_progress","output":[]}}
{"type":"error","code":"server_error","message":"Sorry.","param":null}
`

// A file of two turns answers two requests, queued once.
func TestReplayTurns(t *testing.T) {
	f := newFixture(t, Options{})
	path := filepath.Join(t.TempDir(), "two.chunks.txt")
	if err := os.WriteFile(path, []byte(twoTurns), 0o600); err != nil {
		t.Fatal(err)
	}
	f.queue("file=" + path + " file=" + path)
	for i, want := range []int{3, 2} {
		events := f.post(question("offline", "x", streaming)).events(t)
		if len(events) != want || events[1].name != events[1].Type {
			t.Errorf("turn %d has %d events, want %d: %+v", i, len(events), want, events)
		}
	}
	if got := f.post(question("offline", "x")).response(t).types(); got != "message" {
		t.Errorf("plain answer of the first turn = %s, want message", got)
	}
	if r := f.post(question("offline", "x")); r.status != 500 || r.errorOf(t).Message != "Sorry." {
		t.Errorf("plain answer of the second turn = %d %s, want its error", r.status, r.body)
	}
	f.Queue(Step{replay: []recording{newRecording([]string{"not JSON", `{"type":"response.novelty"}`})}})
	if r := f.post(question("offline", "x", streaming)); string(r.body) !=
		"data: not JSON\n\nevent: response.novelty\ndata: {\"type\":\"response.novelty\"}\n\n" {
		t.Errorf("payloads = %q", r.body)
	}
}

// A finished response that is replayed as a stream has the events of its items,
// and ends with itself.
func TestReplayAnswerAsStream(t *testing.T) {
	f := newFixture(t, Options{})
	path := filepath.Join(t.TempDir(), "answer.json")
	const answer = `{"id":"resp_9","object":"response","status":"completed","output":[` +
		`{"type":"novelty","id":"n_1"},{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Hello there"}],"extra":1},` +
		`{"type":"message","content":5}]}`
	if err := os.WriteFile(path, []byte(answer), 0o600); err != nil {
		t.Fatal(err)
	}
	f.queue("file=" + path)
	r := f.post(question("offline", "x", streaming))
	events := r.events(t)
	var text string
	for _, e := range events {
		text += e.Delta
	}
	last := events[len(events)-1]
	if text != "Hello there" || !strings.HasSuffix(string(last.data), `"response":`+answer+`}`) {
		t.Errorf("stream of an answer says %q and ends with %s", text, last.data)
	}
	if !strings.Contains(string(r.body), `"role":"assistant","content":[{"type":"output_text","text":"Hello there"}],"extra":1}}`) {
		t.Errorf("output_item.done changes the item: %s", r.body)
	}
	for _, odd := range []string{`null`, `{}`, `{"output":null,"status":5}`, `[]`} {
		if err := os.WriteFile(path, []byte(odd), 0o600); err != nil {
			t.Fatal(err)
		}
		step, err := ParseStep("file=" + path)
		if err != nil {
			continue
		}
		f.Queue(step)
		events := f.post(question("offline", "x", streaming)).events(t)
		if n := len(events); n != 3 || events[2].Type != "response.completed" {
			t.Errorf("stream of %s has %d events, want 3 up to response.completed", odd, n)
		}
	}
}

// Real streams come through byte for byte, and real answers whole.
func TestReplayRecordings(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(recordings(t), "*.*"))
	if err != nil {
		t.Fatal(err)
	}
	f := newFixture(t, Options{})
	for _, path := range files {
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		switch {
		case strings.HasSuffix(path, ".chunks.txt"):
			step, err := ParseStep("file=" + path)
			if err != nil {
				t.Fatal(err)
			}
			f.Queue(step)
			var got []string
			for range step.replay {
				for _, e := range f.post(question("offline", "x", streaming)).events(t) {
					got = append(got, string(e.data))
				}
			}
			if strings.Join(got, "\n") != strings.TrimSpace(string(want)) {
				t.Errorf("%s: replay in %d turns differs from the file", filepath.Base(path), len(step.replay))
			}
		case strings.HasSuffix(path, ".json"):
			f.queue("file=" + path)
			r := f.post(question("offline", "x"))
			if r.status == 200 && string(r.body) != string(want) || r.status == 429 && *r.errorOf(t).Code != "insufficient_quota" {
				t.Errorf("%s: answer = %d, and differs from the file", filepath.Base(path), r.status)
			}
		}
	}
}
