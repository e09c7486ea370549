package cli

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// promises are what the documentation promises, in its words, and what each means for a company
// that has ended. A mutant breaks each of them.
var promises = []struct {
	name, says string
	check      func(w *world, broken report)
}{
	{"end", "A call has one deadline, `request.timeout_ms`, retries included.",
		(*world).checkEnd},
	{"answered", "returns what the call would have returned",
		(*world).checkAnswered},
	{"kept", "any server with the same secret answers for it by asking the API",
		(*world).checkKept},
	{"once", "Never retried: - other 4xx - an exhausted quota - a refused question",
		(*world).checkOnce},
	{"wait", "The wait that the API names is honoured",
		(*world).checkWait},
	{"failed", "Retried, up to `request.max_retries` times",
		(*world).checkFailed},
	{"others", "One event changes no other person's call.",
		(*world).checkOthers},
	{"delayed", "Calls go out at once until the API refuses a request of that person",
		(*world).checkDelayed},
	{"billed", "counts its outcome and tokens",
		(*world).checkBilled},
	{"limit", "a person may use up to R times N more",
		(*world).checkLimit},
	{"memory", "an answer of the API, a stream with all its events | 16 MiB",
		(*world).checkMemory},
	{"work", "an answer of the API, a stream with all its events | 16 MiB",
		(*world).checkWork},
	{"left", "Every goroutine has an owner and ends",
		(*world).checkLeft},
	{"access", "a change is in force when a second read, a second later, agrees",
		(*world).checkAccess},
	{"cancelled", "**A call that ends early** cancels its response at the API",
		(*world).checkCancelled},
	{"drained", "calls in flight finish for up to `--drain`",
		(*world).checkDrained},
	{"secret", "redacted from errors and logs",
		(*world).checkSecret},
}

// report notes how a promise was broken.
type report func(format string, args ...any)

// TestPromises finds each promise in the documentation.
func TestPromises(t *testing.T) {
	text := ""
	for _, page := range []string{"spec.md", "architecture.md", "reference/deployment.md", "reference/limits.md"} {
		data, err := os.ReadFile("../../../docs/" + page)
		if err != nil {
			t.Fatal(err)
		}
		text += strings.Join(strings.Fields(string(data)), " ")
	}
	for _, p := range promises {
		compare.Contains(t, p.name, text, p.says)
	}
}

// end is when the last event of a response exists.
func (j *job) end() time.Time {
	return j.start.Add(time.Duration((j.events()-1)/max(1, j.Batch)) * j.Pace)
}

// complete reports whether the API has the whole answer in the end.
func (j *job) complete() bool { return !j.spoiled && !j.hidden && j.cancelled.IsZero() }

// last is the last call of a question.
func (q *question) last() *attempt { return q.attempts[len(q.attempts)-1] }

// timedOut reports whether a call took its whole time.
func (a *attempt) timedOut() bool { return a.end.Sub(a.start) >= callTime }

// happened reports whether something happened whose name begins so.
func (c setting) happened(what string) bool {
	return slices.ContainsFunc(c.Happens, func(h happening) bool {
		return strings.HasPrefix(h.What, what)
	})
}

func (w *world) died() bool { return w.happened("a replica dies") }

// load is how many questions of a person may run at once.
func (who *crowd) load() int {
	if who.Leaves > 0 {
		return who.Clients * who.Asks
	}
	return who.Clients
}

// load is the same of all people, with a bound for each.
func (w *world) load(most int) (n int) {
	for _, who := range w.Crowds {
		n += min(who.load(), most)
	}
	return n
}

// hasSlots reports whether no call of a person waits for a slot.
func (w *world) hasSlots(who *crowd) bool { return who.load() <= 8 && w.load(8) <= 16 }

// mayWait is how long a call of a person may take, at most, with those before it.
func (w *world) mayWait(who *crowd) time.Duration {
	longest := time.Duration(0)
	gap := s / 3 // of the queue at the rate limit; each refused request makes it longer
	for _, other := range w.Crowds {
		longest = max(longest, other.patience(w.Background))
		for range other.Clients * other.Asks * other.refusals() {
			gap = min(gap*5/4, 20*s)
		}
	}
	if who.refusals() > 0 {
		longest += gap * time.Duration(w.load(16))
	}
	return longest * time.Duration(1+max(who.load()/8, w.load(1000)/16))
}

