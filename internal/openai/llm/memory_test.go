package llm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var (
	alice = call.Person{ID: "token:alice", Name: "alice"}
	bob   = call.Person{ID: "token:bob", Name: "bob"}
	carol = call.Person{ID: "token:carol", Name: "carol"}
)

// newShared returns a client of an API that people share, which accepts all requests.
func newShared() (*Client, *scripted) {
	cl, api := newClient(0, succeed)
	cl.memory.refusalPause = 5 * time.Second
	return cl, api
}

// set sets the step of people.
func (s *scripted) set(next step, people ...call.Person) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, p := range people {
		s.people[safetyIdentifier(p)] = next
	}
}

// refuse refuses the requests of alice that have a parameter.
func (s *scripted) refuse(path string, fault step) {
	s.set(func(req *http.Request) (*http.Response, error) {
		if s.lastHas(alice, path) {
			return fault(req)
		}
		return succeed(req)
	}, alice)
}

// lastHas reports whether the last request of a person has a parameter.
func (s *scripted) lastHas(p call.Person, path string) bool {
	sent := s.sentBy(p)
	return sends(sent[len(sent)-1], path)
}

// createAs makes a call of a person, and returns its error.
func createAs(t testing.TB, cl *Client, p call.Person) error {
	_, err := cl.Create(t.Context(), &call.Call{Person: p}, question())
	return err
}

// keyFaults are refusals of the key and of its quota.
var keyFaults = map[string]step{
	"401":          answer(401, apiBody("", "invalid_api_key", "", "Incorrect API key.")),
	"402":          answer(402, `{"error":{"code":402,"message":"requires more credits, or fewer max_tokens"}}`),
	"quota":        answer(429, apiBody("", "insufficient_quota", "", "No credit.")),
	"scope":        answer(401, apiBody("", "missing_scope", "", "Missing scopes: api.responses.write.")),
	"key in a 200": sseStep(`{"type":"error","error":{"code":"invalid_api_key","message":"x"}}`),
	"a 200":        sseStep(`{"type":"error","error":{"code":"insufficient_quota","message":"No credit."}}`),
}

// eachFault runs a subtest in a synctest bubble for each of keyFaults, with a client of newShared.
func eachFault(t *testing.T, test func(t *testing.T, cl *Client, api *scripted, fault step)) {
	for name, fault := range keyFaults {
		bubble(t, name, func(t *testing.T) {
			cl, api := newShared()
			test(t, cl, api, fault)
		})
	}
}

// The refusals of a person, however many, are that person's while others succeed. After three in a
// row that person's calls fail without a request.
func TestRefusalsOfOne(t *testing.T) {
	eachFault(t, func(t *testing.T, cl *Client, api *scripted, fault step) {
		api.set(fault, alice, bob)
		for range 100 {
			if createAs(t, cl, alice) == nil || createAs(t, cl, bob) == nil {
				t.Error("a refused call is answered")
			}
			wantSuccess(t, createAs(t, cl, carol))
		}
		wantEqual(t, "requests of alice", len(api.sentBy(alice)), 3)

		time.Sleep(2 * time.Minute)
		api.set(nil, alice)
		wantSuccess(t, createAs(t, cl, alice))
	})
}

// A refusal among successes fails its own call only.
func TestRefusalsInBetween(t *testing.T) {
	eachFault(t, func(t *testing.T, cl *Client, api *scripted, fault step) {
		for _, p := range []call.Person{alice, alice, bob, bob, alice} {
			api.set(fault, p)
			if createAs(t, cl, p) == nil {
				t.Error("a refused call is answered")
			}
			api.set(nil, p)
			for _, other := range []call.Person{carol, alice, bob} {
				wantSuccess(t, createAs(t, cl, other))
			}
		}
	})
}

