package main

import (
	"bufio"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// A soak that finds nothing must be able to find something: what a session may
// not hold, and what it may.
func TestLedger(t *testing.T) {
	const (
		one    = "Q000000000001Q"
		two    = "Q000000000002Q"
		result = `{"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"{\"answer\":\"` + one +
			`\",\"used_search\":false,\"citations\":[],\"model\":\"m\"}"}]}}`
		failure = `{"jsonrpc":"2.0","id":1,"error":{"code":-32001,"message":"answer failed: x"}}`
		told    = `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"t","progress":1,"message":"m"}}`
		refused = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: id 1 is in use"}}`
		garbled = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not JSON"}}`
		pong    = `{"jsonrpc":"2.0","id":2,"result":{}}`
	)
	other := strings.ReplaceAll(result, one, two)
	call := func(l *ledger, s scenario, nonce, token string, copied bool) *request {
		r := &request{id: "1", nonce: nonce, token: token, copy: copied}
		r.check = r.wantAnswer(s, false, l.tally)
		l.add(r)
		return r
	}
	ask := func(l *ledger) { call(l, scenario{}, one, "", false) }
	watch := func(l *ledger) { call(l, scenario{}, one, `"t"`, false) }
	fail := func(l *ledger) { call(l, scenario{outcome: failed}, one, "", false) }
	cancel := func(l *ledger) {
		r, ok := l.cancel("1")
		if !ok {
			t.Error("the cancellation is a guess")
		}
		l.add(&request{id: "2", check: wantResult("{}"), behind: []*request{r}})
	}
	again := func(l *ledger) { call(l, scenario{}, two, "", true) }
	garbage := func(l *ledger) { l.owe() }

	for _, tt := range []struct {
		name string
		do   []func(*ledger)
		got  []string
		want string // the error of the last message; "": none
		left int    // requests in flight then
	}{
		{"answered", []func(*ledger){ask}, []string{result}, "", 0},
		{"answered twice", []func(*ledger){ask}, []string{result, result}, "nobody waits for", 0},
		{"not asked", nil, []string{result}, "nobody waits for", 0},
		{"not answered", []func(*ledger){ask}, nil, "", 1},
		{"somebody else's answer", []func(*ledger){ask}, []string{other}, "belongs to " + two, 0},
		{"an error for an answer", []func(*ledger){ask}, []string{failure}, "want an answer", 0},
		{"an answer for an error", []func(*ledger){fail}, []string{result}, "want an error", 0},
		{"an error", []func(*ledger){fail}, []string{failure}, "", 0},

		{"cancelled", []func(*ledger){ask, cancel}, []string{pong}, "", 0},
		{"crossed", []func(*ledger){ask, cancel}, []string{result, pong}, "", 0},
		{"cancelled, and yet answered", []func(*ledger){ask, cancel}, []string{pong, result}, "nobody waits for", 0},
		{"cancelled, and still told", []func(*ledger){watch, cancel}, []string{pong, told}, "call that is over", 0},

		{"told", []func(*ledger){watch}, []string{told, result}, "", 0},
		{"told nothing", []func(*ledger){watch}, []string{result}, "without any progress", 0},
		{"told the same", []func(*ledger){watch}, []string{told, told}, "progress 1 after 1", 1},
		{"told too late", []func(*ledger){watch}, []string{told, result, told}, "call that is over", 0},

		{"id in flight", []func(*ledger){ask, again}, []string{refused, result}, "", 0},
		{"id free again", []func(*ledger){ask, again}, []string{result, other}, "", 0},
		{"id refused for nothing", []func(*ledger){ask}, []string{refused}, "refusal of nothing", 1},
		{"garbage", []func(*ledger){garbage}, []string{garbled}, "", 0},
		{"garbage refused twice", []func(*ledger){garbage}, []string{garbled, garbled}, "refusal of nothing", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l := newLedger(newTally(), func(string) {})
			for _, do := range tt.do {
				do(l)
			}
			var err error
			for _, text := range tt.got {
				m, bad := wire.Read(bufio.NewReader(strings.NewReader(text + "\n")))
				if bad != nil {
					t.Fatal(bad)
				}
				if err != nil {
					t.Fatalf("before %s: %v", text, err)
				}
				_, err = l.receive(m)
			}
			if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
				t.Errorf("receive = %v, want %q in it", err, tt.want)
			}
			if n := l.inFlight(); n != tt.left {
				t.Errorf("%d requests in flight, want %d", n, tt.left)
			}
		})
	}
}

// Every scenario can be made, and the names in the summary differ.
func TestScenarios(t *testing.T) {
	names := map[string]bool{}
	random := (&soak{}).random("test", 1)
	for _, s := range scenarios() {
		if s.kind != "" && names[s.kind] {
			t.Errorf("two scenarios are called %q", s.kind)
		}
		names[s.kind] = true
		if n := len(s.parse(random, "Q000000000001Q")); (n == 0) != (len(s.steps) == 0 && !s.echo) {
			t.Errorf("scenario %q has %d steps", s.kind, n)
		}
	}
}
