package main

import (
	"slices"
	"strings"
	"testing"
)

// Messages as they are sent.
var (
	ping1  = ping("1")
	ping2  = ping("2")
	line1  = ping1 + "\n"
	line2  = ping2 + "\n"
	frame1 = framed(ping1)
	frame2 = framed(ping2)
)

// cut is where a test waits for the answers to what it has sent.
const cut = "<cut>"

// What many inputs end with.
var (
	nextLine    = "\n" + cut + line1
	nextFrame   = cut + frame1
	bodyAndNext = ping1 + cut + frame2
)

// inputs and what they are answered. want has a word for each piece: F or L for the framing, with the
// id of a ping or the code of an error. "_" is no answer, "+" joins the answers to one piece. Only an
// object or an array on a line shows that the client uses lines.
var inputs = []struct{ name, want, in string }{
	{"framed", "F1", frame1},
	{"line", "L1", line1},
	{"line without its end", "L1", ping1},
	{"crlf lines", "L1 L2", ping1 + "\r\n" + cut + ping2 + "\r\n"},
	{"blank lines", "L1", "\n\r\n \t\n" + ping1 + "\n\n"},
	{"lines stay lines", "L1 L2", line1 + cut + frame2},
	{
		"framed until the first line", "F1 L2 L3",
		frame1 + cut + line2 + cut + framed(ping("3")),
	},

	// Headers.
	{"upper case", "F1", "CONTENT-LENGTH:40\r\n\r\n" + ping1},
	{"bare line feeds", "F1", "Content-Length: 40\n\n" + ping1},
	{
		"other headers", "F1",
		"X-A: b\r\nContent-Length: 40\r\nContent-Type: application/json\r\n\r\n" + ping1,
	},
	{
		"no length", "F1 F2",
		"Content-Type: application/json\r\n\r\n" + bodyAndNext,
	},
	{
		"length in words", "F1 F2",
		"Content-Length: forty\r\n\r\n" + bodyAndNext,
	},
	{
		"negative length", "F1 F2",
		"Content-Length: -1\r\n\r\n" + bodyAndNext,
	},
	{
		"length beyond 64 bits", "F1 F2",
		"Content-Length: 99999999999999999999999\r\n\r\n" + bodyAndNext,
	},
	{
		"two lengths", "F1 F2",
		"Content-Length: 7\r\nContent-Length: 40\r\n\r\n" + bodyAndNext,
	},
	{
		"blank line forgotten", "F1 F2",
		"Content-Length: 40\r\n" + bodyAndNext,
	},
	{"header only", "F-32700", "Content-Length: 40\r\n\r\n"},
	{"half a header", "F-32700", "Content-Len"},

	// Lengths that are not those of the body. The first is the specification's example.
	{
		"the specification's ping", "F99 F2",
		"Content-Length: 36\n\n" + ping("99") + "\n" + cut + frame2,
	},
	{"too large", "F1 F2", "Content-Length: 118\r\n\r\n" + bodyAndNext},
	{"too small", "F1 F2", "Content-Length: 3\r\n\r\n" + bodyAndNext},
	{"zero", "F1 F2", "Content-Length: 0\r\n\r\n" + bodyAndNext},
	{
		"99 GB", "F1 F2",
		"Content-Length: 99000000000\r\n\r\n" + bodyAndNext,
	},
	{
		"characters for bytes", "F1 F2",
		"Content-Length: 63\r\n\r\n" +
			`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"日本語の文字"}}` + cut + frame2,
	},

	// Not JSON, and the message after it.
	{"a line of text", "F-32700 L1", "hello" + nextLine},
	{"text, framed", "F-32700 F1", framed("hello") + nextFrame},
	{
		"half a message, framed", "F-32700+F1",
		framed(`{"jsonrpc":"2.0","id":`) + frame1,
	},
	{
		"broken, with a short length", "F-32700+F-32700+F1+F2",
		"Content-Length: 5\r\n\r\n{\"a\":{\"b\":1,}}" + frame1 + frame2,
	},
	{
		"half a message, a line", "F-32700 L1",
		`{"jsonrpc":"2.0","id":` + nextLine,
	},
	{"half a message, wrong already", "F-32700 L1", `{"a":x` + cut + "}\n" + line1},
	{"open string", "F-32700+F1", framed(`{"a":"b`) + frame1},
	{"wrong brackets", "F-32700 F1", framed(`{"a":[1}]`) + nextFrame},
	{"balanced, but not JSON", "F-32700 F1", framed(`{"a":01}`) + nextFrame},
	{"empty body", "F-32700+F1", framed("") + frame1},
	{
		"99 GB of text", "F-32700 F1",
		"Content-Length: 99000000000\r\n\r\nhello\n" + nextFrame,
	},
	{
		"an open body, wrong already", "F-32700 F-32700 F1",
		"Content-Length: 500\r\n\r\n{\"a\":]" + cut +
			strings.Repeat("x", 493) + "{\"a\":\n" + nextFrame,
	},
	{"bytes that are not text", "F-32700 L1", "\x00\xff\xfe\x01" + nextLine},
	{"text before a header", "F-32700+F1", "gar bage" + frame1},
	{"a log line", "F-32700 F1", "warning: it is late\n" + nextFrame},
	{"a brace too many", "L1 L-32700 L2", ping1 + cut + "}\n" + cut + line2},
	{
		"HTTP", "F-32700 F1",
		"POST / HTTP/1.1\r\n" + cut + "Host: localhost\r\nContent-Length: 40\r\n\r\n" + ping1,
	},
	{
		"nested too deeply", "F-32700 L1",
		strings.Repeat("[", 20000) + nextLine,
	},

	// JSON that is not a request.
	{"a number", "F-32600 L1", "42" + nextLine},
	{"a framed number", "F-32600 F1", framed("42") + nextFrame},
	{"null", "F-32600", "null\n"},
	{"an empty array", "L-32600", "[]\n"},
	{
		"10,000 elements", "L-32600 L1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":[` +
			strings.Repeat("{},", 5000) + "0]}}" + nextLine,
	},
	{"a batch", "L-32600", "[" + ping1 + "," + ping2 + "]\n"},
	{"an empty object", "L-32600", "{}\n"},
	{"no version", "L-32600", `{"id":1,"method":"ping"}`},
	{"another version", "L-32600", `{"jsonrpc":"1.0","id":1,"method":"ping"}`},
	{"version a number", "L-32600", `{"jsonrpc":2.0,"id":1,"method":"ping"}`},
	{"no method", "L-32600", `{"jsonrpc":"2.0","id":1}`},
	{"method a number", "L-32600", `{"jsonrpc":"2.0","id":1,"method":1}`},
	{"names in capitals", "L-32600", `{"JSONRPC":"2.0","ID":1,"METHOD":"ping"}`},
	{
		"ids that are not ids", "L-32600+L-32600+L-32600",
		ping("true") + "\n" + ping("{}") + "\n" + ping("[1]") + "\n",
	},

	// Nothing to answer.
	{"a notification", "_ L1", initialized + nextLine},
	{
		"an unknown notification", "_ L1",
		`{"jsonrpc":"2.0","method":"notifications/none"}` + nextLine,
	},
	{
		"a response", "_ L1",
		`{"jsonrpc":"2.0","id":1,"result":{}}` + nextLine,
	},
	{
		"an error response", "_ L1",
		`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}` + nextLine,
	},
	{"nothing", "", ""},

	// Byte order marks.
	{"mark before a header", "F1", "\ufeff" + frame1},
	{"mark before a line", "L1", "\ufeff" + line1},
	{"mark in a body", "F1", framed("\ufeff" + ping1)},
	{"mark before the second", "L1 L2", line1 + cut + "\ufeff" + line2},

	// Unusual and valid.
	{
		"pretty printed", "F1",
		framed("{\n  \"jsonrpc\": \"2.0\",\n  \"id\": 1,\n  \"method\": \"ping\"\n}\n"),
	},
	{
		"braces in a string", "F1",
		framed(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"a":"}{\"}"}}`),
	},
	{
		"unknown members", "L1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{},"extra":[1,null]}` + "\n",
	},
	{
		"params null", "L1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":null}` + "\n",
	},
	{"two on a line", "L1+L2", ping1 + line2},
	{
		"3 MiB", "L1",
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` +
			strings.Repeat("{長い} ", 3<<18) + `"}}` + "\n",
	},

	{"framed id", `F"日本"`, framed(ping(`"日本"`))},
}

