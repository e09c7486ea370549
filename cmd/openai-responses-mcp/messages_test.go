package main

import (
	"slices"
	"strings"
	"testing"
)

var (
	ping1 = ping("1")
	ping2 = ping("2")
)

// inputs are cut where an answer can be waited for. want has a word for each piece: F or L for the
// framing, with the id of a ping or the code of an error. "_" is no answer, "+" joins the answers
// to one piece. Only an object or an array on a line shows that the client uses lines.
var inputs = []struct {
	name, want string
	in         []string
}{
	{
		"framed", "F1",
		[]string{framed(ping1)},
	},
	{
		"line", "L1",
		[]string{ping1 + "\n"},
	},
	{
		"line without its end", "L1",
		[]string{ping1},
	},
	{
		"crlf lines", "L1 L2",
		[]string{ping1 + "\r\n", ping2 + "\r\n"},
	},
	{
		"blank lines", "L1",
		[]string{"\n\r\n \t\n" + ping1 + "\n\n"},
	},
	{
		"lines stay lines", "L1 L2",
		[]string{ping1 + "\n", framed(ping2)},
	},
	{
		"framed until the first line", "F1 L2 L3",
		[]string{
			framed(ping1),
			ping2 + "\n",
			framed(ping("3")),
		},
	},

	// Headers.
	{
		"upper case", "F1",
		[]string{"CONTENT-LENGTH:40\r\n\r\n" + ping1},
	},
	{
		"bare line feeds", "F1",
		[]string{"Content-Length: 40\n\n" + ping1},
	},
	{
		"other headers", "F1",
		[]string{
			"X-A: b\r\nContent-Length: 40\r\n" +
				"Content-Type: application/json; charset=utf-8\r\n\r\n" + ping1,
		},
	},
	{
		"no length", "F1 F2",
		[]string{"Content-Type: application/json\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"length in words", "F1 F2",
		[]string{"Content-Length: forty\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"negative length", "F1 F2",
		[]string{"Content-Length: -1\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"length beyond 64 bits", "F1 F2",
		[]string{
			"Content-Length: 99999999999999999999999\r\n\r\n" + ping1,
			framed(ping2),
		},
	},
	{
		"two lengths", "F1 F2",
		[]string{
			"Content-Length: 7\r\nContent-Length: 40\r\n\r\n" + ping1,
			framed(ping2),
		},
	},
	{
		"blank line forgotten", "F1 F2",
		[]string{"Content-Length: 40\r\n" + ping1, framed(ping2)},
	},
	{
		"header only", "F-32700",
		[]string{"Content-Length: 40\r\n\r\n"},
	},
	{
		"half a header", "F-32700",
		[]string{"Content-Len"},
	},

	// Lengths that are not those of the body. The first is the specification's example.
	{
		"the specification's ping", "F99 F2",
		[]string{"Content-Length: 36\n\n" + ping("99") + "\n", framed(ping2)},
	},
	{
		"too large", "F1 F2",
		[]string{"Content-Length: 118\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"too small", "F1 F2",
		[]string{"Content-Length: 3\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"zero", "F1 F2",
		[]string{"Content-Length: 0\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"99 GB", "F1 F2",
		[]string{"Content-Length: 99000000000\r\n\r\n" + ping1, framed(ping2)},
	},
	{
		"characters for bytes", "F1 F2",
		[]string{
			"Content-Length: 63\r\n\r\n" +
				`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"日本語の文字"}}`,
			framed(ping2),
		},
	},

	// Not JSON, and the message after it.
	{
		"a line of text", "F-32700 L1",
		[]string{"hello\n", ping1 + "\n"},
	},
	{
		"text, framed", "F-32700 F1",
		[]string{framed("hello"), framed(ping1)},
	},
	{
		"half a message, framed", "F-32700+F1",
		[]string{framed(`{"jsonrpc":"2.0","id":`) + framed(ping1)},
	},
	{
		"broken, with a short length", "F-32700+F-32700+F1+F2",
		[]string{
			"Content-Length: 5\r\n\r\n" + `{"a":{"b":1,}}` + framed(ping1) + framed(ping2),
		},
	},
	{
		"half a message, a line", "F-32700 L1",
		[]string{`{"jsonrpc":"2.0","id":` + "\n", ping1 + "\n"},
	},
	{
		"half a message, wrong already", "F-32700 L1",
		[]string{`{"a":x`, "}\n" + ping1 + "\n"},
	},
	{
		"open string", "F-32700+F1",
		[]string{framed(`{"a":"b`) + framed(ping1)},
	},
	{
		"wrong brackets", "F-32700 F1",
		[]string{framed(`{"a":[1}]`), framed(ping1)},
	},
	{
		"balanced, but not JSON", "F-32700 F1",
		[]string{framed(`{"a":01}`), framed(ping1)},
	},
	{
		"empty body", "F-32700+F1",
		[]string{framed("") + framed(ping1)},
	},
	{
		"99 GB of text", "F-32700 F1",
		[]string{"Content-Length: 99000000000\r\n\r\nhello\n", framed(ping1)},
	},
	{
		"an open body, wrong already", "F-32700 F-32700 F1",
		[]string{
			"Content-Length: 500\r\n\r\n" + `{"a":]`,
			strings.Repeat("x", 493) + "{\"a\":\n",
			framed(ping1),
		},
	},
	{
		"bytes that are not text", "F-32700 L1",
		[]string{"\x00\xff\xfe\x01\n", ping1 + "\n"},
	},
	{
		"text before a header", "F-32700+F1",
		[]string{"gar bage" + framed(ping1)},
	},
	{
		"a log line", "F-32700 F1",
		[]string{"warning: it is late\n", framed(ping1)},
	},
	{
		"a brace too many", "L1 L-32700 L2",
		[]string{
			ping1,
			"}\n",
			ping2 + "\n",
		},
	},
	{
		"HTTP", "F-32700 F1",
		[]string{
			"POST / HTTP/1.1\r\n",
			"Host: localhost\r\nContent-Length: 40\r\n\r\n" + ping1,
		},
	},
	{
		"nested too deeply", "F-32700 L1",
		[]string{strings.Repeat("[", 20000) + "\n", ping1 + "\n"},
	},

	// JSON that is not a request.
	{
		"a number", "F-32600 L1",
		[]string{"42\n", ping1 + "\n"},
	},
	{
		"a framed number", "F-32600 F1",
		[]string{framed("42"), framed(ping1)},
	},
	{
		"null", "F-32600",
		[]string{"null\n"},
	},
	{
		"an empty array", "L-32600",
		[]string{"[]\n"},
	},
	{
		"a batch", "L-32600",
		[]string{"[" + ping1 + "," + ping2 + "]\n"},
	},
	{
		"an empty object", "L-32600",
		[]string{"{}\n"},
	},
	{
		"no version", "L-32600",
		[]string{`{"id":1,"method":"ping"}`},
	},
	{
		"another version", "L-32600",
		[]string{`{"jsonrpc":"1.0","id":1,"method":"ping"}`},
	},
	{
		"version a number", "L-32600",
		[]string{`{"jsonrpc":2.0,"id":1,"method":"ping"}`},
	},
	{
		"no method", "L-32600",
		[]string{`{"jsonrpc":"2.0","id":1}`},
	},
	{
		"method a number", "L-32600",
		[]string{`{"jsonrpc":"2.0","id":1,"method":1}`},
	},
	{
		"names in capitals", "L-32600",
		[]string{`{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}`},
	},
	{
		"ids that are not ids", "L-32600+L-32600+L-32600",
		[]string{ping("true") + "\n" + ping("{}") + "\n" + ping("[1]") + "\n"},
	},

	// Nothing to answer.
	{
		"a notification", "_ L1",
		[]string{initialized + "\n", ping1 + "\n"},
	},
	{
		"an unknown notification", "_ L1",
		[]string{
			`{"jsonrpc":"2.0","method":"notifications/none"}` + "\n",
			ping1 + "\n",
		},
	},
	{
		"a response", "_ L1",
		[]string{`{"jsonrpc":"2.0","id":1,"result":{}}` + "\n", ping1 + "\n"},
	},
	{
		"an error response", "_ L1",
		[]string{
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}` + "\n",
			ping1 + "\n",
		},
	},
	{
		"nothing", "",
		nil,
	},

	// Byte order marks.
	{
		"mark before a header", "F1",
		[]string{"\ufeff" + framed(ping1)},
	},
	{
		"mark before a line", "L1",
		[]string{"\ufeff" + ping1 + "\n"},
	},
	{
		"mark in a body", "F1",
		[]string{framed("\ufeff" + ping1)},
	},
	{
		"mark before the second", "L1 L2",
		[]string{ping1 + "\n", "\ufeff" + ping2 + "\n"},
	},

	// Unusual and valid.
	{
		"pretty printed", "F1",
		[]string{
			framed("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n"),
		},
	},
	{
		"braces in a string", "F1",
		[]string{
			framed(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"}{\"}"}}`),
		},
	},
	{
		"unknown members", "L1",
		[]string{
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"extra":[1,null]}` + "\n",
		},
	},
	{
		"params null", "L1",
		[]string{`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}` + "\n"},
	},
	{
		"two on a line", "L1+L2",
		[]string{ping1 + ping2 + "\n"},
	},
	{
		"3 MiB", "L1",
		[]string{
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` +
				strings.Repeat("{長い} ", 3<<18) + `"}}` + "\n",
		},
	},

	{
		"framed id", `F"日本"`,
		[]string{framed(ping(`"日本"`))},
	},
}

// Every input gets its answers, and the message after it is understood.
func TestInput(t *testing.T) {
	t.Parallel()
	for _, tt := range inputs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, "")
			answers := 0
			for i, want := range strings.Fields(tt.want) {
				c.put(tt.in[i])
				if i == len(tt.in)-1 {
					_ = c.stdin.Close()
				}
				answers += len(sorted(want))
				c.wait(want, func() bool { return len(c.all) >= answers })
			}

			got := sorted(short(t, c.eof()))
			if want := sorted(tt.want); !slices.Equal(got, want) {
				t.Errorf("answers: %s, want %s", got, want)
			}
		})
	}
}

