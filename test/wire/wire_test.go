package wire

import (
	"bufio"
	"errors"
	"io"
	"strings"
	"testing"
)

const pong = `{"jsonrpc":"2.0","id":1,"result":{}}`

func TestRead(t *testing.T) {
	r := bufio.NewReader(strings.NewReader(pong + "\n" + Frame(pong+"\n") + Frame(`{"jsonrpc":"2.0","method":"x"}`)))
	for _, want := range []Message{
		{"line", pong, "1", ""},
		{"framed", pong + "\n", "1", ""},
		{"framed", `{"jsonrpc":"2.0","method":"x"}`, "", "x"},
	} {
		if got, err := Read(r); err != nil || got != want {
			t.Errorf("Read = %+v, %v, want %+v", got, err, want)
		}
	}
	if got, err := Read(r); !errors.Is(err, io.EOF) || got != (Message{}) {
		t.Errorf("Read at the end = %+v, %v, want io.EOF", got, err)
	}
}

// What a lenient client would get over is an error here.
func TestReadIsStrict(t *testing.T) {
	for _, in := range []string{
		pong,                             // no line end
		"\n" + pong + "\n",               // an empty line
		"log\n",                          // somebody else's line
		"{}\n",                           // no JSON-RPC
		"content-length: 36\r\n\r\n",     // not how we write it
		"Content-Length: 36\n\n",         // bare line feeds
		"Content-Length: 036\r\n\r\n",    // a leading zero
		"Content-Length: 36\r\nX: y\r\n", // a second header
		"Content-Length: 37\r\n\r\n" + pong,
		"Content-Length: 36\r\n\r\n", // no body at all
	} {
		if got, err := Read(bufio.NewReader(strings.NewReader(in))); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("Read(%q) = %+v, %v, want an error", in, got, err)
		}
	}
}
