package cli

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

// plan is what the API does with a question.
type plan struct {
	Latency  time.Duration // until the first byte
	Deltas   int           // of the answer
	Batch    int           // deltas at a time
	Pace     time.Duration // between two batches
	Tokens   int64         // of the question; the answer has one for each delta
	Troubles []trouble
}

// trouble is a row of troubles, that of so many requests, after those of the troubles before it.
type trouble struct {
	Kind  string
	Times int
	Wait  time.Duration // that the API names
}

// troubles are what may go wrong with a request to the API. The name of a refusal has what it says.
var troubles = map[string]effect{
	"429":                                   {status: 429},
	"429 Retry-After: SECONDS":              {status: 429},
	"429 Retry-After: UNITS":                {status: 429},
	"429 Retry-After: DATE":                 {status: 429},
	"429 Retry-After-Ms: MS":                {status: 429},
	"429 x-ms-retry-after-ms: MS":           {status: 429},
	"429 x-ratelimit-reset-requests: UNITS": {status: 429},
	"429 Please try again in UNITS.":        {status: 429},
	"503":                                   {status: 503},
	"429 insufficient_quota":                {status: 429, final: true},
	"429 used all available credits":        {status: 429, final: true}, // in words only
	"401 invalid_api_key":                   {status: 401, final: true},
	"409":                                   {status: 409},
	"503 after a minute":                    {status: 503, late: time.Minute},
	"500 with the key KEY":                  {status: 500},
	"400 stream is not supported":           {status: 400},
	"cut at the start":                      {cut: func(*job) int { return 0 }},
	"cut when it has a name":                {cut: func(*job) int { return 1 }},
	"cut in the text":                       {cut: middle},
	"cut in a line":                         {cut: middle, half: true},
	"cut before the end":                    {cut: last},
	"failed":                                {cut: middle, fails: true},
	"no end":                                {cut: last, ends: true},
	"no names":                              {unnamed: 1},
	"some names":                            {unnamed: 3},
	"no stream":                             {plain: true},
	"deltas again":                          {again: true},
	"silent in the text":                    {cut: middle, silent: true},
	"no GET":                                {missing: 100},
	"not the first GET":                     {missing: 1},
}

// effect is what a trouble does.
type effect struct {
	status  int           // of a refusal
	final   bool          // it is no use to ask again
	late    time.Duration // until then
	cut     func(*job) int
	half    bool // the event at the cut is sent in part,
	fails   bool // is a failure,
	ends    bool // the stream ends well,
	silent  bool // or nothing follows
	unnamed int  // each so many events have no name
	plain   bool // an object in place of a stream
	again   bool // the deltas come again after their item
	missing int  // so many GETs do not find the response
}

func middle(j *job) int { return 3 + j.Deltas/2 }

func last(j *job) int { return j.events() - 1 }

// api is a Responses API in a bubble, with a ledger.
type api struct {
	rate float64 // requests a second; 0: any

	mu        sync.Mutex // guards all below and what it points to
	bucket    float64    // of the rate limit
	filled    time.Time
	questions map[string]*question
	attempts  map[string]*attempt // by traceparent
	jobs      map[string]*job     // in the background, by id
	open      map[*job]int        // bytes written on open connections
	bytes     int64
	requests  int
}

// job is a response.
type job struct {
	*question
	id         string
	start      time.Time
	background bool
	named      bool // its first event was sent
	repeats    bool // the deltas, after their item
	missing    int  // so many GETs do not find it
	hidden     bool // no GET finds it
	spoiled    bool // it cannot be continued
	failed     bool // for the API, too
	partly     bool // it reports the tokens of the question
	left       time.Time
	cancelled  time.Time
	reported   bool // its end has arrived
}

func (a *api) locked(f func()) {
	a.mu.Lock()
	defer a.mu.Unlock()
	f()
}

// exchange is a request to the API.
type exchange struct {
	*api
	*job
	effect
	attempt *attempt
	w       http.ResponseWriter
	r       *http.Request
	get     bool
	stream  bool // that is asked for
	done    bool // refused

}

func (x *exchange) refuse(status int, code, param, message string) {
	x.done = true
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	fmt.Fprintf(x.w, `{"error":{"message":%q,"type":"x","code":%q,"param":%q}}`,
		message, code, param)
}

// refused answers as a trouble says, unless it does not.
func (x *exchange) refused(t trouble) {
	if x.status == 0 || x.get || x.status == 400 && !x.stream {
		return
	}
	at := time.Now().Add(t.Wait)
	words := strings.NewReplacer(
		"SECONDS", fmt.Sprint(t.Wait.Seconds()),
		"UNITS", t.Wait.String(),
		"DATE", at.Add(time.Second-1).UTC().Format(http.TimeFormat),
		"MS", fmt.Sprint(t.Wait.Milliseconds()),
		"KEY", x.r.Header.Get("Authorization"),
	).Replace(t.Kind[3:])
	header, value, ok := strings.Cut(words, ": ")
	if ok {
		x.w.Header().Set(strings.TrimSpace(header), value)
		x.w.Header().Set("X-Ratelimit-Remaining-Requests", "0")
	}
	code, param := words, ""
	switch {
	case x.final:
		code = code[1:]
	case x.status == 429:
		code = "rate_limit_exceeded"
		if words != "" {
			x.locked(func() { x.attempt.notBefore = at })
		}
	case x.status == 400:
		code, param = "unsupported_parameter", "stream"
	}
	x.refuse(x.status, code, param, "Limit or overload."+words)
}

