package main_test

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// withinSecond measures what must happen within a second. A machine that does
// other things as well gets three tries.
func withinSecond(t *testing.T, try func() time.Duration) {
	t.Helper()
	var took time.Duration
	for range 3 {
		if took = try(); took < time.Second {
			return
		}
	}
	t.Errorf("took %v three times in a row, want less than a second", took)
}

// A cancelled call aborts its HTTP request at once (spec §6.1).
func TestCancelAborts(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "always", "hang")})
	n := 0
	withinSecond(t, func() time.Duration {
		n++
		c.line(ask(fmt.Sprint(n), "hang"))
		c.requests(n)
		begin := time.Now()
		c.line(cancelling(fmt.Sprint(n)))
		if err := c.api.WaitAborted(c.ctx, n); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	})
	c.silent()
	c.count(n)
}

// A cancelled call is never answered and sends no further request; its id may
// be used again, and others go on.
func TestCancelIsSilent(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "hang", "always", "ok")})
	c.line(ask(`"a"`, "hang"))
	c.requests(1)
	c.line(ask(`"b"`, "HTTP 404"))
	c.want(`"b"`)
	c.line(cancelling(`"a"`))
	if err := c.api.WaitAborted(c.ctx, 1); err != nil {
		t.Fatal(err)
	}
	c.line(ask(`"a"`, "HTTP 404"), pinging(`"p"`))
	c.want(`"a"`).answered(t)
	c.want(`"p"`)
	c.silent()
	c.count(3)
}

// The id is free from the moment of the cancellation on, in the same write.
func TestCancelFreesID(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	c.line(ask("7", "HTTP 404"), cancelling("7"), ask("7", "HTTP 404"))
	c.want("7").answered(t)
	c.silent()
}

// A call that waits for its next try sends none once it is cancelled.
func TestCancelBeforeRetry(t *testing.T) {
	t.Parallel()
	for _, step := range []string{"429:retry-after=50", "500", "cut"} {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			c := begin(t, setup{api: newAPI(t, step), args: []string{"--debug"}})
			c.line(ask("1", "HTTP 404"))
			c.logged("openai(client): error")
			c.line(cancelling("1"))
			c.logged("cancelled requestId=1")
			c.silent()
			c.count(1)
		})
	}
}

// What cannot be cancelled is not, and nobody is told.
func TestCancelIgnored(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ name, notification string }{
		{"unknown id", cancelling("42")},
		{"unknown string id", cancelling(`"1"`)}, // not the number
		{"finished", cancelling(`"before"`)},
		{"initialize", cancelling(`"init"`)},
		{"no id", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"reason":"x"}}`},
		{"no params", `{"jsonrpc":"2.0","method":"notifications/cancelled"}`},
		{"params null", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":null}`},
		{"params a list", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":[1]}`},
		{"id null", cancelling("null")},
		{"id an object", cancelling(`{"id":1}`)},
		{"id a boolean", cancelling("true")},
		{"reason no string", `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2,"reason":{"a":1}}}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, setup{api: newAPI(t)})
			c.line(ask(`"before"`, "HTTP 404"))
			c.want(`"before"`)
			c.line(ask("1", "HTTP 404"), tt.notification)
			c.want("1").answered(t)
			c.silent()
		})
	}
}

// initialize is answered although it was cancelled in the same write.
func TestCancelInitialize(t *testing.T) {
	t.Parallel()
	c := serve(t, setup{})
	c.line(initialize, cancelling(`"init"`), pinging("1"))
	c.want(`"init"`).result(t)
	c.want("1")
	c.done()
}

// In debug a cancellation is one line, without content.
func TestCancelLog(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "hang"), args: []string{"--debug"}})
	c.line(ask(`"a b"`, "hang"))
	c.requests(1)
	c.line(cancelling(`"a b"`))
	if err := c.api.WaitAborted(c.ctx, 1); err != nil {
		t.Fatal(err)
	}
	c.done()
	var lines []string
	for line := range strings.Lines(c.stderr.String()) {
		if strings.Contains(line, " cancelled ") {
			lines = append(lines, line)
		}
	}
	if len(lines) != 1 || !strings.Contains(lines[0], "requestId=") || !strings.Contains(lines[0], `reason="changed my mind"`) {
		t.Errorf("lines of the cancellation: %q, want one with requestId and reason", lines)
	}
}
