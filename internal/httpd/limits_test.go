package httpd

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A request that does not arrive is not waited for.
func TestHalfRequests(t *testing.T) {
	const rest = "Content-Length: 1000\r\n\r\n"
	for _, tt := range []struct {
		name, text string
		want       string // how the response begins
		within     time.Duration
	}{
		{
			"nothing", "",
			"", 31 * time.Second,
		},
		{
			"header", "POST /mcp HTTP/1.1\r\nHost:",
			"", 31 * time.Second,
		},
		{
			"large header", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 68<<10-19),
			"HTTP/1.1 431 ", time.Second,
		},
		{
			"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + rest,
			"HTTP/1.1 401 ", 2 * time.Second,
		},
		{
			"foreign host", "POST /mcp HTTP/1.1\r\nHost: evil.example\r\n" + rest,
			"HTTP/1.1 403 ", 2 * time.Second,
		},
		{
			"unknown path", "POST /x HTTP/1.1\r\nHost: localhost\r\n" + rest,
			"HTTP/1.1 404 ", 2 * time.Second,
		},
		{
			"healthz", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + rest,
			"HTTP/1.1 200 ", 2 * time.Second,
		},
		{
			"token", strings.TrimSuffix(post(ping, ""), "}"),
			"HTTP/1.1 408 ", 32 * time.Second,
		},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			s := serve(t, slow)
			began := time.Now()

			all, err := io.ReadAll(s.send(tt.text))
			if err != nil {
				t.Error(err)
			}
			if took := time.Since(began); took > tt.within {
				t.Errorf("the connection ended after %v, want %v", took, tt.within)
			}
			if !strings.HasPrefix(string(all), tt.want) {
				t.Errorf("got %q, want %q", all, tt.want)
			}
			if tt.want == "" && len(all) > 0 {
				t.Errorf("got %q, want nothing", all)
			}
		})
	}
}

// Half-sent requests do not stretch the shutdown.
func TestHalfRequestsAtShutdown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		const rest = " HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"
		s.send("POST /mcp HTTP/1.1\r\nHost:")
		s.request("POST /mcp"+rest, http.StatusUnauthorized)
		s.send("GET /healthz" + rest)
		synctest.Wait()

		began := time.Now()
		s.end()
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}

// Requests beyond twice MaxCalls get 429. A response that is not read gives its place back.
func TestUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.send(post(list, ""))
		s.send(post(list, ""))
		metrics := s.send(get("/metrics"))
		garbage := s.send("not HTTP\r\n\r\n")
		synctest.Wait()

		res, _ := receive(t, s.send(post(ping, "")))
		if res.StatusCode != http.StatusTooManyRequests {
			t.Errorf("status %d while all places are taken, want 429", res.StatusCode)
		}
		if got := res.Header.Get("Retry-After"); got != "1" {
			t.Errorf("Retry-After: %q, want 1", got)
		}

		time.Sleep(writeTime + time.Second)
		s.request(post(ping, ""), http.StatusOK)
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
		s := serve(t, says(strings.Repeat("x", size), 0))
		c := s.send(post(tool, "Connection: close\r\n"))
		got := int64(0)
		var err error
		for err == nil {
			time.Sleep(writeTime / 3)
			var n int64
			n, err = io.CopyN(io.Discard, c, writeChunk)
			got += n
		}
		if !errors.Is(err, io.EOF) {
			t.Errorf("the connection ended with %v", err)
		}
		if got < size {
			t.Errorf("got %d bytes, want more than %d", got, size)
		}
	})
}

// A connection can be idle for longer than a request may take.
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := serve(t, slow).send("")
		exchange := func(text string, want int) {
			t.Helper()
			if _, err := io.WriteString(c, text); err != nil {
				t.Fatal(err)
			}
			if res, _ := receive(t, c); res.StatusCode != want {
				t.Errorf("status %d, want %d", res.StatusCode, want)
			}
		}

		exchange(get("/healthz"), http.StatusOK)
		time.Sleep(idleTime - time.Second)
		exchange(post(ping, ""), http.StatusOK)
		time.Sleep(idleTime - time.Second)
		header, body, _ := strings.Cut(post(ping, "Expect: 100-continue\r\n"), "\r\n\r\n")
		exchange(header+"\r\n\r\n", http.StatusContinue)
		exchange(body, http.StatusOK)
	})
}

// sixth is a request with id 6. params is JSON.
func sixth(method, params string) string {
	return `{"jsonrpc":"2.0","id":6,"method":"` + method + `","params":` + params + `}`
}

