package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// meta is how a stateless client introduces itself in every request.
const meta = `"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"soak","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}`

// message is the JSON text of a request or, without an id, of a notification.
// params are members of the object of that name.
func (s *session) message(id, method, token string, params ...string) string {
	var about []string
	if token != "" {
		about = append(about, `"progressToken":`+token)
	}
	if s.stateless && id != "" {
		about = append(about, meta)
	}
	if len(about) > 0 {
		params = append([]string{`"_meta":{` + strings.Join(about, ",") + "}"}, params...)
	}
	if id != "" {
		id = `"id":` + id + ","
	}
	body := `{"jsonrpc":"2.0",` + id + `"method":` + quote(method)
	if len(params) > 0 {
		body += `,"params":{` + strings.Join(params, ",") + "}"
	}
	return body + "}"
}

// quote is the JSON text of a string.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string is always JSON
	}
	return string(b)
}

// pack frames a message in the manner of the session. Of the mixed ones some
// declare a length that is not theirs, which the end of the JSON value mends.
func (s *session) pack(body string, lined *bool) string {
	if s.framing == "line" || s.framing == "mixed" && s.rng.IntN(2) == 0 {
		*lined = true
		s.soak.tally.add(sentLines)
		return body + []string{"\n", "\n", "\r\n", "\n\n"}[s.rng.IntN(4)]
	}
	s.soak.tally.add(sentFramed)
	switch s.rng.IntN(12) {
	case 0:
		return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", max(1, len(body)+s.rng.IntN(60)-30), body)
	case 1:
		return fmt.Sprintf("content-length:%d\n\n%s", len(body), body)
	case 2:
		return fmt.Sprintf("Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return wire.Frame(body)
}

// garbage is what gets one refusal and says nothing of the framing.
func (s *session) garbage() string {
	all := []string{
		wire.Frame("hello"), wire.Frame("42"), wire.Frame(`{"a":[1}]`), wire.Frame(`{"a":01}`),
		"hello\n", "42\n", "null\n", "\"ping\"\n", "warning: it is late\n", "\x00\xff\xfe\x01\n",
		`{"jsonrpc":"2.0","id":` + "\n", strings.Repeat("[", 20000) + "\n",
	}
	if s.framing != "framed" {
		all = append(all, "[]\n", "{}\n", `{"jsonrpc":"1.0","id":1,"method":"ping"}`+"\n",
			`{"jsonrpc":"2.0","id":null,"method":"ping"}`+"\n", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`+"\n")
	}
	return all[s.rng.IntN(len(all))]
}

// send writes bytes, at times in pieces that end anywhere.
func (s *session) send(bytes string) {
	s.log.add("->", bytes)
	for bytes != "" {
		n := len(bytes)
		if s.rng.IntN(4) == 0 {
			n = 1 + s.rng.IntN(n)
		}
		if _, err := io.WriteString(s.in, bytes[:n]); err != nil {
			select {
			case <-s.ended:
				err = fmt.Errorf("%w; the server has ended: %v", err, s.exit)
			default:
			}
			s.fail("writing: %v", err)
			return
		}
		bytes = bytes[n:]
	}
}

// freshID draws an id that is not in flight, from few, so that ids are used again.
func (s *session) freshID() string {
	for {
		n := s.rng.IntN(64)
		id := []string{
			fmt.Sprint(n), fmt.Sprint(-1 - n), fmt.Sprint(9007199254740993 + int64(n)), fmt.Sprintf("1234567890123456789012%d", n),
			fmt.Sprintf("%d.5", n), fmt.Sprintf("%de3", n), fmt.Sprintf(`"s%d"`, n), fmt.Sprintf(`"\u00e9%d"`, n),
			fmt.Sprintf(`"日本 %d/\"<&>"`, n),
		}[s.rng.IntN(9)]
		if len(s.holders(id)) == 0 {
			return id
		}
	}
}

// freshToken makes a progress token that nobody has had, of a kind that clients use.
func (s *session) freshToken() string {
	s.last++
	return []string{
		fmt.Sprint(s.last), fmt.Sprintf(`"t%d"`, s.last), fmt.Sprint(9007199254740993 + int64(s.last)),
		fmt.Sprint(-s.last), fmt.Sprintf("%d.25", s.last), fmt.Sprintf(`"\u00fc%d"`, s.last),
		fmt.Sprintf("9%030d", s.last),
	}[s.rng.IntN(7)]
}

// question makes one with a nonce in front. The end of it is what decides
// whether a model searches.
func (s *session) question() (nonce, text string) {
	s.last++
	nonce = fmt.Sprintf("Q%012xQ", s.rng.Uint64()>>16)
	text = nonce + " " + []string{
		"What does HTTP 404 mean, and who decides when it is sent?",
		"What is the weather in Tokyo today, and will it rain tomorrow?",
		"Which is the latest version of Go, and what is new in it?",
		"HTTP 404 とは何ですか。どのような場合に返されるのか、例も挙げてください。",
		"本日の東京の天気は？ 傘は要りますか。 <b>&amp;</b> \"quoted\" \\ / \u2028",
	}[s.rng.IntN(5)]
	if s.rng.IntN(40) == 0 {
		text += strings.Repeat(" and once more, in other words", 100+s.rng.IntN(2000))
	}
	return nonce, text
}
