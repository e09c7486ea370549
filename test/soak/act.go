package main

import (
	"context"
	"fmt"
	"strings"
	"time"
)

const (
	// crowd bounds the calls in flight of a session.
	crowd = 64
	// later bounds how long after a call its cancellation is sent.
	latest = 400 * time.Millisecond
)

// delayed is something that the driver does at a time.
type delayed struct {
	at time.Time
	do func() string
}

// drive acts until a time, or the end of ctx. All that was put off is done then.
func (s *session) drive(ctx context.Context, until time.Time) error {
	free := time.Now() // when there was room for another call
	for now := free; now.Before(until) && ctx.Err() == nil; now = time.Now() {
		s.due(now)
		if s.inFlight() < crowd {
			s.act()
			free = now
		} else if now.Sub(free) > patience {
			return fmt.Errorf("%d requests in flight, and none answered for %v", s.inFlight(), patience)
		}
		select {
		case <-time.After(min(time.Duration(s.rng.ExpFloat64()*float64(s.pause)), time.Second)):
		case <-ctx.Done():
		}
	}
	s.due(time.Now().Add(time.Hour))
	return context.Cause(ctx)
}

// due does what was put off until now.
func (s *session) due(now time.Time) {
	left := s.later[:0]
	for _, d := range s.later {
		if d.at.After(now) {
			left = append(left, d)
		} else {
			s.send(d.do())
		}
	}
	s.later = left
}

// act does one thing, drawn by weight.
func (s *session) act() {
	switch n := s.rng.IntN(100); {
	case n < 40:
		s.send(s.call())
	case n < 58:
		s.send(s.callAndCancel())
	case n < 61:
		s.send(s.repeat())
	case n < 64:
		s.send(s.reuse())
	case n < 70:
		s.send(s.plain())
	case n < 77:
		s.send(s.wrong())
	case n < 83:
		s.owe()
		s.send(s.garbage())
	case n < 88:
		s.send(s.cancelNothing())
	case n < 92:
		s.send(s.noise())
	case n < 94:
		s.burst()
	case n < 96:
		s.slowReader()
	default:
		s.send(s.call() + s.plain() + s.call())
	}
}

// ask makes a question for the API and the call of a tool with it.
func (s *session) ask(sc scenario, id string, copied bool) (*request, string) {
	nonce, text := s.question()
	r := &request{id: id, nonce: nonce, copy: copied}
	if s.rng.IntN(2) == 0 {
		r.token = s.freshToken()
	}
	r.check = r.wantAnswer(sc, s.hasty(), s.tally)
	s.api.expect(nonce, sc.kind, sc.parse(s.rng, nonce))
	s.tally.add(calls)
	arguments := `"query":` + quote(text)
	if s.rng.IntN(4) == 0 {
		arguments += `,"recency_days":7,"max_results":3,"domains":["example.com"],"unknown":null`
	}
	tool := []string{"answer", "answer", "answer_detailed", "answer_quick"}[s.rng.IntN(4)]
	return r, s.enter(r, s.message(id, "tools/call", r.token, `"name":`+quote(tool), `"arguments":{`+arguments+`}`))
}

// enter makes a request ready to be sent.
func (s *session) enter(r *request, body string) string {
	packed := s.pack(body, &r.lined)
	s.add(r)
	return packed
}

// scenario draws what the next call meets. One that is never answered must end
// by its timeout or be cancelled.
func (s *session) scenario(cancelled bool) scenario {
	return draw(s.rng, func(sc scenario) bool { return sc.outcome != silent || cancelled || s.hasty() })
}

func (s *session) call() string {
	_, bytes := s.ask(s.scenario(false), s.freshID(), false)
	return bytes
}

// callAndCancel cancels before the call, in the same write, soon, or late enough
// that many are answered by then; at times twice.
func (s *session) callAndCancel() string {
	id, before := s.freshID(), ""
	if s.rng.IntN(5) == 0 {
		before = s.notify("notifications/cancelled", `"requestId":`+id) // takes nothing back
		s.tally.add(cancelsOfNothing)
	}
	r, bytes := s.ask(s.scenario(true), id, false)
	if s.rng.IntN(4) == 0 {
		return before + bytes + s.takeBack(r)
	}
	wait := time.Duration(s.rng.Int64N(int64(latest)))
	if s.rng.IntN(2) == 0 {
		wait /= 20
	}
	s.later = append(s.later, delayed{time.Now().Add(wait), func() string { return s.takeBack(r) }})
	return before + bytes
}

// takeBack cancels a call, unless its id is another's by now. Behind the
// cancellation goes a request from whose answer on there is none to the call.
func (s *session) takeBack(r *request) string {
	if all := s.holders(r.id); len(all) > 0 && all[0] != r {
		return ""
	}
	hit, ok := s.cancel(r.id)
	if !ok {
		return ""
	}
	out := s.notify("notifications/cancelled", `"requestId":`+r.id, `"reason":"changed my mind"`)
	if s.rng.IntN(4) == 0 {
		out += s.notify("notifications/cancelled", `"requestId":`+r.id)
	}
	if hit == nil {
		s.tally.add(cancelsTooLate)
		return out
	}
	return out + s.simple([]*request{hit})
}