var longSecret = strings.Repeat("SECRET", 30)

// What a message gets, beginning with the HTTP status.
const (
	notJSON       = `400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700`
	notRequest    = `400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600`
	unknownMethod = `200 {"jsonrpc":"2.0","id":6,"error":{"code":-32601`
	badParams     = `200 {"jsonrpc":"2.0","id":6,"error":{"code":-32602`
)

var messages = []struct {
	name    string
	version string // of the protocol
	body    string
	want    string // how status and body begin
}{
	{
		"array", "",
		"[" + ping + "," + ping + "]", notRequest,
	},
	{
		"version without initialize", "2025-11-25",
		ping, `200 {"jsonrpc":"2.0","id":1,"result"`,
	},
	{
		"not JSON", "",
		`{"jsonrpc":SECRET`, notJSON,
	},
	{
		"no version", "",
		`{"id":6,"method":"ping"}`, notRequest,
	},
	{
		"method", "",
		`{"jsonrpc":"2.0","id":6,"method":["SECRET"]}`, notRequest,
	},
	{
		"params", "",
		sixth("tools/call", `"SECRET"`), badParams,
	},
	{
		"_meta", "",
		sixth("tools/call", `{"name":"answer","_meta":"SECRET"}`), badParams,
	},
	{
		"_meta, stateless", "2026-07-28",
		sixth("tools/list", `{"_meta":"SECRET"}`),
		`400 {"jsonrpc":"2.0","id":6,"error":{"code":-32602`,
	},
	{
		"name", "",
		sixth("tools/call", `{"name":["SECRET"]}`), badParams,
	},
	{
		"long name", "",
		sixth("tools/call", `{"name":"`+longSecret+`"}`), badParams,
	},
	{
		"long version", "",
		sixth("ping", `{"_meta":{"io.modelcontextprotocol/protocolVersion":"`+longSecret+`"}}`),
		badParams,
	},
	{
		"unknown method", "",
		sixth("prompts/get", `{"name":["SECRET"]}`), unknownMethod,
	},
	{
		"unknown method, stateless", "2026-07-28",
		sixth("SECRET", "{}"),
		`404 {"jsonrpc":"2.0","id":6,"error":{"code":-32601`,
	},
	{
		"long notification", "",
		sixth("notifications/"+longSecret, "{}"), unknownMethod,
	},
	{
		"notification", "",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`, "202 ",
	},
	{
		"large", "",
		strings.Repeat(" ", maxBody) + ping, "413 the request is larger than 1 MiB",
	},
}

// deliver sends a message, and returns the status and the body of the response. A rejection closes
// the connection.
func (s *service) deliver(message, version string) string {
	s.t.Helper()
	c := s.send("")
	go io.WriteString(c, post(message, "Mcp-Protocol-Version: "+version+"\r\n"))

	res, body := receive(s.t, c)
	if rejected := res.StatusCode >= 400; res.Close != rejected {
		s.t.Errorf("status %d, Connection: close is %v", res.StatusCode, res.Close)
	}
	body = strings.TrimPrefix(body, "event: message\ndata: ")
	return fmt.Sprint(res.StatusCode, " ", body)
}

// Messages that the SDK would change, repeat or run as many do not reach it.
func TestRefusedMessages(t *testing.T) {
	for _, tt := range messages {
		inBubble(t, tt.name, func(t *testing.T) {
			got := serve(t, slow).deliver(tt.body, tt.version)
			if !strings.HasPrefix(got, tt.want) {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if strings.Contains(got, "SECRET") {
				t.Errorf("the response repeats the message: %s", got)
			}
		})
	}
}

// An id that would come back changed is refused.
func TestIDs(t *testing.T) {
	test := func(id, want string) {
		inBubble(t, id, func(t *testing.T) {
			got := serve(t, slow).deliver(strings.Replace(ping, `"id":1`, `"id":`+id, 1), "")
			if !strings.HasPrefix(got, want) {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}

	for _, id := range []string{
		`1.5`, `1e3`, `9007199254740993`, `-9007199254740993`,
		`null`, `true`, `{}`, `[1]`,
	} {
		test(id, notRequest)
	}
	for _, id := range []string{`9007199254740992`, `-9007199254740992`, `"1.5"`, `""`} {
		test(id, `200 {"jsonrpc":"2.0","id":`+id+`,"result"`)
	}
}

// crowd is the number of calls that alice makes.
const crowd = 80

// begins is when a call ends that begins at once.
const begins = time.Second

var placesTests = []struct {
	name     string
	maxCalls int
	set      func(*Options)
	accepted int           // calls of alice
	reason   string        // of the refusals of the others
	limit    string        // in their text
	took     time.Duration // the call of bob; 0: he makes none
}{
	{"16 calls", 16, standard, 8, "person", "4 of your calls", begins},
	{"2 calls", 2, standard, 2, "person", "1 of your calls", begins},
	{"2 for each user", 16, perUser(2), 4, "person", "2 of your calls", begins},
	{"all for each user", 16, perUser(16), 32, "person", "16 of your calls", 0},
	{"one name", 16, oneName, 32, "server", "16 of the calls of all users", 0},
	{"no tokens", 16, loopback, 32, "server", "16 of the calls of all users", 0},
}

func standard(*Options) {}

func perUser(n int) func(*Options) {
	return func(o *Options) { o.MaxCallsPerUser = n }
}

func oneName(o *Options) {
	tokens := &Tokens{learn: func(string) {}}
	_ = tokens.Set([]byte("alice:" + secret + " alice:" + bob))
	withTokens(tokens)(o)
}

// A person has a quarter of the places, and as many calls again wait. Their further calls get 429,
// and other people's calls begin at once.
func TestPlaces(t *testing.T) {
	for _, tt := range placesTests {
		inBubble(t, tt.name, func(t *testing.T) {
			maxCalls := func(o *Options) { o.MaxCalls = tt.maxCalls }
			s := serve(t, after(begins), tt.set, maxCalls)
			const format = "too many calls: at most %s run at a time, and as many wait\n"
			refusal := fmt.Sprintf(format, tt.limit)
			var accepted atomic.Int64
			for range crowd {
				c := s.send(post(tool, ""))
				go func() {
					res, body := receive(t, c)
					if res.StatusCode == http.StatusOK {
						accepted.Add(1)
					} else if body != refusal {
						t.Errorf("got %q, want %q", body, refusal)
					}
				}()
			}
			synctest.Wait()

			if tt.took > 0 {
				began := time.Now()
				s.request(by(bob, post(tool, "")), http.StatusOK)
				if took := time.Since(began); took != tt.took {
					t.Errorf("the call of bob took %v, want %v", took, tt.took)
				}
			}

			time.Sleep(10 * time.Second)
			if got := int(accepted.Load()); got != tt.accepted {
				t.Errorf("%d calls of alice are accepted, want %d", got, tt.accepted)
			}
			const line = `rejected_requests_total{status="429",reason=%q} %d`
			s.metrics(fmt.Sprintf(line, tt.reason, crowd-tt.accepted))
			s.end()
			s.logged("msg=rejected status=429 reason="+tt.reason, 1)
		})
	}
}

// Bodies beyond the bytes of all bodies, or of those of a person, get 429. Afterwards there is room
// for as many bytes as before: neither the requests that have ended nor those that were refused
// count.
func TestBodies(t *testing.T) {
	for _, tt := range []struct {
		name    string
		perUser int
		places  int // for bodies of the largest size
		want    string
	}{
		{"all", 0, 64, "too many bytes: the calls of all users have at most 64 MiB at a time\n"},
		{"person", 500, 16, "too many bytes: your calls have at most 16 MiB at a time\n"},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			release := make(chan struct{})
			l := newLimiter(500, func() int { return tt.perUser })
			wait := func(http.ResponseWriter, *http.Request) { <-release }
			tracker := &tracker{
				o:   Options{Metrics: NewMetrics(nil), Log: slog.New(slog.DiscardHandler)},
				ctx: t.Context(),
			}
			h := tracker.track(l.admit(http.HandlerFunc(wait)))
			padding := strings.Repeat(" ", maxBody-len(ping))
			send := func(want string) {
				r := httptest.NewRequest(http.MethodPost, "/mcp", strings.NewReader(padding+ping))
				w := httptest.NewRecorder()
				h.ServeHTTP(w, r)
				if got := w.Body.String(); got != want {
					t.Errorf("got %q, want %q", got, want)
				}
			}

			for range 2 {
				for range tt.places {
					go send("")
				}
				synctest.Wait() // each has been read, and none has ended
				for range 3 {
					send(tt.want)
				}

				close(release)
				synctest.Wait()
				release = make(chan struct{})
			}
			if len(l.people) > 0 {
				t.Errorf("%d people without requests are remembered", len(l.people))
			}
		})
	}
}
