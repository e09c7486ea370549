package main_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// reply is an answer whose every byte the test chooses: the connection ends
// behind it.
func reply(parts ...string) http.HandlerFunc {
	return spoken(func(c net.Conn) {
		for _, p := range parts {
			if !write(c, []byte(p)) {
				return
			}
		}
	})
}

// spoken is an answer that is more than net/http would let a server send.
func spoken(answer func(net.Conn)) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		c, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			panic(err) // the server of a test speaks HTTP/1.1
		}
		defer c.Close()
		answer(c)
	}
}

// What stands in the place of an answer is named in one line that says what to
// do. It is asked for again where that may help, and never for long.
func TestOutsideReplies(t *testing.T) {
	t.Parallel()
	const (
		head   = "HTTP/1.1 200 OK\r\n"
		events = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
	)
	good := `{"id":"resp_1","status":"completed","output":[` + said("fine", "[]") + `]}`
	deep := `{"output":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`
	plain := fmt.Sprintf("%sContent-Length: %d\r\n\r\n%s", head, len(good), good)
	zip := string(zipped(good))
	for _, tt := range []struct {
		name     string
		answer   http.HandlerFunc
		message  string // in the error; "" for an answer
		requests int32  // with one retry; 0: it depends on the clock
	}{
		{"plain", reply(plain), "", 1},
		{"more behind it", reply(plain, key, plain), "", 1},
		{"hints before it", reply(strings.Repeat("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n", 20), plain), "", 1},
		{"hints without end", spoken(func(c net.Conn) { pour(c, []byte("HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"), 100<<20) }), "headers of the answer are larger than 1 MiB", 1},
		{"long headers", reply(head+"X-Long: "+strings.Repeat("a", 900<<10)+"\r\n", strings.TrimPrefix(plain, head)), "", 1},
		{"headers of 2 MiB", reply(head+"X-Long: "+strings.Repeat("a", 2<<20)+"\r\n", strings.TrimPrefix(plain, head)), "headers of the answer are larger than 1 MiB", 1},
		{"headers without end", spoken(func(c net.Conn) { write(c, []byte(head)); pour(c, []byte("X-Long: a\r\n"), 100<<20) }), "headers of the answer are larger than 1 MiB", 1},
		{"a change of protocol", spoken(func(c net.Conn) {
			if write(c, []byte("HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n")) {
				_, _ = io.Copy(io.Discard, c) // until we hang up
			}
		}), "the API changes to another protocol", 1},
		{"another protocol", reply("SSH-2.0-OpenSSH_9.6\r\n"), "not HTTP", 1},
		{"nothing", reply(), "closed the connection without an answer", 2},
		{"half the headers", reply(head + "Content-Le"), "malformed MIME header", 2},
		{"half the body", reply(plain[:len(plain)-20]), "cut off", 2},
		{"half the JSON, by its length", reply(head + "Content-Length: 20\r\n\r\n" + good[:20]), "cut off", 2},
		{"a chunk that does not end", reply(head + "Transfer-Encoding: chunked\r\n\r\nff\r\n" + good[:20]), "cut off", 2},
		{"a length that is none", reply(head + "Transfer-Encoding: chunked\r\n\r\nzz\r\n" + good), "cut off", 2},
		{"two lengths", reply(head + "Content-Length: 20\r\nContent-Length: 30\r\n\r\n" + good), "connection failed", 2},
		{"gzip, unasked in pieces", reply(head+"Content-Encoding: gzip\r\nConnection: close\r\n\r\n", zip[:5], zip[5:]), "", 1},
		{"half of gzip", reply(head + "Content-Encoding: gzip\r\n\r\n" + zip[:len(zip)/2]), "cut off", 2},
		{"no gzip", reply(head + "Content-Encoding: gzip\r\n\r\n" + good), "not the gzip that it says it is", 1},
		{"another packer", reply(head + "Content-Type: application/json\r\nContent-Encoding: br\r\n\r\n\x1b\x03\x00\xf8\xff"), "application/json, compressed by br", 1},
		{"empty", reply(head + "Content-Length: 0\r\n\r\n"), "the answer is empty", 1},
		{"no content", reply("HTTP/1.1 204 No Content\r\n\r\n"), "the answer is empty", 1},
		{"null", reply(head + "\r\nnull"), "not a response object", 1},
		{"a page", reply(head + "Content-Type: text/html\r\n\r\n<html><title>Welcome</title>"), "a web page came back", 1},
		{"another type", reply(head + "Content-Type: text/html\r\n\r\n" + good), "", 1},
		{"deep JSON", reply(head + "\r\n" + deep), "not a response object", 1},
		{"deep JSON in a stream", reply(events + "data: {\"type\":\"response.completed\",\"response\":" + deep + "}\n\n"), "the stream ended before the response did", 2},
		{"a key twice", reply(head + "\r\n" + strings.Replace(good, `"id"`, `"output":7,"status":"failed","id"`, 1)), "", 1},
		{"a million events", spoken(func(c net.Conn) {
			if write(c, []byte(events)) && pour(c, []byte("data: {\"type\":\"x\"}\n\n"), 20<<20) {
				write(c, []byte(`data: {"type":"response.completed","response":`+good+"}\n\n"))
			}
		}), "", 1},
		{"events without end", spoken(func(c net.Conn) { write(c, []byte(events)); pour(c, []byte("data: {\"type\":\"x\"}\n\n"), 1<<40) }), "timed out", 0},
		{"comments without end", spoken(func(c net.Conn) { write(c, []byte(events)); pour(c, []byte(":\n"), 1<<40) }), "timed out", 0},
		{"blanks without end", spoken(func(c net.Conn) { write(c, []byte(events)); pour(c, []byte(" "), 1<<40) }), "timed out", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var requests atomic.Int32
			a := rawAPI(t, func(w http.ResponseWriter, r *http.Request) {
				requests.Add(1)
				tt.answer(w, r)
			})
			s := setup{api: a, env: []string{"OPENAI_MAX_RETRIES=1"}}
			if tt.requests == 0 {
				s.env = append(s.env, "OPENAI_API_TIMEOUT=200")
			}
			c := begin(t, s)
			c.line(ask("1", "x"))
			m := c.want("1")
			if tt.message == "" {
				if got := m.answered(t).Answer; got != "fine" {
					t.Errorf("answer %q, want fine", got)
				}
			} else {
				checkFault(t, m.fault(t), tt.message, "", false)
			}
			if n := requests.Load(); tt.requests != 0 && n != tt.requests {
				t.Errorf("the API was asked %d times, want %d", n, tt.requests)
			}
			checkPeak(t, c, 64)
			c.done()
			if text := c.stderr.String(); text != "" {
				t.Errorf("stderr: %s", text)
			}
		})
	}
}

// An answer that rests on very many pages takes no more time than others: it
// cites as many as it may.
func TestManyCitations(t *testing.T) {
	t.Parallel()
	var cites, sources strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&cites, `{"type":"url_citation","url":"https://a.example/%d"},`, i)
		fmt.Fprintf(&sources, `{"type":"url","url":"https://b.example/%d"},`, i)
	}
	search := `{"type":"web_search_call","action":{"type":"search","query":"q","sources":[` + sources.String() + `{}]}}`
	c := begin(t, setup{api: rawAPI(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"id":"resp_1","status":"completed","output":[`+search+","+said("fine", "["+cites.String()+"{}]")+"]}")
	})})
	c.line(ask("1", "x"))
	a := c.want("1").answered(t)
	if len(a.Citations) != 3 || a.Citations[2].URL != "https://a.example/2" || strings.Count(a.Answer, "\n- https://") != 3 {
		t.Errorf("%d citations, answer %.200q, want the first three", len(a.Citations), a.Answer)
	}
	checkPeak(t, c, 128)
	c.done()
}