// refusals is how many requests for a question the rate limit refuses.
func (p *plan) refusals() (n int) {
	for _, t := range p.Troubles {
		e := troubles[t.Kind]
		if e.status == 429 && !e.final {
			n += t.Times
		}
	}
	return n
}

// faults is how many requests for a question fail, many if asking again is no use.
func (p *plan) faults() (n int) {
	for _, t := range p.Troubles {
		e := troubles[t.Kind]
		switch {
		case e.final:
			n += 100
		case e.status > 400 || e.cut != nil && !e.ends:
			n += t.Times
		}
	}
	return n
}

// patience is how long a call may need for a question, at most.
func (p *plan) patience(background bool) time.Duration {
	answer := p.Latency + time.Duration(2*p.Deltas/max(1, p.Batch)+6)*p.Pace
	sum := answer
	for _, t := range p.Troubles {
		e := troubles[t.Kind]
		each := p.Latency + t.Wait + e.late + 8*s
		if e.cut != nil {
			each += answer
		}
		if e.silent && !background {
			each += callTime
		}
		if e.silent {
			each += time.Minute
		}
		sum += time.Duration(t.Times) * each
	}
	return sum
}

// lost reports whether the API itself says that a late answer has failed.
func (q *question) lost() bool {
	failed := func(j *job) bool { return j.failed }
	return q.id != "" && slices.ContainsFunc(q.last().jobs, failed)
}

// refusesAll reports whether the API refuses the key for several people.
func (w *world) refusesAll() bool {
	n := 0
	for _, who := range w.Crowds {
		for _, t := range who.Troubles {
			if troubles[t.Kind].final {
				n++
			}
		}
	}
	return n > 1
}

func (w *world) checkEnd(broken report) {
	for _, q := range w.questions {
		if q.longest > callTime+5*s && q.Client != "slow" {
			broken("%s: a request took %v", q.name, q.longest)
		}
	}
	if w.slowest > 2*s {
		broken("a process ends %v after EOF", w.slowest)
	}
}

func (w *world) checkAnswered(broken report) {
	for _, q := range w.questions {
		if q.answered || !q.left.IsZero() || q.id != "" || q.last().timedOut() {
			continue
		}
		for _, j := range q.last().jobs {
			if j.reported && j.complete() {
				broken("%s: the API wrote it, the client has %.300s %q", q.name, q.text, q.broken)
			}
		}
	}
}

func (w *world) checkKept(broken report) {
	for _, q := range w.questions {
		if q.id == "" || q.answered || q.stopped || q.lost() {
			continue
		}
		for _, j := range q.last().jobs {
			if j.complete() && j.end().Sub(q.last().start) < callTime {
				broken("%s: the API has it, the client with the id has %.300s", q.name, q.text)
			}
		}
	}
}

func (w *world) checkOnce(broken report) {
	for _, a := range w.attempts {
		most := 1
		for _, j := range a.jobs {
			if j.spoiled || j.hidden {
				most++
			}
		}
		if len(a.jobs) > most {
			broken("%s: %d responses for a call, at most %d", a.name, len(a.jobs), most)
		}
		if a.posts > 1+3 { // request.max_retries
			broken("%s: %d requests for a call", a.name, a.posts)
		}
		if a.waiting && len(a.jobs) > 0 {
			broken("%s: the client of a paid call is told that nothing was paid", a.name)
		}
	}
}

func (w *world) checkWait(broken report) {
	for _, a := range w.attempts {
		if a.early > 0 {
			broken("%s is sent %v before the wait is over that the API named", a.name, a.early)
		}
	}
}

func (w *world) checkFailed(broken report) {
	for _, q := range w.questions {
		quota := strings.Contains(q.text, "tokens a day") && w.Limit > 0
		rate := w.setting.Rate > 0 && (strings.Contains(q.text, "rate limit") || q.faults() > 0)
		late := q.took > callTime-10*s && w.mayWait(q.crowd) > callTime
		limited := q.last().waiting && (w.setting.Rate > 0 || w.mayWait(q.crowd) > q.took)
		others := quota || rate || late || limited || q.lost() || w.refusesAll() || q.Person == w.denied
		if !q.answered && q.left.IsZero() && !q.gaveUp && !others && q.faults() <= 3 {
			broken("%s fails without a reason: %.300s %q %q", q.name, q.text, q.broken, q.refused)
		}
	}
}

