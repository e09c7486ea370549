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

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A request that does not arrive is not waited for. Without a token it may have 500 lines.
func TestHalfRequests(t *testing.T) {
	const rest = "Content-Length: 1000\r\n\r\n"

	for _, tt := range []struct {
		name, text string
		want       string        // the first line of the response
		seconds    time.Duration // until the connection ends
	}{
		{"nothing", "", "", 30},
		{"header", "POST /mcp HTTP/1.1\r\nHost:", "", 30},
		{
			"large header", "GET / HTTP/1.1\r\nX: " + strings.Repeat("x", 16<<10-19),
			"HTTP/1.1 431 Request Header Fields Too Large", 0,
		},
		{"lines", "POST /mcp HTTP/1.1\r\n" + strings.Repeat("a:\n", maxLines-1), "", 30},
		{
			"tiny lines", "POST /mcp HTTP/1.1\r\n" + strings.Repeat("a:\n", maxLines),
			"HTTP/1.1 400 Bad Request", 0,
		},
		{
			"no token", "POST /mcp HTTP/1.1\r\nHost: localhost\r\n" + rest,
			"HTTP/1.1 401 Unauthorized", 1,
		},
		{
			"healthz", "GET /healthz HTTP/1.1\r\nHost: localhost\r\n" + rest,
			"HTTP/1.1 200 OK", 1,
		},
		{
			"token", strings.TrimSuffix(post(ping, ""), "}"),
			"HTTP/1.1 408 Request Timeout", 30,
		},
	} {
		inBubble(t, tt.name, func(t *testing.T) {
			s := serve(t, slow)
			began := time.Now()

			all, err := io.ReadAll(s.send(tt.text))
			if err != nil {
				t.Error(err)
			}
			compare.Equal(t, "seconds", time.Since(began)/time.Second, tt.seconds)

			line, _, _ := strings.Cut(string(all), "\r\n")
			compare.Equal(t, "response", line, tt.want)
		})
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
		if took := time.Since(began); took > 4*time.Second {
			t.Errorf("the shutdown took %v", took)
		}
	})
}

// Requests beyond twice MaxCalls get 429. A response that is not read gives its slot back.
func TestUnreadResponses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.send(post(list, ""))
		s.send(post(list, ""))
		metrics := s.send(scrape)
		garbage := s.send("not HTTP\r\n\r\n")
		synctest.Wait()

		res, _ := s.request(message, 429)
		compare.Equal(t, "Retry-After", res.Header.Get("Retry-After"), "1")

		time.Sleep(writeTime + time.Second)
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
			time.Sleep(writeTime / 3)
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
func TestIdleConnections(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		c := s.send("")

		exchange := func(text string, want int) {
			t.Helper()
			go io.WriteString(c, text)
			s.receive(c, want)
		}

		for range maxLines { // of which each has more than one
			exchange(get("/healthz"), 200)
		}

		time.Sleep(idleTime - time.Second)
		exchange(message, 200)

		time.Sleep(idleTime - time.Second)
		header, body, _ := strings.Cut(post(ping, "Expect: 100-continue\r\n"), "\r\n\r\n")
		exchange(header+"\r\n\r\n", 100)
		exchange(body, 200)
	})
}

var unauthenticatedTests = []struct {
	name, text string
}{
	{"silent", ""},
	{"half a header", "POST /mcp HTTP/1.1\r\nHost:"},
	{"answered", by("", get("/healthz"))},
	{"refused", "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n"},
}