// Refusals of two people without a success between them count for all: loops of any number of
// people make a request in five seconds.
func TestRefusalsOfAll(t *testing.T) {
	eachFault(t, func(t *testing.T, cl *Client, api *scripted, fault step) {
		api.set(fault, alice, bob, carol)
		for range 3 {
			createAs(t, cl, alice)
			createAs(t, cl, bob)
		}
		for range 600 { // a minute
			e := asError(t, createAs(t, cl, carol))
			if e.Status != 401 && !e.Kind.RefusesKey() {
				t.Errorf("kind = %v", e.Kind)
			}
			createAs(t, cl, alice)
			time.Sleep(100 * time.Millisecond)
		}

		for i := 7; i < len(api.at); i++ {
			pause := api.at[i].Sub(api.at[i-1])
			if pause < 5*time.Second {
				t.Errorf("request %d follows after %v", i, pause)
			}
		}
		if n := len(api.at); n > 6+12 {
			t.Errorf("%d requests", n)
		}

		cl.SetKey("sk-another")
		api.set(nil, alice)
		wantSuccess(t, createAs(t, cl, alice))
	})
}

// A key that works again answers the calls that begin seven seconds later, also if answers take
// longer, with their header or without.
func TestRefusalsEnd(t *testing.T) {
	late := func(req *http.Request) (*http.Response, error) {
		time.Sleep(20 * time.Second)
		return succeed(req)
	}
	for name, well := range map[string]step{"header at once": nil, "header at the end": late} {
		bubble(t, name, func(t *testing.T) {
			cl, api := newShared()
			people := []call.Person{alice, bob, carol}
			api.set(keyFaults["401"], people...)
			for i := range 300 {
				createAs(t, cl, people[i%3])
				time.Sleep(100 * time.Millisecond)
			}
			api.set(well, people...)

			var calls sync.WaitGroup
			for i := range 100 {
				calls.Go(func() {
					err := createAs(t, cl, people[i%3])
					if i >= 70 {
						wantSuccess(t, err)
					}
				})
				time.Sleep(100 * time.Millisecond)
			}
			calls.Wait()
		})
	}
}

// Without a pause each call asks the API, and gets the error of its own request.
func TestRefusalsOff(t *testing.T) {
	bubble(t, "off", func(t *testing.T) {
		cl, api := newShared()
		cl.memory.refusalPause = 0
		api.set(keyFaults["401"], alice)
		api.set(keyFaults["402"], bob)
		for range 10 {
			wantKind(t, createAs(t, cl, alice), call.KindAuth)
			wantKind(t, createAs(t, cl, bob), call.KindAPIQuota)
		}
		wantEqual(t, "requests of alice", len(api.sentBy(alice)), 10)
		wantEqual(t, "requests of bob", len(api.sentBy(bob)), 10)
	})
}

// A refused parameter is left out for the model with the value that was refused, for all only where
// a code shows it, and for ten minutes.
func TestParameterMemory(t *testing.T) {
	eachRow(t, "parameters", func(t *testing.T, _ string, row []string) {
		code, message, people, lacking := row[0], row[1], row[2], row[3]
		cl, api := newShared()
		fault := answer(400, apiBody("", code, "reasoning.effort", message))
		once := func(req *http.Request) (*http.Response, error) {
			api.set(nil, alice, bob)
			return fault(req)
		}
		lacks := func(p call.Person, effort string) bool {
			request := question()
			request.ReasoningEffort = effort
			_, err := cl.Create(t.Context(), &call.Call{Person: p}, request)
			wantSuccess(t, err)
			return !api.lastHas(p, "reasoning.effort")
		}

		for name := range strings.FieldsSeq(people) {
			p := call.Person{ID: "token:" + name, Name: name}
			if p != carol {
				api.set(once, p)
			}
			lacks(p, "medium")
		}

		got := fmt.Sprint(lacks(alice, "medium"), lacks(bob, "medium"), lacks(carol, "low"))
		wantEqual(t, "alice, bob and carol lack it", got, lacking)
		time.Sleep(10*time.Minute + time.Second)
		wantEqual(t, "alice lacks it later", lacks(alice, "medium"), false)
	})
}

