package cli

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// Addresses of the network. Loopback has no proxy.
const (
	apiAddress    = "127.0.0.1:1"
	storeAddress  = "127.0.0.1:2"
	issuerAddress = "127.0.0.1:3"
)

// rereadTime is until all replicas have read a changed file, twice.
const rereadTime = 7 * time.Second

// world is a company in virtual time.
type world struct {
	setting
	api
	t       *testing.T
	dir     string // of the files
	network network
	store   valkey
	log     lockedBuffer

	// mu guards what follows, too.
	replicas []*replica
	tokens   map[string]string // by person
	changed  time.Time         // of the key
	denied   string
	from, to time.Time // in which the person is denied
	replies  []reply
	lines    int           // requests over stdio
	slowest  time.Duration // that a process has taken to end after EOF
	errors   []error       // of replicas and processes

	samples   []sample
	idle      int64              // memory without calls
	gauges    map[string]float64 // of all replicas, when all has ended
	began     time.Time
	virtual   time.Duration
	allocated int64
	left      any // the panic of a bubble with goroutines that do not end
}

type replica struct {
	name           string
	stop           context.CancelFunc
	ready          bool // it listens
	draining, dead time.Time
	done           chan struct{}
}

// question is a question of a client, and what became of it.
type question struct {
	*crowd
	name     string
	start    time.Time
	took     time.Duration
	attempts []*attempt
	posts    int       // at the API
	tries    int       // requests to the API that could be in trouble
	id       string    // of the late answer or the task
	left     time.Time // when the client left
	stopped  bool      // it wants no answer any more
	answered bool
	gaveUp   bool          // the client
	longest  time.Duration // that a request took
	stolen   bool          // by another person
	broken   []string
	refused  []string
	text     string // of the error
}

// attempt is a call of a tool with a question.
type attempt struct {
	*question
	start, end time.Time
	waiting    bool // its client was told that nothing was paid
	posts      int
	jobs       []*job
	notBefore  time.Time // that the API named
	early      time.Duration
	key        string // of its last request
}

// reply is an HTTP response.
type reply struct {
	at     time.Time // when it was asked for
	person string
	status int
	text   string
	err    error
}

// sample is the memory of running calls.
type sample struct {
	calls, written int64 // bytes for each
	heap           int64 // of all
}

type lockedBuffer struct {
	sync.Mutex
	bytes.Buffer
}

func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.Lock()
	defer b.Unlock()
	return b.Buffer.Write(p)
}

// metricsToken is that of Prometheus.
const metricsToken = "token-of-prometheus"

// former is who has a token that was replaced.
const former = "former"

const testKey = "a4Q8w2Xr5Tn1-0123456789-" // redacted only where it is known

func newWorld(t *testing.T, c setting) *world {
	w := &world{
		setting: c,
		t:       t,
		dir:     t.TempDir(),
		api: api{
			rate: c.Rate, bucket: 2,
			questions: map[string]*question{},
			attempts:  map[string]*attempt{},
			jobs:      map[string]*job{},
			open:      map[*job]int{},
		},
		tokens: map[string]string{},
		gauges: map[string]float64{},
	}
	w.network.hosts = map[string]*host{}
	w.network.pipes = map[*pipe]bool{}
	w.store.stored = map[string]quota{}
	w.store.states = map[string]string{}
	for _, name := range names {
		w.tokens[name] = "token-of-" + name + "-0123456789"
	}
	w.write("key", testKey+"1")
	w.write("denied", "")
	w.write("tokens", w.tokenList())
	w.write("config.yaml", fmt.Sprintf(`
openai: {base_url: 'http://%s/v1'}
model_profiles:
  answer: {model: gpt-5.2, background: %[2]v}
  answer_detailed: {model: gpt-5.2, background: %[2]v}
responses: {stream: %v}
request: {timeout_ms: %d}
server: {answer_within_ms: %d}
`, apiAddress, c.Background, !c.Plain, callTime.Milliseconds(), c.Within.Milliseconds()))
	return w
}

func (w *world) file(name string) string { return filepath.Join(w.dir, name) }

func (w *world) write(name, data string) {
	if err := os.WriteFile(w.file(name), []byte(data), 0o600); err != nil {
		w.t.Error(err)
	}
}

// tokenList is the file of the tokens.
func (w *world) tokenList() string {
	var b strings.Builder
	fmt.Fprintf(&b, "metrics:%s\n", metricsToken)
	for _, name := range names {
		fmt.Fprintf(&b, "%s:%s\n", name, w.tokens[name])
	}
	return b.String()
}

// program runs the program of a host until it ends.
func (w *world) program(
	ctx context.Context, host string, in io.Reader, out io.Writer, args ...string,
) {
	environ := []string{
		"OPENAI_API_KEY_FILE=" + w.file("key"),
		"MCP_HTTP_TOKENS_FILE=" + w.file("tokens"),
		"MCP_HTTP_DENY_FILE=" + w.file("denied"),
		"MCP_STORE_URL=valkey://" + storeAddress,
		"MCP_TASK_SECRETS=" + strings.Repeat("0123456789", 4),
	}
	a := &app{
		env:       environ,
		variables: env.ToMap(environ),
		stdin:     in,
		stdout:    out,
		stderr:    &w.log,
		redactor:  redact.New(),
		listen:    func(string) (net.Listener, error) { return w.network.listen(host), nil },
		options:   service.Options{Dial: w.network.dialer(host)},
	}
	err := a.execute(ctx, append(args, "--config", w.file("config.yaml")))
	if err != nil {
		w.locked(func() { w.errors = append(w.errors, fmt.Errorf("%s: %w", host, err)) })
	}
}

