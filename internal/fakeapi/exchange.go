package fakeapi

import (
	"bytes"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// exchange is one request while it is answered.
type exchange struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	body []byte
	seed string // distinguishes the ids of this exchange from all others
	step Step
	nth  int  // how many requests the step answered before
	gone bool // the client is known to be away
	done bool // the answer is out
}

// wait lets d pass. It reports whether there is still someone to answer.
func (x *exchange) wait(d time.Duration) bool {
	if d <= 0 {
		return x.r.Context().Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-x.r.Context().Done():
	case <-x.s.closed:
	}
	return false
}

// hang answers nothing until the client or the server goes away.
func (x *exchange) hang() {
	select {
	case <-x.r.Context().Done():
	case <-x.s.closed:
	}
}

// cut closes the connection where it is. The panic is the way that net/http
// offers for that; it logs nothing.
func (x *exchange) cut() { panic(http.ErrAbortHandler) }

// truncated sends half of the right answer, then cuts.
func (x *exchange) truncated() {
	b := []byte(`{"id":"resp_truncated","object":"response","status":"completed","output":[{"type":"message","content":[`)
	x.w.Header().Set("Content-Type", "application/json")
	x.w.Header().Set("Content-Length", strconv.Itoa(2*len(b)))
	x.w.WriteHeader(http.StatusOK)
	x.write(b)
	x.cut()
}

// huge sends a JSON text of about mib MiB.
func (x *exchange) huge(mib int) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(http.StatusOK)
	x.write([]byte(`{"id":"`))
	chunk := bytes.Repeat([]byte("a"), 1<<20)
	for range mib {
		if !x.write(chunk) {
			return
		}
	}
	x.write([]byte(`"}`))
}

// fail sends an error body.
func (x *exchange) fail(f *fault) {
	maps.Copy(x.w.Header(), f.header)
	x.json(f.status, struct {
		Error apiError `json:"error"`
	}{f.body})
}

// json sends v, indented by two as the API does.
func (x *exchange) json(status int, v any) {
	x.w.Header().Set("Content-Type", "application/json")
	x.raw(status, append(encode(v, "  "), '\n'))
}

// raw sends a whole body.
func (x *exchange) raw(status int, b []byte) {
	x.w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	x.w.WriteHeader(status)
	x.write(b)
	x.done = !x.gone
}

// write sends b now. It reports whether the client took it.
func (x *exchange) write(b []byte) bool {
	if _, err := x.w.Write(b); err != nil {
		x.gone = true
		return false
	}
	// A writer without Flush has nothing to hold back.
	_ = http.NewResponseController(x.w).Flush()
	return x.r.Context().Err() == nil
}

// encode marshals a value of this package, which always can be.
func encode(v any, indent string) []byte {
	b, err := unescaped.Indented(v, indent)
	if err != nil {
		panic("fakeapi: encoding an answer: " + err.Error())
	}
	return b
}
