package httpd

import (
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A request that does not arrive is not waited for. Without a token it may have 500 lines.
func TestHalfRequests(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Text, Want string
		Seconds          int
	}](t, "half") {
		inBubble(t, tt.Name, func(t *testing.T) {
			s := serve(t, slow)
			began := time.Now()

			text := strings.Replace(tt.Text, "MESSAGE", strings.TrimSuffix(post(ping, ""), "}"), 1)
			all, err := io.ReadAll(s.send(text))
			if err != nil {
				t.Error(err)
			}
			compare.Equal(t, "seconds", int(time.Since(began).Seconds()), tt.Seconds)

			line, _, _ := strings.Cut(string(all), "\r\n")
			compare.Equal(t, "response", line, tt.Want)
		})
	}
}

// took wants that something that began at a time has ended within most.
func took(t *testing.T, what string, began time.Time, most time.Duration) {
	t.Helper()
	if took := time.Since(began); took > most {
		t.Errorf("%s took %v, want at most %v", what, took, most)
	}
}

// Half-sent requests do not stretch the shutdown.
func TestHalfRequestsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)

		const rest = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
		s.send("POST /mcp HTTP/1.1\r\nHost:")
		s.request("POST /mcp"+rest, 401)
		s.send("GET /healthz" + rest)
		synctest.Wait()

		began := time.Now()
		s.end()
		took(t, "the shutdown", began, 4*time.Second)
	})
}

// Requests beyond twice MaxCalls are refused. A response that is not read gives its slot back.
func TestUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.send(post(list, ""))
		s.send(post(list, ""))
		metrics := s.send(scrape)
		garbage := s.send("not HTTP\r\n\r\n")
		synctest.Wait()

		res, _ := s.request(post(strings.Repeat(" ", maxBeyondBounds)+ping, ""), 429)
		compare.Equal(t, "Retry-After", res.Header.Get("Retry-After"), "1")

		time.Sleep(writeTimeout + time.Second)
		s.request(message, 200)

		for _, c := range []net.Conn{metrics, garbage} {
			n, err := io.Copy(io.Discard, c)
			if n != 0 || err != nil {
				t.Errorf("read %d bytes after the write deadline (%v)", n, err)
			}
		}
	})
}

// A slow reader gets a large response: the write deadline is one for progress.
func TestSlowReader(t *testing.T) {
	const size = 10 * writeChunk
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{strings.Repeat("x", size), 0})
		c := s.send(post(tool, "Connection: close\r\n"))

		got := int64(0)
		var err error
		for err == nil {
			time.Sleep(writeTimeout / 3)
			var n int64
			n, err = io.CopyN(io.Discard, c, writeChunk)
			got += n
		}
		if got < size || !errors.Is(err, io.EOF) {
			t.Errorf("got %d bytes (%v), want more than %d", got, err, size)
		}
	})
}

// A connection can be idle for longer than a request may take, and its requests without a token
// have as many lines each as one may have.
func TestManyIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		c := s.send("")

		exchange := func(text string, want int) {
			t.Helper()
			go io.WriteString(c, text)
			s.receive(c, want)
		}

		for range maxHeaderLines { // of which each has more than one
			exchange(get("/healthz"), 200)
		}

		time.Sleep(idleTimeout - time.Second)
		exchange(message, 200)

		time.Sleep(idleTimeout - time.Second)
		header, body, _ := strings.Cut(post(ping, "Expect: 100-continue\r\n"), "\r\n\r\n")
		exchange(header+"\r\n\r\n", 100)
		exchange(body, 200)
	})
}