// start starts a replica, and returns when it is ready.
func (w *world) start() {
	ctx, stop := context.WithCancel(w.t.Context())
	rep := &replica{stop: stop, done: make(chan struct{})}
	w.locked(func() {
		rep.name = fmt.Sprint("replica", len(w.replicas))
		w.replicas = append(w.replicas, rep)
	})
	go func() {
		defer close(rep.done)
		w.program(ctx, rep.name, nil, io.Discard, "serve", "--http", "10.1.1.1:8080",
			"--log-format", "json", "--max-calls", "16", "--max-calls-per-user", "8",
			"--tokens-per-day", fmt.Sprint(w.Limit), "--public-url", "http://127.0.0.1/mcp",
			"--oauth-issuer", "http://"+issuerAddress, "--oauth-scope", "mcp")
	}()
	for range 200 { // the issuer may be down
		time.Sleep(time.Second)
		_, err := w.get(rep, "/readyz")
		if err == nil {
			break
		}
	}
	w.locked(func() { rep.ready = true })
}

// first returns the oldest replica that is not at its end, after another one has started.
func (w *world) first() (first *replica) {
	w.start()
	w.locked(func() {
		for _, rep := range w.replicas {
			if first == nil && rep.draining.IsZero() && rep.dead.IsZero() {
				first = rep
			}
		}
	})
	return first
}

// happenings are what may happen to the company. What they return ends it.
var happenings = map[string]func(*world) (end func()){
	"a replica drains": func(w *world) func() {
		rep := w.first()
		w.locked(func() { rep.draining = time.Now() })
		rep.stop()
		return nil
	},
	"a replica dies": func(w *world) func() {
		rep := w.first()
		w.locked(func() { rep.dead = time.Now() })
		w.network.set(rep.name, true, false)
		rep.stop()
		return nil
	},
	"the store is down":   func(w *world) func() { return w.set(storeAddress, true) },
	"the store is silent": func(w *world) func() { return w.set(storeAddress, false) },
	"the store is slow":   func(w *world) func() { return w.store.set(2*s/5, false) },
	"the store is late":   func(w *world) func() { return w.store.set(3*s/5, false) },
	"the store is full":   func(w *world) func() { return w.store.set(0, true) },
	"the issuer is down":  func(w *world) func() { return w.set(issuerAddress, true) },
	"the key changes": func(w *world) func() {
		w.write("key", testKey+"2")
		w.locked(func() { w.changed = time.Now() })
		return nil
	},
	"a token changes": func(w *world) func() {
		name := w.Crowds[0].Person
		old := w.tokens[name]
		w.write("tokens", w.tokenList()+name+":new-"+old+"\n")
		time.Sleep(rereadTime)
		w.locked(func() { w.tokens[name] = "new-" + old })
		w.write("tokens", w.tokenList())
		time.Sleep(rereadTime)
		w.locked(func() { w.tokens[former] = old })
		c := newClient(w, &crowd{Person: former}, rand.New(rand.NewPCG(0, 0)))
		c.send(w.t.Context(), "ping", `"a":1`, "", "")
		return nil
	},
	"a person is denied": func(w *world) func() {
		w.locked(func() { w.denied, w.from = w.Crowds[0].Person, time.Now() })
		w.write("denied", w.denied+"\n")
		return func() {
			w.locked(func() { w.to = time.Now() })
			w.write("denied", "")
		}
	},
}

func (w *world) set(address string, down bool) func() {
	w.network.set(address, down, !down)
	return func() { w.network.set(address, false, false) }
}

func (v *valkey) set(late time.Duration, full bool) func() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.late, v.noRoom = late, full
	return func() {
		if late > 0 || full {
			v.set(0, false)
		}
	}
}

// issuerKey is the key of the issuer.
var issuerKey = ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))

// serveIssuer serves the metadata of the issuer and its key.
func serveIssuer(w http.ResponseWriter, r *http.Request) {
	url := "http://" + r.Host
	_ = json.NewEncoder(w).Encode(map[string]any{
		"issuer":   url,
		"jwks_uri": url,
		"keys":     []jose.JSONWebKey{{Key: issuerKey.Public()}},
	})
}

// signed returns a token of the issuer, which is valid for an hour.
func signed(claims map[string]any) (string, error) {
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: issuerKey}, nil)
	if err != nil {
		return "", err
	}
	claims["exp"] = time.Now().Add(time.Hour).Unix()
	return jwt.Signed(signer).Claims(claims).Serialize()
}