func (w *world) checkOthers(broken report) {
	for _, q := range w.questions {
		for _, name := range questionName.FindAllString(q.text, -1) {
			if name != q.name {
				broken("%s: the client is told of %s", q.name, name)
			}
		}
		few := q.load() <= 16 && w.load(16) <= 32
		if few && len(q.refused) > 0 && q.Person != w.denied && !w.happened("a replica drains") {
			broken("%s, one of %d clients, is refused: %.200s", q.name, q.Clients, q.refused[0])
		}
		used := int64(q.Clients*q.Asks) * (q.Tokens + int64(q.Deltas) + 300_000)
		isLimited := strings.Contains(q.text, "tokens a day")
		if isLimited && used < w.Limit {
			broken("%s is refused, its person uses at most %d tokens: %.200s", q.name, used, q.text)
		}
	}
}

func (w *world) checkDelayed(broken report) {
	for _, q := range w.questions {
		smooth := q.answered && len(q.Troubles) == 0 && q.left.IsZero() && len(q.attempts) == 1
		denied := q.Person == w.denied && len(q.refused) > 0 // the answer waited for its person
		if smooth && !denied && w.hasSlots(q.crowd) && w.setting.Rate == 0 && q.Client != "slow" {
			j := q.last().jobs[0]
			want := q.Latency + j.end().Sub(j.start) + 4*s
			if programs[q.Client].tasks || w.Plain {
				want += 12 * s // between two polls, of the client or of the server
			}
			if q.took > want {
				broken("%s takes %v, at most %v", q.name, q.took, want)
			}
		}
	}
}

// logged returns the tokens of each call in the log, by traceparent, and those of the lines without
// one: of calls whose end another replica has read.
func (w *world) logged() (tokens map[string]int64, elsewhere []int64) {
	tokens = map[string]int64{}
	for line := range strings.Lines(w.log.String()) {
		l := gjson.Parse(line)
		if l.Get("msg").Str == "call" {
			n := l.Get("input_tokens").Int() + l.Get("output_tokens").Int()
			trace := l.Get("traceparent").Str
			tokens[trace] += n
			if trace == "" {
				elsewhere = append(elsewhere, n)
			}
		}
	}
	return tokens, elsewhere
}

func (w *world) checkBilled(broken report) {
	logged, elsewhere := w.logged()
	sum := int64(0)
	for trace, a := range w.attempts {
		if programs[a.Client].stdio {
			continue
		}
		reported, billed := int64(0), int64(0)
		cut := !a.left.IsZero() || a.timedOut()
		for _, j := range a.jobs {
			i := slices.Index(elsewhere, j.used())
			if logged[trace] == 0 && a.id != "" && i >= 0 {
				logged[trace] = j.used()
				elsewhere = slices.Delete(elsewhere, i, i+1)
				cut = true // "What a retry or a requery has used is not in it"
			}
			billed += j.used()
			switch {
			case j.reported:
				reported += j.used()
			case j.partly:
				reported += j.Tokens
			}
		}
		sum += logged[trace]
		ended := w.died() || w.happened("a replica drains") && a.id != "" // before the answer
		unsure := w.happened("the store") && a.id != ""                   // who settles the end
		cut = cut || ended || unsure
		if logged[trace] > billed || logged[trace] < reported && !cut {
			broken("%s: %d tokens are counted, the API has billed %d and reported %d",
				a.name, logged[trace], billed, reported)
		}
	}
	noStore := w.happened("the store") || w.died() // then each of two replicas may be the first
	if len(elsewhere) > 0 && !noStore {
		broken("lines of calls that have one already: %d tokens", elsewhere)
	}
	for _, n := range elsewhere {
		sum += n
	}
	counted := int64(w.gauges["tokens_total of both kinds"])
	if counted != sum && !w.died() && !w.happened("a replica drains") {
		broken("%d tokens are in the metrics, %d in the log", counted, sum)
	}
}

func (w *world) checkLimit(broken report) {
	billed, each := map[string]int64{}, map[string]int64{}
	for _, a := range w.attempts {
		for _, j := range a.jobs {
			if j.reported && !programs[a.Client].stdio {
				billed[a.Person] += j.used()
				each[a.Person] = max(each[a.Person], j.used())
			}
		}
	}
	for person, n := range billed {
		limits := int64(1)
		if w.happened("the store") {
			limits = int64(len(w.replicas))
		}
		const calls = 8 + 16 // tasks that run, and requests that wait; each has reserved tokens
		bound := limits*w.Limit + int64(calls*len(w.replicas))*each[person]
		if w.Limit > 0 && n > bound {
			broken("%s has used %d tokens, at most %d", person, n, bound)
		}
	}
}