// Input that arrives all at once gets the same answers, perhaps in another framing.
func TestInputAtOnce(t *testing.T) {
	t.Parallel()
	framing := strings.NewReplacer("F", "", "L", "")
	for _, tt := range inputs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, _ := serve(t, "")
			c.put(strings.Join(tt.in, ""))

			got := sorted(framing.Replace(short(t, c.eof())))
			if want := sorted(framing.Replace(tt.want)); !slices.Equal(got, want) {
				t.Errorf("answers: %s, want %s", got, want)
			}
		})
	}
}

// Ids come back as they were sent, to the byte.
func TestIDs(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, "")
	for _, id := range []string{
		`0`, `-1`, `9007199254740993`, `123456789012345678901234`, `1.50`, `1e3`,
		`""`, `"1"`, `"a\u0062"`, `"日本"`, `"\ud83d\ude00"`, `"a/b\/c"`, `"<&>"`,
	} {
		t.Run(id, func(t *testing.T) {
			c.line(ping(id))
			want := `{"jsonrpc":"2.0","id":` + id + `,"result":{}}`
			if got := c.want(id).raw; got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// sorted returns the answers in the words of the table.
func sorted(words string) []string {
	separates := func(r rune) bool { return strings.ContainsRune(" +_", r) }
	return slices.Sorted(slices.Values(strings.FieldsFunc(words, separates)))
}

// short returns messages in the words of the table.
func short(t *testing.T, messages []message) (words string) {
	t.Helper()
	for _, m := range messages {
		framing := " L"
		if m.framed {
			framing = " F"
		}

		answer := m.id
		if m.id == "null" {
			answer = errorOf(t, m.raw).Get("code").Raw
		} else if m.raw != `{"jsonrpc":"2.0","id":`+m.id+`,"result":{}}` {
			t.Errorf("answer to a ping: %s", m.raw)
		}
		words += framing + answer
	}
	return words
}