// repeat sends a call again under its id while it is in flight.
func (s *session) repeat() string {
	id := s.freshID()
	_, first := s.ask(s.scenario(false), id, false)
	_, second := s.ask(scenario{}, id, true)
	return first + second
}

// reuse cancels a call and uses its id for the next one at once. The answer to
// the second must be told from one to the first, so it has to be none of an error.
func (s *session) reuse() string {
	if s.hasty() {
		return s.callAndCancel()
	}
	id := s.freshID()
	r, bytes := s.ask(s.scenario(true), id, false)
	bytes += s.takeBack(r)
	_, again := s.ask(scenario{}, id, false)
	return bytes + again
}

// plain is a request that the server answers by itself.
func (s *session) plain() string { return s.simple(nil) }

func (s *session) simple(behind []*request) string {
	r := &request{id: s.freshID(), behind: behind}
	method := "tools/list"
	if r.check = wantResult(`"answer_quick"`); !s.stateless && s.rng.IntN(3) > 0 {
		method, r.check = "ping", wantResult("{}")
	}
	return s.enter(r, s.message(r.id, method, ""))
}

// wrong is a request that is answered by an error, and why.
func (s *session) wrong() string {
	r := &request{id: s.freshID()}
	tool := func(name, arguments string) string {
		return s.message(r.id, "tools/call", "", `"name":`+name, `"arguments":`+arguments)
	}
	n := s.rng.IntN(8)
	if n == 7 && s.stateless {
		n = 0
	}
	var body string
	switch n {
	case 0:
		r.check, body = wantError(-32601, "Method not found"), s.message(r.id, "no/such/method", "")
	case 1:
		r.check, body = wantError(-32601, "Method not found"), s.message(r.id, "resources/list", "")
	case 2:
		r.check, body = wantError(-32601, "Unknown tool"), tool(`"no_such_tool"`, `{"query":"x"}`)
	case 3:
		r.check, body = wantError(-32602, ""), tool(`["answer"]`, `{"query":"x"}`)
	case 4:
		r.check, body = wantError(-32001, "answer: invalid arguments"), tool(`"answer"`, `{}`)
	case 5:
		r.check, body = wantError(-32001, "answer: invalid arguments"), tool(`"answer"`, `{"query":"x","max_results":0}`)
	case 6:
		r.check, body = wantError(-32001, "answer_quick: invalid arguments"), tool(`"answer_quick"`, `{"query":["x"]}`)
	case 7:
		r.check, body = wantError(-32600, "Invalid Request: the session is initialized"), s.message(r.id, "initialize", "", `"capabilities":{}`, `"protocolVersion":"2025-06-18"`)
	}
	return s.enter(r, body)
}

// notify is a notification, ready to be sent.
func (s *session) notify(method string, params ...string) string {
	var lined bool
	return s.pack(s.message("", method, "", params...), &lined)
}

// cancelNothing cancels what there is not.
func (s *session) cancelNothing() string {
	s.tally.add(cancelsOfNothing)
	what := [][]string{
		{`"requestId":` + s.freshID()}, {`"requestId":"none"`}, {`"requestId":"12"`}, {`"requestId":null`},
		{`"requestId":{"a":1}`}, {`"reason":"x"`}, nil,
	}
	return s.notify("notifications/cancelled", what[s.rng.IntN(len(what))]...)
}

// noise is what needs no answer.
func (s *session) noise() string {
	switch n := s.rng.IntN(5); {
	case n == 0:
		return s.notify("notifications/none", `"a":[1,2]`)
	case n == 1:
		return s.notify("tools/call", `"name":"answer"`) // no id: no call
	case n == 2:
		return "\n\r\n \t\n"
	case n == 3 && s.framing != "framed":
		return `{"jsonrpc":"2.0","id":1,"result":{}}` + "\n"
	}
	return "\ufeff" + s.call() // a byte order mark
}

// burst sends many calls in one write.
func (s *session) burst() {
	var b strings.Builder
	for range 8 + s.rng.IntN(crowd) {
		b.WriteString(s.call())
	}
	s.send(b.String())
}

// slowReader stops reading while more is answered than the pipe holds, and takes
// calls back meanwhile.
func (s *session) slowReader() {
	s.tally.add(pauses)
	s.holdTill.Store(time.Now().Add(time.Duration(50+s.rng.IntN(300)) * time.Millisecond).UnixNano())
	var b strings.Builder
	for range 80 {
		r := &request{id: s.freshID(), check: wantResult(`"answer_quick"`)}
		b.WriteString(s.enter(r, s.message(r.id, "tools/list", "")))
		if s.rng.IntN(8) == 0 {
			b.WriteString(s.callAndCancel())
		}
	}
	s.send(b.String())
}
