package main_test

import (
	"fmt"
	"strings"
	"testing"
)

// Ids come back as they were sent, to the byte.
func TestIDsVerbatim(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	for _, id := range []string{
		"0", "1", "-1",
		"9007199254740993",           // 2^53+1: a float64 rounds it
		"123456789012345678901234",   // beyond int64
		"1.5", "1.50", "1e3", "-0.0", // numbers keep their spelling
		`""`, `"a"`, `"1"`, `"null"`,
		`"a\u0062"`, `"\u00e9"`, `"é"`, `"日本"`, `"\ud83d\ude00"`, // strings keep their escapes
		`"a/b\/c"`, `"<&>"`, `"\"quoted\\"`, `"\t"`,
		`"` + strings.Repeat("long ", 20000) + `"`,
	} {
		c.line(pinging(id))
		c.want(id).equal(t, `{"jsonrpc":"2.0","id":`+id+`,"result":{}}`)
		c.line(ask(id, "HTTP 404"))
		c.want(id).answered(t)
		c.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"tools/call","params":{"name":"no such tool"}}`)
		c.want(id).fault(t)
		c.line(`{"jsonrpc":"2.0","id":` + id + `,"method":"no/such/method"}`)
		c.want(id).fault(t)
	}
	c.done()
}

// What is no id is refused, under null.
func TestNoIDs(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	for _, id := range []string{"null", "true", "{}", "[1]"} {
		c.line(pinging(id))
		if got := c.want("null").fault(t); got.Code != -32600 {
			t.Errorf("id %s: %+v, want -32600", id, got)
		}
	}
	c.done()
}

// An id that is in flight cannot be used again; however it is written, it is
// the same id. The first call still gets its answer.
func TestIDsInFlight(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ first, second string }{
		{"1", "1"},
		{`"ab"`, `"ab"`},
		{`"ab"`, `"a\u0062"`},
	} {
		t.Run(tt.first+" "+tt.second, func(t *testing.T) {
			t.Parallel()
			c := begin(t, setup{api: newAPI(t, "hang")})
			c.line(ask(tt.first, "hang"))
			c.requests(1)
			c.line(ask(tt.second, "HTTP 404"), pinging(tt.second))
			for range 2 {
				if got := c.want("null").fault(t); got.Code != -32600 {
					t.Errorf("second use of %s: %+v, want -32600", tt.second, got)
				}
			}
			c.count(1)
			c.line(cancelling(tt.second)) // the same id, so this is the first call
			if err := c.api.WaitAborted(c.ctx, 1); err != nil {
				t.Fatal(err)
			}
			c.line(pinging(tt.first))
			c.want(tt.first)
			c.silent()
		})
	}
}

// The number 1 and the string "1" are two ids.
func TestIDsOfTwoTypes(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "hang", "always", "ok")})
	c.line(ask("1", "hang"))
	c.requests(1)
	c.line(ask(`"1"`, "HTTP 404"))
	c.want(`"1"`).answered(t)
	c.line(cancelling("1"))
	c.done()
}

// As many calls as may are in the hands of the API at the same time; none waits
// for another.
func TestManyCalls(t *testing.T) {
	t.Parallel()
	const calls = 256
	c := begin(t, setup{api: newAPI(t, "always", "hang")})
	var lines []string
	for i := range calls {
		lines = append(lines, ask(fmt.Sprint(i), fmt.Sprintf("question %d", i)))
	}
	c.line(lines...)
	c.requests(calls)
	lines = nil
	for i := range calls {
		lines = append(lines, cancelling(fmt.Sprint(i)))
	}
	c.line(lines...)
	if err := c.api.WaitAborted(c.ctx, calls); err != nil {
		t.Fatal(err)
	}
	c.silent()
}

// 300 answers, none mixed up with another.
func TestManyAnswers(t *testing.T) {
	t.Parallel()
	const calls = 300
	c := begin(t, setup{api: newAPI(t)})
	var all strings.Builder
	for i := range calls {
		all.WriteString(frame(ask(fmt.Sprint(i), fmt.Sprintf("Meaning of code %d?", i))))
	}
	c.put(all.String())
	for i := range calls {
		want := fmt.Sprintf("Meaning of code %d?", i)
		if got := c.want(fmt.Sprint(i)).answered(t); !strings.Contains(got.Answer, want) {
			t.Errorf("answer to %q: %q", want, got.Answer)
		}
	}
	c.count(calls)
	c.silent()
}