// A connection waits while too many have shown no token, and then these have half a second, also if
// they go on sending, or read no responses. Connections that have shown one stay.
func TestUnauthenticated(t *testing.T) {
	health := by("", get("/healthz"))
	for name, text := range map[string]string{
		"silent":        "",
		"half a header": "POST /mcp HTTP/1.1\r\nHost:",
		"answered":      health,
		"refused":       "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n",
		"unread":        health,
	} {
		inBubble(t, name, func(t *testing.T) {
			s := serve(t, slow)
			known := s.send(message)
			s.receive(known, 200)

			want := authTimeout
			for range maxUnauthenticated {
				c := s.send(text)
				if name == "unread" {
					continue
				}
				want = authTimeout + maxLateReads*lateReadTime
				go io.Copy(io.Discard, c)
				go drip(c, "x")
			}
			synctest.Wait()

			began := time.Now()
			s.request(message, 200)
			compare.Equal(t, "a connection waited for", time.Since(began), want)

			go io.WriteString(known, message)
			s.receive(known, 200)
		})
	}
}

// The lines that all may send are shared in a crowd.
func TestLinesOfMany(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		const lines = maxAllHeaderLines / maxUnauthenticated
		var last net.Conn
		for range maxUnauthenticated {
			last = s.send("GET / HTTP/1.1\r\n" + strings.Repeat("a:\n", lines-1))
		}
		synctest.Wait()

		go drip(last, "a:\n")
		s.receive(last, 400)
	})
}

// drip sends a text now and then, until the connection closes.
func drip(c net.Conn, text string) {
	var err error
	for err == nil {
		time.Sleep(lateReadTime - 1)
		_, err = io.WriteString(c, text)
	}
}

// A request that this server has no time to read is read after the deadline, also when others wait.
func TestBusyServer(t *testing.T) {
	compare.SkipShort(t, "has 700 connections")
	large := post(ping, "X: "+strings.Repeat("x", 8000)+"\r\n")
	for _, tt := range []struct {
		conns   int
		busy    time.Duration
		request string
	}{
		{1, readTimeout + time.Second, large},
		{maxUnauthenticated + 100, 2 * authTimeout, large},
		{maxUnauthenticated + 100, 2 * authTimeout, "GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"},
	} {
		inBubble(t, fmt.Sprint(tt.conns, " busy for ", tt.busy, tt.request[:12]), func(t *testing.T) {
			s := serve(t, slow, func(o *Options) { o.ServerOptions.People.Bounds.MaxCalls = 4 * tt.conns })
			s.busy = time.Now().Add(tt.busy)

			var users sync.WaitGroup
			for range tt.conns {
				users.Go(func() {
					s.request(tt.request, 200)
				})
			}
			users.Wait()
		})
	}
}

// 300 unauthenticated connections a second do not put off one with a token.
func TestManyUnauthenticated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		for range 3000 {
			go s.dial()
			time.Sleep(time.Second / 300)
		}

		began := time.Now()
		s.request(message, 200)
		took(t, "a connection", began, time.Second)
	})
}

// One person opens many connections and leaves them idle: beyond a bound each response closes its
// own.
func TestIdleOfOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow) // MaxCalls is 1
		kept := 0
		for range 1000 {
			res, _ := s.request(message, 200)
			if !res.Close {
				kept++
			}
		}
		compare.Equal(t, "connections that stay open", kept, 2*1+maxUnauthenticated)

		time.Sleep(idleTimeout + time.Second) // now they are closed
		res, _ := s.request(message, 200)
		compare.Equal(t, "a later one closes", res.Close, false)
	})
}

// Messages that the SDK would change, repeat or run as many do not reach it. A rejection closes the
// connection.
func TestRefusedMessages(t *testing.T) {
	values := strings.NewReplacer("PING", ping, "INITIALIZE", initialize)
	for _, row := range compare.Table(t, "messages", 4) {
		inBubble(t, row[0], func(t *testing.T) {
			status, begin, _ := strings.Cut(row[2], " ")
			want, _ := strconv.Atoi(status)

			text := post(values.Replace(row[3]), "Mcp-Protocol-Version: "+row[1]+"\r\n")
			res, body := serve(t, slow).request(text, want, begin)

			compare.Equal(t, "Connection: close", res.Close, want >= 400)
			if strings.Contains(body, "SECRET") {
				t.Errorf("the response repeats the message: %s", body)
			}
		})
	}
}

// refused is the number of calls of alice that are too many.
const refused = 3