// bearer returns the token of a person.
func (w *world) bearer(who *crowd) (token string) {
	w.locked(func() { token = w.tokens[who.Person] })
	if !who.SignsIn {
		return token
	}
	token, err := signed(map[string]any{
		"iss":   "http://" + issuerAddress,
		"sub":   who.Person,
		"aud":   "http://127.0.0.1/mcp",
		"scope": "mcp",
	})
	if err != nil {
		w.t.Error(err)
	}
	return token
}

// route returns a replica as a load balancer does, which sees /readyz a second later.
func (w *world) route(r *rand.Rand) (name string) {
	w.locked(func() {
		var ready []string
		for _, rep := range w.replicas {
			drains := !rep.draining.IsZero() && time.Since(rep.draining) >= time.Second
			dead := !rep.dead.IsZero() && time.Since(rep.dead) >= time.Second
			if rep.ready && !drains && !dead {
				ready = append(ready, rep.name)
			}
		}
		name = pick(r, ready...)
	})
	return name
}

// run lets the company work until all have ended.
func (w *world) run(t *testing.T) {
	w.t = t
	w.began = time.Now()
	w.filled = w.began
	serve := func(h http.Handler) func(net.Listener) {
		return func(ln net.Listener) { _ = (&http.Server{Handler: h}).Serve(ln) }
	}
	for address, serve := range map[string]func(net.Listener){
		storeAddress:  w.store.serve,
		apiAddress:    serve(&w.api),
		issuerAddress: serve(http.HandlerFunc(serveIssuer)),
	} {
		ln := w.network.listen(address)
		defer ln.Close()
		go serve(ln)
	}
	w.start()
	w.start()
	w.idle = heap()

	sampling, stop := context.WithCancel(t.Context())
	go w.sample(sampling)
	var happen, clients sync.WaitGroup
	for _, h := range w.Happens {
		happen.Go(func() {
			time.Sleep(h.At)
			end := happenings[h.What](w)
			time.Sleep(h.Lasts)
			if end != nil {
				end()
			}
		})
	}
	for i := range w.Crowds {
		for j := range w.Crowds[i].Clients {
			c := newClient(w, &w.Crowds[i], rand.New(rand.NewPCG(uint64(i), uint64(j))))
			clients.Go(func() {
				time.Sleep(time.Duration(j/4) * c.Every)
				c.run()
			})
		}
	}
	clients.Wait()
	stop()
	happen.Wait()
	w.virtual = time.Since(w.began)
	time.Sleep(2 * callTime) // what is not waited for ends, too
	w.idle = min(w.idle, heap())
	for _, rep := range w.replicas {
		w.scrape(rep)
		rep.stop()
	}
	for _, rep := range w.replicas {
		<-rep.done
	}
	w.network.set("", true, false)
}

// sample measures the memory of running calls while much is written to them.
func (w *world) sample(ctx context.Context) {
	most := int64(0)
	for sleepContext(ctx, 2*time.Second) {
		calls, written := int64(0), int64(0)
		w.locked(func() {
			for _, n := range w.open {
				calls, written = calls+1, written+int64(n)
			}
		})
		if written < 1<<20 || written/calls < 700<<10 || written < most*5/4 {
			continue
		}
		most = written
		synctest.Wait() // until nothing is on its way
		w.samples = append(w.samples, sample{calls, written / calls, heap()})
	}
}

// heap is the memory in use.
func heap() int64 {
	var m runtime.MemStats
	runtime.GC()
	runtime.GC() // of pools, too
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// sleepContext reports whether ctx has not ended by then. In a bubble, a channel of a timer that is
// due can crash the race detector; a context has none.
func sleepContext(ctx context.Context, d time.Duration) bool {
	wait, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-wait.Done()
	return ctx.Err() == nil
}

// get returns the text of a page of a replica.
func (w *world) get(rep *replica, page string) (string, error) {
	req := serving.Request(w.t.Context(), http.MethodGet, "http://127.0.0.1"+page, metricsToken, "")
	tr := &http.Transport{DisableKeepAlives: true, DialContext: func(
		ctx context.Context, network, _ string,
	) (net.Conn, error) {
		return w.network.dialer("")(ctx, network, rep.name)
	}}
	resp, err := (&http.Client{Transport: tr}).Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s is %s", page, resp.Status)
	}
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

// scrape adds the metrics of a replica.
func (w *world) scrape(rep *replica) {
	if !rep.draining.IsZero() || !rep.dead.IsZero() {
		return
	}
	text, err := w.get(rep, "/metrics")
	if err != nil {
		w.t.Error(err)
	}
	for line := range strings.Lines(text) {
		series, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, labels, _ := strings.Cut(series, "{")
		n, _ := strconv.ParseFloat(value, 64)
		if strings.Contains(labels, `kind="input"`) || strings.Contains(labels, `kind="output"`) {
			name += " of both kinds"
		}
		w.gauges[strings.TrimPrefix(name, "openai_responses_mcp_")] += n
	}
}

// String says what a run was.
func (w *world) String() string {
	return fmt.Sprintf("%v, %d questions, %d calls, %d requests to the API, %d KiB, %d MiB allocated",
		w.virtual, len(w.questions), len(w.attempts), w.requests, w.bytes>>10, w.allocated>>20)
}