func (w *world) checkMemory(broken report) {
	room := int64(2+len(w.replicas)) << 19
	for _, who := range w.Crowds {
		each := int64(32 << 10) // of the connections of a client
		if programs[who.Client].stdio {
			each = 1 << 20 // of a process
		}
		room += int64(who.Clients) * each
	}
	for _, s := range w.samples {
		held := s.heap - w.idle
		if held > room+s.calls*(256<<10+s.written/4) {
			broken("%d running calls hold %d KiB, the API has written %d KiB to each",
				s.calls, held>>10, s.written>>10)
		}
	}
}

func (w *world) checkWork(broken report) {
	requests := int64(len(w.replies) + len(w.attempts))
	most := 40<<20 + requests*(2500<<10) + int64(w.requests+w.lines)*(300<<10) + 16*w.bytes
	if w.allocated > most {
		broken("%d MiB are allocated for %d requests and %d KiB of the API", w.allocated>>20,
			len(w.replies), w.bytes>>10)
	}
}

func (w *world) checkLeft(broken report) {
	if w.left != nil {
		broken("%v", w.left)
	}
	for _, gauge := range []string{"requests_in_flight", "calls_running", "calls_waiting"} {
		if w.gauges[gauge] != 0 {
			broken("%s is %v at the end", gauge, w.gauges[gauge])
		}
	}
}

func (w *world) checkAccess(broken report) {
	for _, r := range w.replies {
		to := w.to
		if to.IsZero() {
			to = r.at.Add(s)
		}
		denied := r.at.After(w.from.Add(rereadTime)) && r.at.Before(to)
		allowed := r.at.Before(w.from) || r.at.After(to.Add(rereadTime))
		if r.person != w.denied {
			denied, allowed = false, true
		}
		switch {
		case r.status == 401 != (r.person == former):
			broken("a request with the token of %s gets %d", r.person, r.status)
		case denied && r.status != 403, allowed && r.status == 403:
			broken("%s, denied from %v to %v, gets %d at %v", r.person, w.from, to, r.status, r.at)
		}
	}
	for _, a := range w.attempts {
		changed := !w.changed.IsZero() && a.start.After(w.changed.Add(rereadTime))
		if changed && strings.HasSuffix(a.key, "1") {
			broken("%s is asked with the old key", a.name)
		}
	}
}

func (w *world) checkCancelled(broken report) {
	for _, q := range w.questions {
		waited := q.left.Sub(q.last().start)
		inTime := waited == w.Within || waited == 2*s // perhaps it got an id in the same instant
		unread := q.Client == "slow" && waited > w.Within && w.Within > 0
		if !q.stopped || w.died() || inTime || unread {
			continue
		}
		soon := q.left.Add(4 * time.Second)
		for _, j := range q.last().jobs {
			stopped := j.left
			if j.background {
				stopped = j.cancelled
			}
			runs := stopped.IsZero() || stopped.After(soon)
			named := j.start.Before(q.left)
			if j.start.After(q.left) || named && runs && j.end().After(soon) && !j.spoiled {
				broken("%s: its client has left at %v, the response runs from %v to %v",
					q.name, q.left, j.start, stopped)
			}
		}
	}
}

func (w *world) checkDrained(broken report) {
	for _, err := range w.errors {
		broken("%v", err)
	}
	for _, q := range w.questions {
		if len(q.broken) > 0 && !w.died() {
			broken("%s: %q", q.name, q.broken)
		}
	}
}

func (w *world) checkSecret(broken report) {
	texts := []string{w.log.String()}
	for _, q := range w.questions {
		texts = append(texts, q.text)
		texts = append(texts, q.refused...)
		if q.stolen {
			broken("%s: another person has the answer", q.name)
		}
	}
	for _, text := range texts {
		for _, secret := range []string{testKey[:8], "token-of-"} {
			if i := strings.Index(text, secret); i >= 0 {
				broken("%s… is in %.300s", secret, text[max(0, i-100):])
			}
		}
	}
}
