package main

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/policy"
)

// questions are asked in this order.
var questions = []struct {
	name string
	ask  func(*session)
}{
	{"stream", (*session).stream},
	{"plain", (*session).plain},
	{"broken", (*session).broken},
	{"resume", (*session).resume},
	{"cancel", (*session).cancel},
	{"blocked", (*session).blocked},
}

// row is a request about a response, and what a member of the answer must be.
type row struct {
	sentence string
	request  string // method and path; ID stands for the id
	member   string // of the answer
	want     string
}

func (s *session) stream() {
	id := s.answer(answer.Options{}, answer.Profile{})
	received := s.received.String()
	s.checkStream("a stream", 0)

	encrypted := strings.Contains(received, `"encrypted_content":`)
	reasons := call.CapabilityOf(s.model).Reasoning
	s.check("reasoning comes encrypted", encrypted == reasons)

	s.checkRows(id, []row{{
		"a response with store: false is not kept",
		"GET /ID",
		"error.message",
		"Response with id '" + id + "' not found.",
	}})
}

// plain lets the API keep the response for a moment.
func (s *session) plain() {
	keep := map[string]any{"store": true}
	id := s.answer(answer.Options{NoStream: true, ExtraBody: keep}, answer.Profile{})
	s.checkRows(id, []row{
		{"a response with store: true is kept", "GET /ID", "status", "completed"},
		{
			"a kept response does not send encrypted reasoning",
			"GET /ID?include=reasoning.encrypted_content",
			"error.message",
			"Encrypted content cannot be requested for persisted responses.",
		},
		{"a kept response can be deleted", "DELETE /ID", "deleted", "true"},
	})
}

// broken has the program read a stream whose connection breaks.
func (s *session) broken() {
	s.cutAfter = 4
	var p answer.Profile
	p.Background = true
	s.answer(answer.Options{}, p)

	resumed := strings.Contains(s.log.String(), "starting_after=3")
	s.check("a broken stream is resumed", resumed)
	s.checkStream("a broken stream", 0)
}

func (s *session) resume() {
	s.cutAfter = 3
	received := s.start(true)
	kinds := strings.Join(regexp.MustCompile(`(?m)^event: .*`).FindAllString(received, -1), " ")
	const first = "event: response.created event: response.queued event: response.in_progress"
	s.check("the first events are created, queued, in_progress", kinds == first)

	id := responseID.FindString(received)
	s.send("GET /"+id+"?stream=true&starting_after=1", "")
	s.checkStream("a stream after event 1", 2)
	s.send("GET /"+id+"?stream=true", "")
	s.checkStream("a stream of a finished response", 0)

	s.checkRows(id, []row{
		{
			"after the last event the stream is empty",
			"GET /ID?stream=true&starting_after=100000",
			"@this",
			"",
		},
		{
			"a completed response cannot be cancelled",
			"POST /ID/cancel",
			"error.message",
			"Cannot cancel a completed response.",
		},
		{
			"a fetched response has no encrypted reasoning",
			"GET /ID",
			`output.#(encrypted_content%"?*").id`,
			"",
		},
		{"a background response is kept with store: false", "GET /ID", "background", "true"},
	})
	s.count()
}

func (s *session) cancel() {
	id := responseID.FindString(s.start(false))

	s.cutAfter = 1 // for a server that streams it
	s.checkRows(id, []row{
		{
			"only a response that began as a stream can be streamed",
			"GET /ID?stream=true",
			"error.type",
			"invalid_request_error",
		},
		{"a response can be cancelled", "POST /ID/cancel", "status", "cancelled"},
		{"it can be cancelled twice", "POST /ID/cancel", "status", "cancelled"},
		{"it stays cancelled", "GET /ID", "status", "cancelled"},
	})
	s.count()
}

func (s *session) blocked() {
	var p answer.Profile
	p.Search.BlockedDomains = []string{"go.dev"}
	id := s.answer(answer.Options{}, p)

	received := s.received.String()
	free := id != "" && !strings.Contains(received, "://go.dev/")
	s.check("a blocked domain is neither searched nor cited", free)
}

const query = "What is the latest version of Go? Search once and answer in one sentence."

// answer asks as the program does, checks the answer (spec §3.2 to §3.5), and returns the id of its
// response, "" if there is none.
func (s *session) answer(o answer.Options, p answer.Profile) string {
	s.received.Reset()
	client := llm.New(s.api)
	o.Create = client.Create
	o.Get = client.Get
	o.Instructions, _ = policy.Load(policy.System{}, nil)
	p.Model = s.model
	p.ReasoningEffort = "low"
	o.Profiles = map[string]answer.Profile{"live": p}

	a, err := answer.New(o).Ask(context.Background(), &call.Call{Tool: "live"}, answer.Question{Query: query})
	s.check("the question is answered", err == nil)
	if err != nil {
		return ""
	}

	s.tokens += a.Meta.Usage.Total
	s.searches += int64(a.Meta.Searches)
	counted := a.Meta.Usage.Total > 0 && a.Meta.Searches > 0
	s.check("tokens and searches are counted", counted)
	s.check("the text ends with its sources", strings.Contains(a.Text, "\nSources:"))
	s.check("the text has no marks of the API", !mark.MatchString(a.Text))

	s.check("pages are cited", a.UsedSearch && len(a.Citations) > 0)
	for _, c := range a.Citations {
		_, err := time.Parse(time.DateOnly, c.PublishedAt)
		s.check("a citation has a date", err == nil)
	}
	return a.Meta.ResponseID
}

// start sends a question to the background and returns what comes.
func (s *session) start(stream bool) string {
	const format = `{"model":%q,"background":true,"store":false,"stream":%t,` +
		`"input":"Compare the versions of HTTP in ten sentences."}`
	return s.send("POST ", fmt.Sprintf(format, s.model, stream))
}

// count adds what the response that came last took.
func (s *session) count() {
	s.tokens += gjson.GetBytes(s.received.Bytes(), "usage.total_tokens").Int()
}

// checkRows sends the requests of rows about a response.
func (s *session) checkRows(id string, rows []row) {
	if id == "" {
		s.check("there is a response", false)
		return
	}
	for _, r := range rows {
		received := s.send(strings.Replace(r.request, "ID", id, 1), "")
		s.check(r.sentence, gjson.Get(received, r.member).String() == r.want)
	}
}

var (
	mark           = regexp.MustCompile("[\ue200-\ue202]|utm_source=openai")
	responseID     = regexp.MustCompile(`resp_\w+`)
	sequenceNumber = regexp.MustCompile(`(?m)^data: .*"sequence_number": ?(\d+)`)
)

// checkStream checks that the stream that came last is complete from an event on.
func (s *session) checkStream(name string, first int) {
	received := s.received.String()
	numbers := sequenceNumber.FindAllStringSubmatch(received, -1)
	whole := len(numbers) > 0
	for i, number := range numbers {
		whole = whole && number[1] == fmt.Sprint(first+i)
	}
	s.check(name+" has each event once", whole)

	done := strings.Contains(received, "event: response.completed")
	marked := strings.Contains(received, "[DONE]")
	s.check(name+" ends with response.completed, without [DONE]", done && !marked)
}
