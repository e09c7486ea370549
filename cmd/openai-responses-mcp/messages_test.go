package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// cut is where a test waits for the answers to what it has sent.
const cut = "<cut>"

// input is what a client sends, and what it is answered, in the words of testdata/messages.table.
type input struct{ name, want, in string }

// readTable returns the rows of the table, and one that is not text.
func readTable(t *testing.T) (rows []input) {
	values := strings.NewReplacer(
		`\t`, "\t",
		"PING1", ping("1"),
		"PING2", ping("2"),
		"FRAME1", framed(ping("1")),
		"FRAME2", framed(ping("2")),
	)
	for _, row := range compare.Table(t, "messages", 3) {
		rows = append(rows, input{row[0], row[1], values.Replace(row[2])})
	}
	text := "\x00\xff\xfe\x01\n" + cut + ping("1") + "\n"
	return append(rows, input{"bytes that are not text", "F-32700 L1", text})
}

// Every input gets its answers, and the message after it is understood. Input that arrives at once
// gets the same answers, perhaps in another framing.
func TestInput(t *testing.T) {
	compare.SkipShort(t, "starts 100 programs")
	t.Parallel()
	noFraming := strings.NewReplacer("F", "", "L", "")

	for _, tt := range readTable(t) {
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

// Ids and progress tokens come back as they were sent, to the byte. A call that is answered at once
// may end before its progress is sent.
func TestIDs(t *testing.T) {
	t.Parallel()

	c, _ := serve(t, "always delay=2s")
	c.begin()

	const ids = `0, -1, -0, 9007199254740993, 123456789012345678901234, 1.50, 1e3, ` +
		`"", "1", "a\u0062", "日本", "\ud83d\ude00", "a/b\/c", "<&>", "é\" 1"`
	for id := range strings.SplitSeq(ids, ", ") {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			c.line(strings.Replace(withProgress(ask(id, "x")), `"token"`, id, 1))
			prefix := `{"jsonrpc":"2.0","id":` + id + `,"result":{`

			if got := c.want(id).raw; !strings.HasPrefix(got, prefix) {
				t.Errorf("got %s, want %s", got, prefix)
			}

			progress := `"progressToken":` + id
			compare.Contains(t, "output", c.output(), progress)
		})
	}
}

// sorted returns the answers in the words of the table.
func sorted(words string) string {
	list := strings.Fields(strings.NewReplacer("+", " ", "_", " ").Replace(words))
	slices.Sort(list)

	return strings.Join(list, " ")
}