// What the request without a parameter is refused for, too, says nothing about the parameter.
func TestRefusedAnyway(t *testing.T) {
	bubble(t, "refused", func(t *testing.T) {
		cl, api := newShared()
		api.set(refusedAs("reasoning.effort", "Nope."), alice)
		wantKind(t, createAs(t, cl, alice), call.KindBadRequest)
		wantSuccess(t, createAs(t, cl, bob))
		wantEqual(t, "requests of bob", len(api.sentBy(bob)), 1)
		wantEqual(t, "bob's effort is sent", api.lastHas(bob, "reasoning.effort"), true)
	})
}

// A list is left out if the API has refused both an element and the list without it.
func TestRefusedList(t *testing.T) {
	for range 100 { // the memory of refused parameters has no order
		cl, api := newShared()
		api.refuse("include", refusedAs("include", "reasoning.encrypted_content"))
		wantSuccess(t, createAs(t, cl, alice))
		wantSuccess(t, createAs(t, cl, bob))
		wantEqual(t, "bob's include is sent", api.lastHas(bob, "include"), false)
	}
}

// A blocked person is refused for good, and only a server that does not know safety_identifier is
// asked without it. It stays where an error may repeat it from the question.
func TestIdentifier(t *testing.T) {
	eachRow(t, "identifier", func(t *testing.T, name string, row []string) {
		fault, want, stays := row[0], row[1], row[2]
		cl, api := newShared()
		api.set(answer(400, `{"error":{`+fault+`}}`), alice)
		request := question()
		if name == "asked for" {
			request.Input = []json.RawMessage{call.UserMessage("What is a safety_identifier?")}
		}
		_, err := cl.Create(t.Context(), &call.Call{Person: alice}, request)
		wantEqual(t, "kind", kindOf(t, err).Label(), want)
		wantEqual(t, "asked without", len(api.sentBy(call.Person{})) > 0, want == "")

		wantSuccess(t, createAs(t, cl, bob))
		wantEqual(t, "bob is marked", fmt.Sprint(len(api.sentBy(bob)) == 1), stays)
	})
}

// A server that refuses background in words is asked in the foreground. Words that may be those of
// the question, or of an earlier answer, decide nothing beyond the call.
func TestBackgroundInWords(t *testing.T) {
	eachRow(t, "in-words", func(t *testing.T, _ string, row []string) {
		asked, code, message, kind, want := row[0], row[1], row[2], row[3], row[4]
		for _, input := range [][]json.RawMessage{
			{call.UserMessage(asked)},
			{call.UserMessage("x"), call.AssistantMessage(asked), call.UserMessage("y")},
		} {
			cl, api := newShared()
			api.refuse("background", answer(400, apiBody("", code, "", message)))
			request := backgroundQuestion()
			request.Input = input

			for range 3 {
				_, err := cl.Create(t.Context(), &call.Call{Person: alice}, request)
				wantEqual(t, "kind", kindOf(t, err).Label(), kind)
			}
			_, err := cl.Create(t.Context(), &call.Call{Person: bob}, request)
			wantSuccess(t, err)

			var got []string
			for _, params := range api.sent {
				got = append(got, fmt.Sprint(sends(params, "background")))
			}
			wantEqual(t, "requests with background", strings.Join(got, " "), want)
		}
	})
}

// A parameter that is refused to one person while others succeed has a warning a minute.
func TestParameterWarnings(t *testing.T) {
	bubble(t, "45 calls in 9 s", func(t *testing.T) {
		cl, api := newShared()
		api.refuse("reasoning.effort", answer(400, apiBody("", "", "reasoning.effort", "Nope.")))
		for range 45 {
			wantSuccess(t, createAs(t, cl, alice))
			wantSuccess(t, createAs(t, cl, bob))
			time.Sleep(200 * time.Millisecond)
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		wantWarnings(t, &api.log, 2)
		compare.Contains(t, "log", api.log.String(), "count=44")
	})
}