// Calls of which 32 have 16 MiB, and with elements that count as almost 2 MiB, and a request whose
// bytes do not count.
var (
	free  = freeBytes - elementBytes*jsonx.CountElements([]byte(tool)) - len(tool)
	long  = strings.Repeat(" ", 1<<19+free) + tool
	dense = withMeta(`"a":[` + strings.Repeat("{},", 4900) + `0]`)
	small = strings.Replace(list, "{", `{"a":[`+strings.Repeat("{},", 24)+`0],`, 1)
)

// settings are those of the tests.
var settings = map[string]func(*Options){
	"standard":          standard,
	"2 for each":        perUser(2),
	"500 for each":      perUser(500),
	"alice alone":       tokensOf(onlyAlice),
	"alice and metrics": tokensOf(onlyAlice + " metrics:" + reader),
	"metrics alone":     tokensOf("metrics:" + reader),
	"in capitals":       tokensOf(onlyAlice + " Metrics:" + reader),
	"alice, or sign in": aliceOrSignIn,
	"sign in":           signIn,
	"sign in alone":     signInAlone,
	"loopback":          loopback,
	"remote":            func(o *Options) { o.Access.Loopback = false },
	"listed host":       func(o *Options) { o.Access.Hosts = []string{"mcp.example.com"} },
	"listed host, remote": func(o *Options) {
		o.Access.Loopback = false
		o.Access.Hosts = []string{"mcp.example.com"}
	},
	"listed container": func(o *Options) {
		loopback(o)
		o.Access.Hosts = []string{dockerHost}
	},
	"anonymous":      func(o *Options) { o.Access = Access{} },
	"loopback, at /": atRoot,
	"path of a team": func(o *Options) { o.Path = "/team/mcp" },
}

func standard(*Options) {}

func perUser(n int) func(*Options) {
	return func(o *Options) {
		limits := &o.ServerOptions.People.Bounds
		limits.MaxCallsPerPerson = o.Access.PersonBound(limits.MaxCalls, n)
	}
}

// onlyAlice has two tokens of one name.
const onlyAlice = "alice:" + secret + " alice:" + bob

func aliceOrSignIn(o *Options) {
	tokensOf(onlyAlice + " metrics:" + reader)(o)
	signIn(o)
}

// A person has a quarter of the slots and bytes, and as many calls again wait. Their further calls
// get an error, or 429 if they are large, and other people's calls begin at once. Afterwards there
// is room for as many as before: neither the calls that have ended nor those that were refused
// count.
func TestSlots(t *testing.T) {
	messages := map[string]string{"plain": tool, "long": long, "dense": dense}
	for _, tt := range compare.Rows[struct {
		Name, Set, Call    string
		MaxCalls, Accepted int           // Accepted: calls of alice
		Took               time.Duration // the call of bob; 0: he makes none
		Reason, Text       string        // of the refusals of the others
	}](t, "slots") {
		inBubble(t, tt.Name, func(t *testing.T) {
			maxCalls := func(o *Options) { o.ServerOptions.People.Bounds.MaxCalls = tt.MaxCalls }
			s := serve(t, ask{"42", time.Second}, settings[tt.Set], maxCalls)
			message := post(messages[tt.Call], "")
			status := 200
			if tt.Reason == "bytes" {
				status = 429
			}

			for range 2 {
				for range tt.Accepted {
					go io.Copy(io.Discard, s.send(message))
				}
				synctest.Wait()
				for range refused {
					s.request(message, status, tt.Text)
				}
				if status == 429 {
					s.request(post(small, ""), 200)
				}

				if tt.Took > 0 {
					began := time.Now()
					s.request(by(bob, post(tool, "")), 200)
					compare.Equal(t, "the call of bob took", time.Since(began), tt.Took)
				}
				time.Sleep(10 * time.Second)
			}

			client := `,client="alice"`
			if !s.access.NeedsToken() {
				client = ""
			}
			const line = `rejected_requests_total{status="429",reason=%q%s} %d`
			s.metrics(fmt.Sprintf(line, tt.Reason, client, 2*refused))
			s.end()
			s.logged("msg=rejected status=429 reason="+tt.Reason, 2*min(refused, 2))
		})
	}
}