// A connection waits while too many have shown no token, and then these have half a second, also if
// they go on sending. Connections that have shown one stay.
func TestUnauthenticated(t *testing.T) {
	for _, tt := range unauthenticatedTests {
		inBubble(t, tt.name, func(t *testing.T) {
			s := serve(t, slow)
			known := s.send(message)
			s.receive(known, 200)

			var conns []net.Conn
			for range maxUnauthenticated {
				c := s.send(tt.text)
				conns = append(conns, c)
				go io.Copy(io.Discard, c)
			}
			synctest.Wait()
			for _, c := range conns {
				go drip(c, "x")
			}

			began := time.Now()
			s.request(message, 200)
			want := tokenTime + overdueReads*overdueTime
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
		const lines = maxAllLines / maxUnauthenticated
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
		time.Sleep(overdueTime - 1)
		_, err = io.WriteString(c, text)
	}
}

// A request that this server has no time to read is read after the deadline, also when others wait.
func TestBusyServer(t *testing.T) {
	compare.SkipShort(t, "has 700 connections")
	for _, tt := range []struct {
		conns int
		busy  time.Duration
	}{
		{1, readTime + time.Second},
		{maxUnauthenticated + 100, 2 * tokenTime},
	} {
		inBubble(t, fmt.Sprint(tt.conns, " busy for ", tt.busy), func(t *testing.T) {
			s := serve(t, slow, func(o *Options) { o.People.Limits.MaxCalls = 4 * tt.conns })
			s.busy = time.Now().Add(tt.busy)

			var users sync.WaitGroup
			for range tt.conns {
				users.Go(func() {
					s.request(post(ping, "X: "+strings.Repeat("x", 8000)+"\r\n"), 200)
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
		if took := time.Since(began); took > time.Second {
			t.Errorf("a connection waited for %v, want at most a second", took)
		}
	})
}

// sixth is a request with id 6. params is JSON.
func sixth(method, params string) string {
	return `{"jsonrpc":"2.0","id":6,"method":"` + method + `","params":` + params + `}`
}

// withID is a request with this id.
func withID(id string) string {
	return strings.Replace(ping, `"id":1`, `"id":`+id, 1)
}

// What a message gets, beginning with the HTTP status.
const (
	notJSON       = `400 {"jsonrpc":"2.0","id":null,"error":{"code":-32700`
	notRequest    = `400 {"jsonrpc":"2.0","id":null,"error":{"code":-32600`
	unknownMethod = `200 {"jsonrpc":"2.0","id":6,"error":{"code":-32601`
	badParams     = `200 {"jsonrpc":"2.0","id":6,"error":{"code":-32602`
	agreed        = `200 {"capabilities":{"tools":{}},` // the result of initialize
	accepted      = `200 {"jsonrpc":"2.0","id":`
)

var messages = []struct {
	name    string
	version string // of the protocol
	body    string
	want    string // how status and body begin
}{
	{
		"array", "",
		"[" + ping + "," + ping + "]",
		notRequest,
	},
	{
		"version without initialize", "2025-11-25",
		ping,
		accepted + `1,"result"`,
	},
	{
		"not JSON", "",
		`{"jsonrpc":SECRET`,
		notJSON,
	},
	{
		"no version", "",
		`{"id":6,"method":"ping"}`,
		notRequest,
	},
	{
		"method", "",
		`{"jsonrpc":"2.0","id":6,"method":["SECRET"]}`,
		notRequest,
	},
	{
		"params", "",
		sixth("tools/call", `"SECRET"`),
		badParams,
	},
	{
		"_meta", "",
		sixth("ping", `{"_meta":"SECRET"}`),
		badParams,
	},
	{
		"_meta, stateless", "2026-07-28",
		sixth("tools/list", `{"_meta":"SECRET"}`),
		`400 {"jsonrpc":"2.0","id":6,"error":{"code":-32602`,
	},
	{
		"unknown method", "",
		sixth("prompts/get", `{"name":["SECRET"]}`),
		unknownMethod,
	},
	{
		"unknown method, stateless", "2026-07-28",
		sixth("SECRET", "{}"),
		`404 {"jsonrpc":"2.0","id":6,"error":{"code":-32601`,
	},
	{
		"no tasks", "",
		sixth("tasks/get", "{}"),
		unknownMethod,
	},
	{
		"null", "",
		sixth("initialize", "null"),
		`200 {"jsonrpc":"2.0","id":6,"error":{"code":-32600`,
	},
	{
		"response", "",
		`{"jsonrpc":"2.0","id":6,"result":{}}`,
		notRequest,
	},
	{
		"notification", "",
		`{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		"202 ",
	},
	{
		"large", "",
		strings.Repeat(" ", maxBody) + ping,
		"413 the request is larger than 1 MiB",
	},
	{
		"many lines", "",
		strings.Repeat("\n", 20*maxLines) + ping,
		accepted + `1,"result"`,
	},
	{
		"10,000 elements", "",
		sixth("ping", `{"_meta":{"a":[`+strings.Repeat("[],", 5000)+"0]}}"),
		notRequest,
	},
	{
		"65 levels", "",
		sixth("ping", strings.Repeat("[", 64)+strings.Repeat("]", 64)),
		notRequest,
	},
	{
		"65 levels, not JSON", "",
		strings.Repeat("[", 65),
		notJSON,
	},
	{
		"commas in a text", "",
		sixth("ping", `{"_meta":{"a":"`+strings.Repeat(`,\"[`, 20_000)+`"}}`),
		accepted + `6,"result"`,
	},
	{"METHOD", "", `{"jsonrpc":"2.0","id":6,"METHOD":"ping"}`, notRequest},
	{"JSONRPC", "", `{"JSONRPC":"2.0","id":6,"method":"ping"}`, notRequest},
	{"Id", "", `{"jsonrpc":"2.0","Id":6,"method":"ping"}`, notRequest},
	{"Params", "", `{"jsonrpc":"2.0","id":6,"method":"ping","Params":{}}`, notRequest},
	{"id and ID", "", `{"jsonrpc":"2.0","id":6,"ID":7,"method":"ping"}`, notRequest},
	{"two methods", "", `{"jsonrpc":"2.0","id":6,"method":"ping","method":"x"}`, notRequest},
	{"ID in params", "", sixth("ping", `{"ID":6,"id":7,"id":8}`), accepted + `6,"result"`},

	{"initialize with 2024-11-05", "2024-11-05", initialize, agreed},
	{"initialize with 2025-03-26", "2025-03-26", initialize, agreed},
	{"initialize with 2025-11-25", "2025-11-25", initialize, agreed},
	{"initialize with 2026-07-28", "2026-07-28", initialize, agreed},
	{"initialize with a later version", "2027-01-01", initialize, agreed},
	{"initialize with a word", "latest", initialize, "400 "},
	{"an earlier version", "2025-03-26", ping, "400 "},

	{"fraction", "", withID("1.5"), notRequest},
	{"large id", "", withID("9007199254740993"), notRequest},
	{"small id", "", withID("-9007199254740993"), notRequest},
	{"null", "", withID("null"), notRequest},
	{"largest id", "", withID("9007199254740992"), accepted + `9007199254740992,"result"`},
	{"smallest id", "", withID("-9007199254740992"), accepted + `-9007199254740992,"result"`},
	{"text", "", withID(`"1.5"`), accepted + `"1.5","result"`},
}

// The lists of what this server does not have are empty, in both versions.
func TestEmptyLists(t *testing.T) {
	const stateless = `{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
		`"io.modelcontextprotocol/clientCapabilities":{}}}`
	for method, want := range map[string]string{
		"prompts/list":             `"prompts":[]`,
		"resources/list":           `"resources":[]`,
		"resources/templates/list": `"resourceTemplates":[]`,
	} {
		for version, params := range map[string]string{"2025-06-18": "{}", "2026-07-28": stateless} {
			inBubble(t, method+" "+version, func(t *testing.T) {
				header := "Mcp-Protocol-Version: " + version + "\r\nMcp-Method: " + method + "\r\n"
				serve(t, slow).request(post(sixth(method, params), header), 200, want)
			})
		}
	}
}

// Messages that the SDK would change, repeat or run as many do not reach it. A rejection closes the
// connection.
func TestRefusedMessages(t *testing.T) {
	for _, tt := range messages {
		inBubble(t, tt.name, func(t *testing.T) {
			status, begin, _ := strings.Cut(tt.want, " ")
			want, _ := strconv.Atoi(status)

			text := post(tt.body, "Mcp-Protocol-Version: "+tt.version+"\r\n")
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

// begins is when a call ends that begins at once.
const begins = time.Second

// Calls of almost 1 MiB, and with elements that count as almost 2 MiB.
var (
	long  = strings.Repeat(" ", maxBody-3000-len(tool)) + tool
	dense = withMeta(`"a":[` + strings.Repeat("{},", 4900) + `0]`)
)

const (
	tooMany      = "too many calls: at most %d of %s run at a time, and as many wait\n"
	tooManyBytes = "too many bytes: %s have at most %d MiB at a time\n"
	own, all     = "your calls", "the calls of all users"
)

var slotsTests = []struct {
	name     string
	maxCalls int
	set      func(*Options)
	call     string
	accepted int           // calls of alice
	reason   string        // of the refusals of the others
	text     string        // of the refusals
	took     time.Duration // the call of bob; 0: he makes none
}{
	{"16 calls", 16, standard, tool, 8, "person", fmt.Sprintf(tooMany, 4, own), begins},
	{"2 calls", 2, standard, tool, 2, "person", fmt.Sprintf(tooMany, 1, own), begins},
	{"2 for each user", 16, perUser(2), tool, 4, "person", fmt.Sprintf(tooMany, 2, own), begins},
	{"one name", 16, tokensOf(onlyAlice), tool, 32, "server", fmt.Sprintf(tooMany, 16, all), 0},
	{"no tokens", 16, loopback, tool, 32, "server", fmt.Sprintf(tooMany, 16, all), 0},
	{"sign-in beside one name", 16, aliceOrSignIn, tool, 8, "person", fmt.Sprintf(tooMany, 4, own), 0},
	{"elements", 500, loopback, dense, 33, "bytes", fmt.Sprintf(tooManyBytes, all, 64), 0},
	{"bytes", 500, perUser(500), long, 16, "bytes", fmt.Sprintf(tooManyBytes, own, 16), begins},
}

func standard(*Options) {}

func perUser(n int) func(*Options) {
	return func(o *Options) {
		limits := &o.People.Limits
		limits.PerPerson = o.Access.CallsPerPerson(limits.MaxCalls, n)
	}
}

// onlyAlice has two tokens of one name.
const onlyAlice = "alice:" + secret + " alice:" + bob

func aliceOrSignIn(o *Options) {
	tokensOf(onlyAlice)(o)
	signIn(o)
}

// A person has a quarter of the slots and bytes, and as many calls again wait. Their further calls
// get 429, and other people's calls begin at once. Afterwards there is room for as many as before:
// neither the calls that have ended nor those that were refused count.
func TestSlots(t *testing.T) {
	for _, tt := range slotsTests {
		inBubble(t, tt.name, func(t *testing.T) {
			maxCalls := func(o *Options) { o.People.Limits.MaxCalls = tt.maxCalls }
			s := serve(t, ask{"42", begins}, tt.set, maxCalls)

			for range 2 {
				for range tt.accepted {
					go io.Copy(io.Discard, s.send(post(tt.call, "")))
				}
				synctest.Wait()
				for range refused {
					s.request(post(tt.call, ""), 429, tt.text)
				}

				if tt.took > 0 {
					began := time.Now()
					s.request(by(bob, post(tool, "")), 200)
					compare.Equal(t, "the call of bob took", time.Since(began), tt.took)
				}
				time.Sleep(10 * time.Second)
			}

			client := `,client="alice"`
			if !s.access.Authenticates() {
				client = ""
			}
			const line = `rejected_requests_total{status="429",reason=%q%s} %d`
			s.metrics(fmt.Sprintf(line, tt.reason, client, 2*refused))
			s.end()
			s.logged("msg=rejected status=429 reason="+tt.reason, 2)
		})
	}
}
