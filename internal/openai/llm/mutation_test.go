package llm

import (
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math/rand/v2"
	"net/http"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// oddEvents returns events that servers send seldom, or should not send.
func oddEvents(t testing.TB) (events []string) {
	for _, row := range compare.Table(t, "odd-events", 1) {
		events = append(events, row[0])
	}
	const notUTF8 = `{"type":"response.output_text.delta","delta":"` + "\xff\xc3" + `","item_id":"` + "\xff" + `"}`
	return append(events, notUTF8)
}

// mutator makes streams of the streams of a pool.
type mutator struct {
	pool      [][]string
	odd       []string   // events
	mutations [][]string // a member of an event, and values in its place
}

// stream returns a stream of the pool with changes at random.
func (m mutator) stream(random *rand.Rand) []string {
	pick := func(from []string) string { return from[random.IntN(len(from))] }
	stream := slices.Clone(m.pool[random.IntN(len(m.pool))])
	for range random.IntN(6) {
		i := random.IntN(len(stream))
		switch random.IntN(7) {
		case 0:
			stream = slices.Insert(stream, i, pick(m.odd))
		case 1:
			stream = slices.Insert(stream, i, pick(m.pool[random.IntN(len(m.pool))]))
		case 2:
			stream = slices.Insert(stream, random.IntN(len(stream)), stream[i])
		case 3:
			j := random.IntN(len(stream))
			stream[i], stream[j] = stream[j], stream[i]
		case 4:
			if len(stream) > 1 {
				stream = slices.Delete(stream, i, i+1)
			}
		default:
			values := m.mutations[random.IntN(len(m.mutations))]
			member := regexp.MustCompile(values[0])
			stream[i] = member.ReplaceAllLiteralString(stream[i], pick(values[1:]))
		}
	}
	return stream
}

// numbered gives the events of a stream their sequence numbers.
func numbered(stream []string) []string {
	var all []string
	for i, event := range stream {
		if !strings.Contains(event, "sequence_number") {
			event = strings.Replace(event, "{", fmt.Sprintf(`{"sequence_number":%d,`, i), 1)
		}
		all = append(all, event)
	}
	return all
}

// namings give an event of a payload its name.
var namings = map[string]func(i int, kind string) string{
	"all":  func(_ int, kind string) string { return kind },
	"none": func(int, string) string { return "" },
	"some": func(i int, kind string) string { return kind[:len(kind)*(i%2)] },
	"wrong": func(i int, kind string) string {
		return []string{"response.output_text.delta", "response.completed", "error", "x"}[i%4]
	},
}

// connections returns what an API does with the requests of a call: it sends a stream in pieces, or
// again from the start, breaks off or stays open after each, or answers in other ways.
func connections(random *rand.Rand, stream []string) func(naming string) []step {
	type connection struct {
		from, to, end int
	}
	var all []connection
	from := 0
	for range 1 + random.IntN(3) {
		to := from + random.IntN(len(stream)-from+1)
		all = append(all, connection{from, to, random.IntN(5)})
		from = to * random.IntN(2)
	}
	all = append(all, connection{from, len(stream), random.IntN(5)})
	other := random.IntN(3 * len(all))

	return func(naming string) []step {
		var steps []step
		for i, c := range all {
			data := namedFrames(namings[naming], stream[c.from:c.to])
			next := answer(200, data, "Content-Type", eventStream)
			switch c.end {
			case 0:
				next = hangs(next)
			case 1:
				next = cutOff(next)
			}
			switch other {
			case 2*i + 1:
				next = answer(503, "")
			case 2*i + 2:
				next = answer(404, `{"error":{"message":"No such response."}}`)
			}
			steps = append(steps, next)
		}
		anyID := strings.Replace(finished, `"id":"resp_1",`, "", 1)
		return append(steps, answer(200, anyID))
	}
}

// whatCame is all that a call is told: its answer or the kind of its error, and what it cost.
func whatCame(t *testing.T, steps []step, background, watched bool) string {
	t.Helper()
	cl, api := newClient(2, steps...)
	cl.options.Logger = slog.New(slog.DiscardHandler) // writing bodies takes long

	var events []call.Event
	c := recorded(&events)
	if !watched {
		c.Sink = nil
	}
	request := question()
	request.Background = background
	response, err := cl.Create(within(t, 10*time.Minute), c, request)
	checkBlocks(t, events)

	var items []json.RawMessage
	cited := 0
	if err == nil {
		items = response.InputItems()
		_, err := json.Marshal(items)
		wantEqual(t, "error of the output as input", err, nil)
		cited = countSources(response.Output) + countCitations(response.Output)
	}
	return fmt.Sprintf("%s\n%s\n%d citations, %d requests, %+v, %d unknown, %d searches",
		meaning(t, response, err), items, cited, len(api.sent), c.Usage, c.UnreportedRequests,
		c.Searches)
}

// Neither a watcher nor the names of events change the outcome of a call.
func TestRandomStreams(t *testing.T) {
	m := mutator{
		odd:       oddEvents(t),
		mutations: compare.Table(t, "mutations", 7),
	}
	payloads, _ := fixtures(t)
	for _, name := range slices.Sorted(maps.Keys(payloads)) {
		m.pool = append(m.pool, payloads[name])
	}
	rows := table(t, "ends")
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		m.pool = append(m.pool, eventsOf(t, rows[name][2]), eventsOf(t, "$begun\n"+rows[name][2]))
	}

	for seed := range 1000 * compare.Seeds(1) {
		random := rand.New(rand.NewPCG(seed, 1))
		background := random.IntN(3) == 0
		stream := m.stream(random)
		if background {
			stream = numbered(stream)
		}
		steps := connections(random, stream)

		bubble(t, fmt.Sprint(seed), func(t *testing.T) {
			want := whatCame(t, steps("all"), background, true)
			for naming := range namings {
				got := whatCame(t, steps(naming), background, false)
				wantEqual(t, "not watched, names: "+naming, got, want)
			}
			for _, payload := range stream {
				checkDecoding(t, payload)
			}
			if t.Failed() {
				t.Logf("background: %v, stream:\n%s", background, strings.Join(stream, "\n"))
			}
		})
	}
}