func (j *job) events() int {
	if j.repeats {
		return 2*j.Deltas + 6
	}
	return j.Deltas + 6
}

// until returns how long it takes until an event exists.
func (j *job) until(i int) time.Duration {
	return time.Until(j.start.Add(time.Duration(i/max(1, j.Batch)) * j.Pace))
}

func (j *job) ended() bool { return j.until(j.events()-1) <= 0 }

func (j *job) object(status string) string {
	output := ""
	if status == "completed" {
		output = j.item()
	}
	return fmt.Sprintf(`{"id":%q,"object":"response","status":%q,"background":%v,`+
		`"model":"gpt-5.2","output":[%s],"usage":{"input_tokens":%d,"output_tokens":%d,"total_tokens":%d}}`,
		j.id, status, j.background, output, j.Tokens, j.Deltas, j.used())
}

// used is how many tokens a response takes.
func (j *job) used() int64 { return j.Tokens + int64(j.Deltas) }

func (j *job) item() string {
	text := "A:" + j.name + strings.Repeat(" word", j.Deltas) + " END:" + j.name
	return fmt.Sprintf(`{"type":"message","id":"msg_1","role":"assistant","status":"completed",`+
		`"content":[{"type":"output_text","text":%q,"annotations":[]}]}`, text)
}

// event returns the type and the data of an event.
func (j *job) event(i int) (name, data string) {
	const place = `,"item_id":"msg_1","output_index":0,"content_index":0`
	text := " word"
	switch i {
	case 0:
		name, data = "created", `,"response":`+j.object("in_progress")
	case 1:
		name, data = "output_item.added", place+`,"item":{"type":"message","id":"msg_1",`+
			`"role":"assistant","status":"in_progress","content":[]}`
	case 4 + j.Deltas:
		name, data = "output_item.done", place+`,"item":`+j.item()
	case j.events() - 1:
		name, data = "completed", `,"response":`+j.object("completed")
	case 2:
		text = "A:" + j.name
		fallthrough
	case 3 + j.Deltas:
		if i > 2 {
			text = " END:" + j.name
		}
		fallthrough
	default:
		name = "output_text.delta"
		data = place + `,"delta":"` + text + `","logprobs":[],"obfuscation":"0123456789012345678901` +
			`2345678901234567890123456789"`
	}
	name = "response." + name
	return name, fmt.Sprintf(`{"type":%q,"sequence_number":%d%s}`, name, i, data)
}

var questionName = regexp.MustCompile(`\bq\d+z\b`)

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	x := &exchange{api: a, w: w, r: r}
	a.mu.Lock()
	a.requests++
	a.mu.Unlock()
	if r.Method == http.MethodPost && strings.HasSuffix(r.URL.Path, "/responses") {
		x.stream = gjson.GetBytes(body, "stream").Bool()
		x.create(questionName.FindString(string(body)), gjson.GetBytes(body, "background").Bool())
		return
	}
	_, id, _ := strings.Cut(r.URL.Path, "/responses/")
	id, cancels := strings.CutSuffix(id, "/cancel")
	x.stream = r.URL.Query().Get("stream") == "true"
	x.fetch(id, cancels)
}

// try applies the troubles of the question to the next request.
func (x *exchange) try() {
	var n int
	x.locked(func() { n, x.tries = x.tries, x.tries+1 })
	for _, t := range x.plan.Troubles {
		if 0 <= n && n < t.Times {
			x.effect = troubles[t.Kind]
			time.Sleep(x.late)
			x.refused(t)
		}
		n -= t.Times
	}
}

// create answers POST /responses.
func (x *exchange) create(name string, background bool) {
	x.locked(func() {
		q := x.questions[name]
		x.job = &job{
			question:   q,
			id:         fmt.Sprintf("resp_%s_%d", name, q.posts),
			background: background,
		}
		q.posts++
		x.attempt = x.attempts[x.r.Header.Get("Traceparent")]
		x.attempt.early = max(x.attempt.early, time.Until(x.attempt.notBefore))
		x.attempt.posts++
		x.attempt.key = x.r.Header.Get("Authorization")
	})
	if !sleepContext(x.r.Context(), x.Latency) {
		return
	}
	wait := x.take()
	if wait > 0 {
		x.status = 429
		x.refused(trouble{"429 Retry-After: SECONDS", 1, wait})
		return
	}
	x.try()
	if x.done {
		if x.status == 400 { // the same request follows without the parameter
			x.locked(func() { x.attempt.posts-- })
		}
		return
	}

	x.locked(func() {
		x.start = time.Now()
		x.repeats = x.again
		x.job.missing, x.hidden = x.effect.missing, x.effect.missing > 1
		x.attempt.jobs = append(x.attempt.jobs, x.job)
		if background {
			x.jobs[x.id] = x.job
		}
	})
	switch {
	case x.stream && !x.plain:
		x.write(0)
	case background:
		x.object("in_progress")
	default:
		if sleepContext(x.r.Context(), x.until(x.events()-1)) {
			x.object("completed")
		} else {
			x.leave()
		}
	}
}

