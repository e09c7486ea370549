package llm

import (
	"fmt"
	"strings"
	"testing"
)

// benchStream is a response of n deltas as the API sends them.
func benchStream(n int) string {
	var b strings.Builder
	payload := func(name, data string) { fmt.Fprintf(&b, "event: %s\ndata: {\"type\":%q,%s}\n\n", name, name, data) }
	const id = `"item_id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef01","output_index":0,"content_index":0`
	payload("response.output_item.added", `"sequence_number":2,"output_index":0,"item":{"id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef01","type":"message","status":"in_progress","content":[],"role":"assistant"}`)
	payload("response.content_part.added", id+`,"part":{"type":"output_text","annotations":[],"logprobs":[],"text":""}`)
	for i := range n {
		payload("response.output_text.delta", fmt.Sprintf(`"sequence_number":%d,%s,"delta":" sentence","logprobs":[],"obfuscation":"ABcdEF9"`, i, id))
	}
	text := strings.Repeat(" sentence", n)
	payload("response.completed", fmt.Sprintf(`"response":{"id":"resp_1","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":%q}]}]}`, text))
	return b.String()
}

// BenchmarkDecode is the way of one delta from bytes to a wire event.
func BenchmarkDecode(b *testing.B) {
	s, w := newSSE(strings.NewReader(benchStream(b.N))), &wire{}
	b.ReportAllocs()
	b.ResetTimer()
	for range b.N {
		name, data, err := s.next()
		if err != nil || !w.decode(name, data) {
			b.Fatalf("next = %q, %q, %v", name, data, err)
		}
	}
}

// BenchmarkFold is the way of one delta from bytes to the watcher.
func BenchmarkFold(b *testing.B) {
	const n = 1000
	stream := benchStream(n)
	b.ReportAllocs()
	b.SetBytes(int64(len(stream) / n))
	for i := 0; i < b.N; i += n {
		seen := 0
		f := &fold{feed: &feed{leave: func() {}, watch: func(Event) bool { seen++; return true }}}
		s, w := newSSE(strings.NewReader(stream)), &wire{}
		for {
			name, data, err := s.next()
			if err != nil || !w.decode(name, data) {
				b.Fatalf("next = %q, %v", name, err)
			}
			if r, e := f.take(w); r != nil || e != nil {
				break
			}
		}
		if seen != n+2 {
			b.Fatalf("%d events, want %d", seen, n+2)
		}
	}
}
