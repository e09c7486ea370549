package main_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"strings"
	"testing"
)

// What an API, or whoever stands in its place, may send without end takes
// little memory and no time: it is refused, and not asked for again.
//
// The bound of each is 16 MiB, for a body, a line or a list of values. To read
// that takes it twice, as the buffer doubles, and an event is copied once out of
// its line; the program itself has 13 MiB, and what the collector leaves behind
// is the rest.
func TestOutsideMemory(t *testing.T) {
	t.Parallel()
	mib := strings.Repeat(" ", 1<<20) // packs well
	const (
		large = "the answer is larger than 16 MiB"
		many  = "the answer has too many parts"
		start = `{"id":"resp_1","status":"completed","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"x","annotations":[`
		end   = `{}]}]}]}`
		delta = `data: {"type":"response.output_text.delta","output_index":0,"content_index":0,"delta":"xxxxxxxxxxxxxxxx"}` + "\n\n"
		cites = `data: {"type":"response.output_text.annotation.added","output_index":0,"content_index":0,"annotation":[1,2,3,4,5,6,7,8]}` + "\n\n"
	)
	for _, tt := range []struct {
		name             string
		head, fill, tail string
		size             int  // of what fills it, on the wire, in bytes
		zip              bool // what is written is packed
		message          string
	}{
		{"200 MiB", `{"id":"`, "x", `"}`, 200 << 20, false, large},
		{"10 GB in 10 MB of gzip", `{"id":"`, mib, `"}`, 10 << 20, true, large},
		{"10 GB of blanks in 10 MB of gzip", "", mib, end, 10 << 20, true, large},
		{"10 GB in 10 MB of gzip in a stream", "data: ", mib, "\n\n", 10 << 20, true, large},
		{"a line of 100 MiB", "data: ", "x", "\n\n", 100 << 20, false, large},
		{"an event of many lines", "", "data: xxxxxxxx\n", "\n\n", 100 << 20, false, large},
		{"text in many events", "", delta, "", 300 << 20, false, large},
		{"15 MiB of objects", start, "{},", end, 15 << 20, false, many},
		{"15 MiB of objects in a stream", "data: " + start, "{},", end + "\n\n", 15 << 20, false, many},
		{"annotations in many events", "", cites, "", 300 << 20, false, many},
		{"brackets", "", "[", "", 15 << 20, false, many},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			stream := strings.HasPrefix(tt.head+tt.fill, "data: ")
			requests := make(chan struct{}, 10)
			a := rawAPI(t, func(w http.ResponseWriter, r *http.Request) {
				requests <- struct{}{}
				w.Header().Set("Content-Type", map[bool]string{true: "text/event-stream", false: "application/json"}[stream])
				pack := func(s string) []byte { return []byte(s) }
				if tt.zip {
					w.Header().Set("Content-Encoding", "gzip")
					pack = zipped
				}
				if write(w, pack(tt.head)) && pour(w, pack(tt.fill), tt.size) {
					write(w, pack(tt.tail))
				}
			})
			c := begin(t, setup{api: a, config: map[bool]string{true: "responses: { stream: true }\n", false: "responses: { stream: false }\n"}[stream]})
			c.line(ask("1", "x"))
			checkFault(t, c.want("1").fault(t), tt.message, "", false)
			checkPeak(t, c, 128)
			if len(requests) != 1 {
				t.Errorf("the API was asked %d times, want once", len(requests))
			}
			c.done()
		})
	}
}

// zipped is a gzip member. Members one behind the other are one file, so 10 MB
// become 10 GB without anybody having packed these.
func zipped(s string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = io.WriteString(w, s) // to memory
	_ = w.Close()
	return b.Bytes()
}

func write(w io.Writer, b []byte) bool {
	_, err := w.Write(b)
	return err == nil
}

// pour writes b again and again, until it is size bytes or nobody takes them.
func pour(w io.Writer, b []byte, size int) bool {
	b = bytes.Repeat(b, 1+(256<<10)/len(b))
	for n := 0; n < size; n += len(b) {
		if !write(w, b) {
			return false
		}
	}
	return true
}
