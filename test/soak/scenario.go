package main

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// outcome is what becomes of a call that is not cancelled, given time.
type outcome int

const (
	answered outcome = iota // a result, with the nonce of the question in it
	failed                  // an error
	silent                  // perhaps nothing before its timeout
)

// scenario is what the API does with one question.
type scenario struct {
	kind    string // for the summary; "": no fault
	weight  int
	outcome outcome
	// steps are words of fakeapi, one a request; what comes behind them is
	// answered properly. %d is some number of events.
	steps []string
	echo  bool // the API's refusal repeats the nonce
}

// scenarios are drawn by weight. The server repeats a request twice: two faults
// are got over, three are not.
func scenarios() []scenario {
	return []scenario{
		{weight: 24},
		{weight: 8, steps: []string{"search"}},
		{weight: 6, steps: []string{"weather"}},
		{weight: 4, steps: []string{"uncited"}},
		{weight: 4, steps: []string{"phases"}},
		{weight: 4, steps: []string{"incomplete"}},
		{weight: 6, steps: []string{"delay=40ms"}},
		{kind: "slow drip", weight: 8, steps: []string{"slow=3ms"}},
		{kind: "slower drip", weight: 3, steps: []string{"slow=40ms"}},
		{kind: "429 with Retry-After-Ms", weight: 4, steps: []string{"429", "429"}},
		{kind: "429 with Retry-After", weight: 2, steps: []string{"429:retry-after=1"}},
		{kind: "429 without Retry-After", weight: 3, steps: []string{"429:none"}},
		{kind: "429 to the end", weight: 2, steps: []string{"429", "429", "429"}, outcome: failed},
		{kind: "500", weight: 4, steps: []string{"500"}},
		{kind: "503", weight: 3, steps: []string{"503", "503"}},
		{kind: "500 to the end", weight: 2, steps: []string{"500", "502", "504"}, outcome: failed},
		{kind: "connection cut", weight: 5, steps: []string{"cut"}},
		{kind: "answer cut", weight: 4, steps: []string{"truncated"}},
		{kind: "stream cut after k events", weight: 8, steps: []string{"cut-after=%d"}},
		{kind: "stream ended after k events", weight: 6, steps: []string{"end-after=%d"}},
		{kind: "stream slow, then cut", weight: 4, steps: []string{"slow=2ms+cut-after=%d"}},
		{kind: "event: error", weight: 5, steps: []string{"error"}},
		{kind: "event: error, flat", weight: 3, steps: []string{"error:flat"}},
		{kind: "response failed", weight: 4, steps: []string{"failed"}},
		{kind: "quota", weight: 2, steps: []string{"quota"}, outcome: failed},
		{kind: "quota in the stream", weight: 2, steps: []string{"failed:insufficient_quota"}, outcome: failed},
		{kind: "garbage, HTML", weight: 3, steps: []string{"garbage"}, outcome: failed},
		{kind: "garbage, JSON", weight: 2, steps: []string{"garbage:json"}, outcome: failed},
		{kind: "garbage, nothing", weight: 2, steps: []string{"garbage:empty"}, outcome: failed},
		{kind: "400", weight: 4, echo: true, outcome: failed},
		{kind: "401", weight: 1, steps: []string{"401"}, outcome: failed},
		{kind: "403", weight: 1, steps: []string{"403"}, outcome: failed},
		{kind: "404", weight: 1, steps: []string{"404"}, outcome: failed},
		{kind: "no text", weight: 2, steps: []string{"empty"}, outcome: failed},
		{kind: "redirect elsewhere", weight: 1, steps: []string{"redirect=http://127.0.0.1:1/"}, outcome: failed},
		{kind: "hang", weight: 6, steps: []string{"hang"}, outcome: silent},
		{kind: "stream hangs after k events", weight: 6, steps: []string{"slow=1ms+hang-after=%d"}, outcome: silent},
	}
}

// maxEvents bounds the k of a scenario; the streams here have some 20 to 50.
const maxEvents = 60

// draw picks one of the scenarios that fit.
func draw(r *rand.Rand, fits func(scenario) bool) scenario {
	all, sum := scenarios(), 0
	for _, s := range all {
		if fits(s) {
			sum += s.weight
		}
	}
	n := r.IntN(sum)
	for _, s := range all {
		if !fits(s) {
			continue
		}
		if n -= s.weight; n < 0 {
			return s
		}
	}
	panic("unreachable: n is below the sum of the weights")
}

// parse makes the steps of the scenario for one question.
func (s scenario) parse(r *rand.Rand, nonce string) []fakeapi.Step {
	if s.echo {
		return []fakeapi.Step{fakeapi.Body(http.StatusBadRequest, "application/json",
			fmt.Sprintf(`{"error":{"message":"%s is refused","type":"invalid_request_error","param":null,"code":null}}`, nonce))}
	}
	var steps []fakeapi.Step
	for _, word := range s.steps {
		step, err := fakeapi.ParseStep(strings.ReplaceAll(word, "%d", strconv.Itoa(r.IntN(maxEvents))))
		if err != nil {
			panic(err) // a word of the table above
		}
		steps = append(steps, step)
	}
	return steps
}
