package httpd

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// session is the header of a request of a session.
func session(id string) string { return "Mcp-Session-Id: " + id + "\r\n" }

// callOf is a call of alice with an id.
func callOf(id, header string) string {
	return post(strings.Replace(tool, `"id":1`, `"id":`+id, 1), header)
}

// cancellation is what alice sends to end a call.
func cancellation(id, header string) string {
	const format = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":%s,"reason":"no longer needed"}}`
	return post(fmt.Sprintf(format, id), header)
}

// The call of a client is what its cancellation ends, which gets 202 in any case. The stream of the
// call then ends without a response.
func TestCancelled(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Set                     string
		CallToken, CallHeader, CallID string
		Token, Header, ID             string
		Want                          bool
	}](t, "cancelled") {
		inBubble(t, tt.Name, func(t *testing.T) {
			s := serve(t, ask{"42", time.Minute}, settings[tt.Set])
			began := time.Now()
			c := s.send(by(tt.CallToken, callOf(tt.CallID, tt.CallHeader)))
			synctest.Wait()

			_, body := s.request(by(tt.Token, cancellation(tt.ID, tt.Header)), 202)
			compare.Equal(t, "body of the cancellation", body, "")
			res, stream := s.receive(c, 200)
			compare.Equal(t, "content type", res.Header.Get("Content-Type"), "text/event-stream")
			compare.Equal(t, "ended", time.Since(began) < time.Second, tt.Want)
			compare.Equal(t, "a response", strings.Contains(stream, `"id":`), !tt.Want)

			s.request(by(tt.Token, cancellation(tt.ID, tt.Header)), 202) // it has ended
		})
	}
}

// A cancelled call whose response would be JSON has none.
func TestCancelledJSON(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{"42", time.Hour})
		c := s.send(strings.Replace(callOf("7", ""), ", text/event-stream", "", 1))
		synctest.Wait()

		s.request(cancellation("7", ""), 202)
		res, body := s.receive(c, 202)
		compare.Equal(t, "body", body, "")
		compare.Equal(t, "content type", res.Header.Get("Content-Type"), "")
	})
}

// The debug log has a line for each cancellation, also of a call that another replica may run.
func TestCancelledLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		s := serve(t, ask{"42", time.Minute}, func(o *Options) {
			debug := &slog.HandlerOptions{Level: slog.LevelDebug}
			o.Log = slog.New(slog.NewTextHandler(&log, debug))
		})
		go io.Copy(io.Discard, s.send(callOf("7", session("s"))))
		synctest.Wait()
		s.request(cancellation("7", session("s")), 202)
		s.request(cancellation(`"a\nb"`, ""), 202)
		s.end()

		const line = `msg=cancelled requestId=%s reason="no longer needed" client=alice calls=%d`
		compare.Contains(t, "log", log.String(), fmt.Sprintf(line, "7", 1))
		compare.Contains(t, "log", log.String(), fmt.Sprintf(line, `"\"a\\nb\""`, 0))
	})
}

// Each initialize gets another session. Later requests, of any session, do not.
func TestSession(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		sessions := map[string]bool{}
		for range 3 {
			res, _ := s.request(post(initialize, session("theirs")), 200)
			id := res.Header.Get(sessionHeader)
			if len(id) != 26 { // 5 bits each
				t.Errorf("session %q, want 26 characters", id)
			}
			sessions[id] = true
		}
		compare.Equal(t, "sessions", len(sessions), 3)

		for _, message := range []string{ping, list} {
			res, _ := s.request(post(message, session("theirs")), 200)
			compare.Equal(t, "session of a later request", res.Header.Get(sessionHeader), "")
		}
		for _, method := range []string{"GET", "DELETE"} {
			s.request(method+strings.TrimPrefix(post("", session("theirs")), "POST"), 405)
		}
	})
}

// A client that uses an id twice in its session means both calls. Without a session they may be
// those of two clients, and go on.
func TestCancelledTwice(t *testing.T) {
	for header, want := range map[string]int{session("s"): 2, "": 0} {
		inBubble(t, header, func(t *testing.T) {
			s := serve(t, ask{"42", time.Minute}, perUser(5))
			for range 2 {
				go io.Copy(io.Discard, s.send(callOf("7", header)))
			}
			synctest.Wait()

			s.request(cancellation("7", header), 202)
			time.Sleep(3 * time.Minute)
			const line = `calls_total{tool="answer",client="alice",outcome=%q} %d`
			for outcome, n := range map[string]int{"cancelled": want, "ok": 2 - want} {
				if n > 0 {
					s.metrics(fmt.Sprintf(line, outcome, n))
				}
			}
		})
	}
}

