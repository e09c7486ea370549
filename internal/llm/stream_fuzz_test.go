package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// FuzzSSE holds that the same bytes are the same events however they arrive.
func FuzzSSE(f *testing.F) {
	for _, fx := range fixtures(f) {
		f.Add([]byte(frames(fx.payloads...)), []byte{1, 3, 200})
	}
	f.Add([]byte("\xef\xbb\xbfevent: a\r\ndata: b\r\rdata:c\n\r\n:x\n\ndata"), []byte{2})
	f.Fuzz(func(t *testing.T, stream, cuts []byte) {
		want, err := readSSE(newSSE(bytes.NewReader(stream)))
		if !errors.Is(err, io.EOF) {
			t.Fatalf("readSSE(%q) = %v, want EOF", stream, err)
		}
		got, err := readSSE(newSSE(&pieces{data: stream, sizes: cuts}))
		if diff := cmp.Diff(want, got); diff != "" || !errors.Is(err, io.EOF) {
			t.Errorf("in pieces of %v: %v (-whole +pieces):\n%s", cuts, err, diff)
		}
	})
}

// pieces is a reader that gives its data in pieces of the given sizes, over and
// over.
type pieces struct {
	data, sizes []byte
	n           int
}

func (p *pieces) Read(b []byte) (int, error) {
	if len(p.data) == 0 {
		return 0, io.EOF
	}
	size := 1
	if len(p.sizes) > 0 {
		size = 1 + int(p.sizes[p.n%len(p.sizes)])
		p.n++
	}
	n := copy(b[:min(size, len(b))], p.data)
	p.data = p.data[n:]
	return n, nil
}

// FuzzWire holds that the quick way to read an event and the thorough one say
// the same.
func FuzzWire(f *testing.F) {
	seen := map[string]bool{}
	for _, fx := range fixtures(f) {
		for _, p := range fx.payloads {
			w := wire{}
			if w.decode("", []byte(p)); !seen[w.Type] {
				seen[w.Type] = true
				f.Add([]byte(p))
			}
		}
	}
	f.Add([]byte(` { "type" : "x" , "delta" : "\u00e9\ud83d\ude00 é" , "output_index" : 12 , "logprobs" : [ ] , "a" : null } `))
	f.Fuzz(func(t *testing.T, data []byte) {
		empty := wire{OutputIndex: -1, ContentIndex: -1, SummaryIndex: -1}
		quick, thorough := empty, empty
		if !quick.quick(data, "response.output_text.delta", "msg_1") {
			return
		}
		if err := json.Unmarshal(data, &thorough); err != nil {
			if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
				t.Fatalf("quick takes %q, which is no JSON: %v", data, err)
			}
		}
		// encoding/json takes Delta for delta, too.
		if diff := cmp.Diff(thorough, quick, allFields); diff != "" && bytes.Equal(data, bytes.ToLower(data)) {
			t.Errorf("%q (-thorough +quick):\n%s", data, diff)
		}
	})
}

// FuzzFold holds that no sequence of payloads panics, that starts and stops
// pair, and that a response replays as blocks that pair.
func FuzzFold(f *testing.F) {
	for _, fx := range fixtures(f) {
		var b []byte
		for _, p := range fx.payloads {
			b = append(append(b, p...), '\n')
		}
		f.Add(b)
	}
	f.Add([]byte(`{"type":"error","error":{"code":"server_error"}}`))
	f.Fuzz(func(t *testing.T, payloads []byte) { checkFold(t, bytes.Split(payloads, []byte("\n"))) })
}

// FuzzOrder is FuzzFold with payloads that mean something: those of all
// fixtures, in any choice and order.
func FuzzOrder(f *testing.F) {
	var pool [][]byte
	for _, fx := range fixtures(f) {
		var picks []byte
		for _, p := range fx.payloads {
			picks = append(picks, byte(len(pool)>>8), byte(len(pool)))
			pool = append(pool, []byte(p))
		}
		f.Add(picks)
		slices.Reverse(picks)
		f.Add(picks)
	}
	f.Fuzz(func(t *testing.T, picks []byte) {
		var payloads [][]byte
		for ; len(picks) > 1; picks = picks[2:] {
			payloads = append(payloads, pool[(int(picks[0])<<8|int(picks[1]))%len(pool)])
		}
		checkFold(t, payloads)
	})
}

// checkFold folds payloads and holds what has to hold of any.
func checkFold(t *testing.T, payloads [][]byte) {
	t.Helper()
	var events []Event
	watch := func(e Event) bool {
		events = append(events, e)
		return true
	}
	fd := &feed{watch: watch}
	fo, w := &fold{feed: fd}, &wire{}
	var r *Response
	var e *Error
	for _, p := range payloads {
		if w.decode("", p) {
			if r, e = fo.take(w); r != nil || e != nil {
				break
			}
		}
	}
	if r == nil && e == nil && fo.allDone() {
		r, e = fo.finish(nil, "completed")
	}
	if e != nil && (r != nil || e.Kind == 0) {
		t.Errorf("response %v with error %v of %v", r, e, e.Kind)
	}
	fd.stopAll()
	blocks(t, events)
	if r == nil {
		return
	}
	events = nil
	(&feed{watch: watch}).replay(r)
	blocks(t, events)
	for _, it := range r.Output {
		if data, err := it.MarshalJSON(); err != nil || !json.Valid(data) {
			t.Errorf("item %#v marshals to %q, %v", it, data, err)
		}
	}
}
