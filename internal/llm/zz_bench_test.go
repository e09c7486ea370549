package llm

import (
	"io"
	"log/slog"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
)

func bigStream(n int) string {
	var ev []string
	item := `{"id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef01","type":"message","role":"assistant","status":"in_progress","content":[]}`
	ev = append(ev, `{"type":"response.created","sequence_number":0,"response":{"id":"resp_1","status":"in_progress","model":"m","output":[]}}`,
		`{"type":"response.output_item.added","sequence_number":1,"output_index":0,"item":`+item+`}`)
	for i := range n {
		ev = append(ev, fmt.Sprintf(`{"type":"response.output_text.delta","sequence_number":%d,"item_id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef01","output_index":0,"content_index":0,"delta":"word ","logprobs":[],"obfuscation":"0123456789"}`, i))
	}
	done := `{"id":"msg_0123456789abcdef0123456789abcdef0123456789abcdef01","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + strings.Repeat("word ", n) + `","annotations":[]}]}`
	ev = append(ev, `{"type":"response.output_item.done","output_index":0,"item":`+done+`}`,
		`{"type":"response.completed","response":{"id":"resp_1","object":"response","status":"completed","model":"m","output":[`+done+`],"usage":{"input_tokens":1,"output_tokens":2}}}`)
	return frames(ev...)
}

func BenchmarkStream(b *testing.B) {
	for _, n := range []int{400, 20000} {
		s := answer(200, bigStream(n), "Content-Type", eventStream)
		for _, way := range []string{"unwatched", "watched"} {
			b.Run(fmt.Sprint(way, n), func(b *testing.B) {
				b.ReportAllocs()
				cl, _ := newClient(0, s)
				cl.o.Logger = slog.New(slog.DiscardHandler)
				_ = io.Discard
				var u0, u1 syscall.Rusage
				syscall.Getrusage(0, &u0)
				for b.Loop() {
					c := &call.Call{}
					if way == "watched" {
						c.Sink = func(call.Event) {}
					}
					_, err := cl.Create(b.Context(), c, question())
					if err != nil {
						b.Fatal(err)
					}
				}
				syscall.Getrusage(0, &u1)
				b.ReportMetric(float64(u1.Utime.Nano()-u0.Utime.Nano())/float64(b.N)/1000, "cpu-µs/op")
			})
		}
	}
}