// Every input gets its answers, and the message after it is understood. Input that arrives at once
// gets the same answers, perhaps in another framing.
func TestInput(t *testing.T) {
	t.Parallel()
	noFraming := strings.NewReplacer("F", "", "L", "")

	for _, tt := range inputs {
		pieces := strings.Split(tt.in, cut)
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			c, _ := serve(t, "")
			answers := 0

			for i, want := range strings.Fields(tt.want) {
				c.put(pieces[i])
				if i == len(pieces)-1 {
					c.stdin.Close()
				}

				answers += len(strings.Fields(sorted(want)))
				c.wait(want, func() bool { return len(c.all) >= answers })
			}
			checkAnswers(t, c, tt.want, strings.NewReplacer())
		})

		t.Run(tt.name+", at once", func(t *testing.T) {
			t.Parallel()

			c, _ := serve(t, "")
			c.put(strings.Join(pieces, ""))
			checkAnswers(t, c, tt.want, noFraming)
		})
	}
}

// checkAnswers wants that a session ends with these answers. compared returns what counts of them.
func checkAnswers(t *testing.T, c *client, want string, compared *strings.Replacer) {
	t.Helper()
	got := ""
	for _, m := range c.eof() {
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
		got += framing + answer
	}

	got = sorted(compared.Replace(got))
	if want = sorted(compared.Replace(want)); got != want {
		t.Errorf("answers: %s, want %s", got, want)
	}
}

// Ids and progress tokens come back as they were sent, to the byte.
func TestIDs(t *testing.T) {
	t.Parallel()

	c, _ := serve(t, "")
	c.begin()

	for _, id := range []string{
		`0`, `-1`, `-0`, `9007199254740993`, `123456789012345678901234`, `1.50`, `1e3`,
		`""`, `"1"`, `"a\u0062"`, `"日本"`, `"\ud83d\ude00"`, `"a/b\/c"`, `"<&>"`, `"é\" 1"`,
	} {
		t.Run(id, func(t *testing.T) {
			c.line(strings.Replace(watched(ask(id, "x")), `"token"`, id, 1))
			prefix := `{"jsonrpc":"2.0","id":` + id + `,"result":{`

			if got := c.want(id).raw; !strings.HasPrefix(got, prefix) {
				t.Errorf("got %s, want %s", got, prefix)
			}

			progress := `"progressToken":` + id
			if !strings.Contains(c.output(), progress) {
				t.Errorf("no message with %s:\n%s", progress, c.output())
			}
		})
	}
}

// sorted returns the answers in the words of the table.
func sorted(words string) string {
	list := strings.Fields(strings.NewReplacer("+", " ", "_", " ").Replace(words))
	slices.Sort(list)

	return strings.Join(list, " ")
}