// chunked returns a request with its body in one chunk.
func chunked(request string) string {
	head, body, _ := strings.Cut(request, "\r\n\r\n")
	length := fmt.Sprint("Content-Length: ", len(body))
	head = strings.Replace(head, length, "Transfer-Encoding: chunked", 1)
	return fmt.Sprintf("%s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n", head, len(body), body)
}

// A person who has as many calls as possible can still cancel one, and send other notifications.
// Their small requests get an error, other methods 405, all else 429.
func TestCancelledBeyondBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{"42", time.Minute}, func(o *Options) {
			o.ServerOptions.People.Bounds.MaxCalls = 200
			perUser(8)(o)
		})
		for range 16 {
			go io.Copy(io.Discard, s.send(post(tool, session("s"))))
		}
		synctest.Wait()

		text := cancellation("7", session("s"))
		s.request(post(initialize, ""), 200, `"id":1,"error":{"code":-32001,"message":"too many calls`)
		s.request(post(`{"jsonrpc":"2.0","method":"notifications/initialized"}`, ""), 202)
		s.request(post(`{"jsonrpc":"2.0","method":"ping"}`, ""), 429)
		s.request(strings.Replace(text, "POST", "PUT", 1), 405)
		began := time.Now()
		half := strings.NewReplacer("Content-Length: 1", "Content-Length: 2")
		stateless := cancellation("7", session("s")+"Mcp-Protocol-Version: 2026-07-28\r\n")
		refused := s.send(half.Replace(stateless))
		s.receive(refused, 429)
		_, _ = io.Copy(io.Discard, refused)
		took(t, "a body that does not end", began, 2*lingerTime)
		s.request(cancellation(strings.Repeat(" ", maxBeyondBounds)+"7", session("s")), 429)
		s.request(half.Replace(text), 429)
		s.metrics("requests_in_flight 16")
		s.request(cancellation("7", session("s")), 202)

		s.request(chunked(cancellation(strings.Repeat(" ", maxBeyondBounds)+"7", session("s"))), 429)
		s.request(chunked(cancellation("1", session("s"))), 202)
		time.Sleep(time.Second)
		s.metrics("requests_in_flight 0")
	})
}

// A call can be cancelled in the drain, which then ends, on a connection that is still open.
func TestCancelledInDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		open := s.send(message)
		s.receive(open, 200)
		c := s.send(callOf("7", ""))
		synctest.Wait()

		began := time.Now()
		s.stop()
		time.Sleep(3 * time.Second)
		go io.WriteString(open, cancellation("7", ""))
		s.receive(open, 202)
		_, stream := s.receive(c, 200)
		compare.Equal(t, "stream", stream, "")
		s.wait()
		took(t, "the shutdown", began, 4*time.Second)
	})
}

// Of 1,000 calls of 50 people, whose sessions and ids are the same, each ends when it is cancelled.
// A hundred are at a time.
func TestCancelledCrowd(t *testing.T) {
	compare.SkipShort(t, "has 2,000 requests")
	const people, each = 50, 20
	list := ""
	for n := range people {
		list += fmt.Sprintf("user-%d:%016d ", n, n)
	}

	synctest.Test(t, func(t *testing.T) {
		limits := func(o *Options) {
			o.ServerOptions.People.Bounds.MaxCalls = people * each
			perUser(each)(o)
		}
		s := serve(t, ask{"42", time.Minute}, tokensOf(list), limits)
		began := time.Now()

		var users sync.WaitGroup
		for n := range people * each {
			token := fmt.Sprintf("%016d", n/each)
			header := session(fmt.Sprint(n % 2))
			id := fmt.Sprint(n % each / 2)
			at := time.Duration(1+n*7%10) * time.Second

			users.Go(func() {
				_, stream := s.request(by(token, callOf(id, header)), 200)
				compare.Equal(t, "response", stream, "")
				compare.Equal(t, "ended", time.Since(began).Truncate(time.Second), at)
			})
			users.Go(func() {
				time.Sleep(at)
				s.request(by(token, cancellation(id, header)), 202)
			})
		}
		users.Wait()
	})
}
