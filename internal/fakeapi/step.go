package fakeapi

import (
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// Step is the behaviour of one request. The zero value is the server's own
// judgement: it answers as the model would. [ParseStep] and [Body] make the
// others.
type Step struct {
	word    string
	delay   time.Duration                // before anything is sent
	slow    time.Duration                // between the events of a stream
	stop    stopAt                       // where a stream ends early
	refuses []string                     // parameters that are answered with a 400
	wire    func(*exchange)              // takes the whole request over
	turn    func(*Server, *request) turn // what the model says
	replay  []recording                  // turns that were recorded, one a request
}

// stopAt ends a stream after a number of events.
type stopAt struct {
	set  bool
	n    int
	kind string // cut: no end of the body; end: a clean one; hang: silence
}

// String returns the words that the step was parsed from.
func (st Step) String() string { return st.word }

// Body is a step that sends the given answer to any request: status 200 or an
// error, a JSON text or anything else.
func Body(status int, contentType, body string) Step {
	return Step{word: fmt.Sprintf("body(%d)", status), wire: func(x *exchange) {
		x.w.Header().Set("Content-Type", contentType)
		x.raw(status, []byte(body))
	}}
}

// ParseSteps reads steps from words that are separated by white space. Its errors
// are those of ParseStep.
func ParseSteps(words string) ([]Step, error) {
	var steps []Step
	for word := range strings.FieldsSeq(words) {
		s, err := ParseStep(word)
		if err != nil {
			return nil, err
		}
		steps = append(steps, s)
	}
	return steps, nil
}

// ParseStep reads a step from a word. Parts joined by "+" apply together, and
// file=, text= and redirect= take the rest of the word, whatever it holds:
//
//	ok, search, weather, uncited, phases, refusal, empty    what the model says
//	text=TEXT                                               the answer, word for word, no search
//	tools[:rounds=N,parallel=N], tools:unknown              calls of the offered function tools
//	incomplete[:empty|:REASON], failed[:CODE], error[:CODE|:flat]
//	400[:param=P,code=C], 401, 403, 404, quota, 429[:retry-after=1|:retry-after-ms=20|:none], 500 ... 599
//	unverified, refuses=PARAM                               400 where the request carries it, else as usual
//	hang, cut, truncated, garbage[:json|:empty|:sse], huge=MIB, redirect=URL
//	delay=2s, slow=100ms                                    before the answer, between events
//	cut-after=N, end-after=N, hang-after=N                  where a stream stops
//	file=PATH                                               a .json answer, or a stream (.chunks.txt)
func ParseStep(word string) (Step, error) {
	st := Step{word: word}
	for rest := word; rest != ""; {
		var part string
		if greedy(rest) {
			part, rest = rest, ""
		} else {
			part, rest, _ = strings.Cut(rest, "+")
		}
		if err := st.apply(part); err != nil {
			return Step{}, fmt.Errorf("parsing step %q: %w", word, err)
		}
	}
	return st, nil
}

func greedy(part string) bool {
	for _, p := range []string{"file=", "text=", "redirect="} {
		if strings.HasPrefix(part, p) {
			return true
		}
	}
	return false
}

// apply adds one part to the step.
func (st *Step) apply(part string) error {
	if name, value, ok := strings.Cut(part, "="); ok && !strings.Contains(name, ":") {
		return st.set(name, value)
	}
	name, args, _ := strings.Cut(part, ":")
	if status, err := strconv.Atoi(name); err == nil {
		return st.status(status, parseArgs(args))
	}
	return st.named(name, args)
}

// set handles the parts of the form name=value.
func (st *Step) set(name, value string) (err error) {
	switch name {
	case "delay":
		st.delay, err = time.ParseDuration(value)
	case "slow":
		st.slow, err = time.ParseDuration(value)
	case "cut-after", "end-after", "hang-after":
		st.stop = stopAt{set: true, kind: strings.TrimSuffix(name, "-after")}
		st.stop.n, err = strconv.Atoi(value)
	case "refuses":
		st.refuses = append(st.refuses, value)
	case "text":
		st.turn = sayText(value)
	case "huge":
		var mib int
		mib, err = strconv.Atoi(value)
		st.wire = func(x *exchange) { x.huge(mib) }
	case "redirect":
		st.wire = func(x *exchange) {
			x.w.Header().Set("Location", value)
			x.raw(http.StatusTemporaryRedirect, nil)
		}
	case "file":
		err = st.file(value)
	default:
		err = fmt.Errorf("unknown setting %q", name)
	}
	return err
}

// status handles the parts that are an HTTP status.
func (st *Step) status(code int, args map[string]string) error {
	var f func(*exchange) *fault
	switch {
	case code == http.StatusUnauthorized:
		f = func(x *exchange) *fault {
			return wrongKey(strings.TrimPrefix(x.r.Header.Get("Authorization"), "Bearer "))
		}
	case code == http.StatusForbidden:
		f = func(*exchange) *fault { return forbidden() }
	case code == http.StatusNotFound:
		f = func(x *exchange) *fault { return x.unknownModel() }
	case code == http.StatusTooManyRequests:
		h, after, err := retryHeader(args)
		if err != nil {
			return err
		}
		f = func(*exchange) *fault { return rateLimit(h, after) }
	case code >= 500 && code <= 599:
		f = func(x *exchange) *fault { return serverError(code, x.w.Header().Get("x-request-id")) }
	case code >= 400 && code <= 499:
		f = func(*exchange) *fault { return badRequest(args).with(code) }
	default:
		return fmt.Errorf("status %d is no error", code)
	}
	st.wire = func(x *exchange) { x.fail(f(x)) }
	return nil
}

// file reads a recording now, so that a wrong path is found where it is named.
func (st *Step) file(path string) error {
	b, err := os.ReadFile(path)
	if err != nil {
		return err // It names the path already.
	}
	if strings.HasSuffix(path, ".chunks.txt") {
		st.replay = splitTurns(string(b))
		return nil
	}
	r, err := newAnswer(b)
	if err != nil {
		return fmt.Errorf("reading recording %q: %w", path, err)
	}
	st.replay = []recording{r}
	return nil
}