// checkDecoding checks that an event is decoded as call.DecodeLenient does.
func checkDecoding(t *testing.T, payload string) {
	t.Helper()
	var got, want streamEvent
	gotErr := got.decode([]byte(payload))
	wantErr := call.DecodeLenient([]byte(payload), &want)
	wantEqual(t, "event "+payload, got, want)
	wantEqual(t, "error of "+payload, fmt.Sprint(gotErr), fmt.Sprint(wantErr))
}

// FuzzDecoding compares the two ways to decode an event.
func FuzzDecoding(f *testing.F) {
	for _, payload := range append(oddEvents(f), eventDelta, eventPart) {
		f.Add(payload)
	}
	f.Fuzz(checkDecoding)
}

// measured is a reader that ends at once, after it has measured something.
type measured func()

func (m measured) Read([]byte) (int, error) {
	m()
	return 0, io.EOF
}

// held returns the bytes that are held.
func held() int {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return int(stats.HeapAlloc)
}

const wordDelta = `{"type":"response.output_text.delta","sequence_number":123,"item_id":"msg_1",` +
	`"output_index":0,"content_index":0,"delta":"word ","logprobs":[],"obfuscation":"0123456789",` +
	`"x":"01234567890123456789012345678901"}`

// A call holds the text of its events, but no event, and a long answer is read to its end.
func TestLongStream(t *testing.T) {
	const deltas = 50_000
	start := frames(slices.Repeat([]string{wordDelta}, deltas)...)
	end := frames(`{"type":"response.completed","response":{"status":"completed","output":[]}}`)
	before, during := 0, 0
	cl, _ := newClient(0, func(req *http.Request) (*http.Response, error) {
		resp, err := answer(200, "", "Content-Type", eventStream)(req)
		before = held()
		measure := measured(func() { during = held() })
		all := io.MultiReader(strings.NewReader(start), measure, strings.NewReader(end))
		resp.Body = io.NopCloser(all)
		return resp, err
	})
	r, err := create(t, cl, question())
	wantSuccess(t, err)
	wantEqual(t, "bytes of the answer", len(textOf(r.Output...)), deltas*len("word "))
	if during-before > 1<<20 {
		t.Errorf("%d KiB are held, want at most 1 MiB", (during-before)>>10)
	}
}

// Events that name a finished item do not cost its text each.
func TestLateEvents(t *testing.T) {
	const text = 1 << 20
	for name, event := range map[string]string{
		"deltas": `{"type":"response.output_text.delta","output_index":9,"item_id":"msg_1",
			"delta":"."}`,
		"items": `{"type":"response.output_item.done","output_index":9,"item_id":"msg_1",
			"item":{"type":"message","id":"msg_2","content":[{"type":"output_text","text":"."}]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			message := `{"type":"message","id":"msg_1","content":[{"type":"output_text","text":"` +
				strings.Repeat("A", text) + `"}]}`
			done := `{"type":"response.output_item.done","output_index":0,"item":` + message + `}`
			last := `{"type":"response.completed","response":{"output":[` + message + `]}}`
			late := slices.Repeat([]string{event}, 1000)
			events := slices.Concat([]string{done}, late, []string{last})
			cl, _ := newClient(0, sseStep(events...))
			cl.options.Logger = slog.New(slog.DiscardHandler) // writing bodies takes long
			before := allocated()
			r, err := create(t, cl, question())
			wantSuccess(t, err)
			wantEqual(t, "bytes of the answer", len(textOf(r.Output...)), text)
			if total := allocated() - before; total > 64*text {
				t.Errorf("%d MiB were allocated", total>>20)
			}
		})
	}
}