// fetch answers requests about a response in the background.
func (x *exchange) fetch(id string, cancels bool) {
	x.get = true
	var missing, cancelled, failed bool
	x.locked(func() {
		x.job = x.jobs[id]
		if x.job != nil && cancels && !x.ended() && !x.failed {
			x.cancelled = time.Now()
		}
		cancelled = x.job != nil && !x.cancelled.IsZero()
		failed = x.job != nil && x.failed
		if x.job != nil && !cancels {
			x.job.missing--
		}
		missing = x.job == nil || x.job.missing >= 0 && !cancels
	})
	switch {
	case missing:
		x.refuse(404, "", "", "Response with id '"+id+"' not found.")
	case cancelled:
		x.object("cancelled")
	case failed:
		x.object("failed")
	case cancels:
		x.refuse(400, "", "", "Cannot cancel a completed response.")
	case x.stream:
		x.try()
		after, _ := strconv.Atoi(x.r.URL.Query().Get("starting_after"))
		x.write(after + 1)
	case x.ended():
		x.object("completed")
	default:
		x.object("in_progress")
	}
}

func (x *exchange) object(status string) {
	x.w.Header().Set("Content-Type", "application/json")
	n, err := io.WriteString(x.w, x.job.object(status))
	err = errors.Join(err, http.NewResponseController(x.w).Flush())
	x.locked(func() {
		x.bytes += int64(n)
		x.job.named = true
		x.reported = x.reported || status == "completed" && err == nil
	})
}

// leave notes that nothing reads the response any more.
func (x *exchange) leave() { x.locked(func() { x.left = time.Now() }) }

// take takes a request of the rate limit, and returns how long it takes until there is one.
func (a *api) take() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.rate == 0 {
		return 0
	}
	a.bucket = min(2, a.bucket+a.rate*time.Since(a.filled).Seconds())
	a.filled = time.Now()
	if a.bucket >= 1-1e-9 {
		a.bucket--
		return 0
	}
	return time.Duration(math.Ceil((1-a.bucket)/a.rate)) * time.Second
}

// write sends the events of a response from one on, each batch when it exists.
func (x *exchange) write(from int) {
	j := x.job
	x.locked(func() { x.open[j] += 0 })
	defer x.locked(func() { delete(x.open, j) })
	x.w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(x.w)
	_ = control.Flush()
	var b strings.Builder
	flush := func() error {
		_, err := io.WriteString(x.w, b.String())
		err = errors.Join(err, control.Flush(), x.r.Context().Err())
		x.locked(func() {
			x.bytes += int64(b.Len())
			x.open[j] += b.Len()
		})
		b.Reset()
		return err
	}

	cancelled := false
	for i := from; i < j.events(); i++ {
		wait := j.until(i)
		if wait > 0 || b.Len() > 16<<10 {
			err := flush()
			if !sleepContext(x.r.Context(), wait) || err != nil {
				x.leave()
				return
			}
			x.locked(func() { cancelled = !j.cancelled.IsZero() })
			if cancelled {
				return // nothing follows
			}
		}
		name, data := j.event(i)
		if x.cut != nil && i >= x.cut(j) {
			x.spoil(&b, data)
			_ = flush()
			switch {
			case x.ends:
				return
			case x.silent:
				<-x.r.Context().Done()
				x.leave()
				return
			}
			panic(http.ErrAbortHandler)
		}
		if x.unnamed == 0 || i%x.unnamed > 0 {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + data + "\n\n")
		x.locked(func() { j.named = true })
	}
	if flush() == nil {
		x.locked(func() { j.reported = true })
	}
}

// spoil ends the stream in place of an event.
func (x *exchange) spoil(b *strings.Builder, data string) {
	switch {
	case x.half:
		b.WriteString("data: " + data[:len(data)/2])
	case x.fails:
		fmt.Fprintf(b, `data: {"type":"response.failed","sequence_number":%d,"response":{`+
			`"status":"failed","error":{"code":"server_error","message":"x"},`+
			`"usage":{"input_tokens":%d}}}`+"\n\n",
			x.events(), x.Tokens)
	}
	x.locked(func() {
		x.failed = x.failed || x.fails
		x.partly = x.fails
		x.spoiled = x.fails || x.hidden || x.cut(x.job) == 0 || !x.background && !x.ends
	})
}
