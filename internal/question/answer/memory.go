package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// The bounds of a memory. Sizes are in bytes.
const (
	memoryTime  = time.Hour
	maxTurns    = 256
	maxMemory   = 8 << 20
	sizeOfShare = maxMemory / maxTurns
)

// EarlierQuestion is the text of a question that was asked before. It has the bounds of a query,
// but no blanks at its ends.
type EarlierQuestion string

// earlierQuestion returns an earlier question.
func earlierQuestion(v gjson.Result) (EarlierQuestion, error) {
	s := strings.TrimSpace(v.Str) // "" for other types
	switch {
	case v.Type != gjson.String:
		return "", call.KindArguments.Errorf("must be a string, got %s", quote(v))
	case s == "":
		return "", call.KindArguments.Errorf("must not be empty")
	}
	return EarlierQuestion(s), nil
}

// memory has the last answers to the questions of people, for questions that continue one of them.
// It is safe for concurrent use. The zero value is empty.
type memory struct {
	mu    sync.Mutex
	turns []turn // one for each question of a person, in the order in which the answers ended
}

// turn is a question of a person with its answer.
type turn struct {
	person   string
	question string // without blanks at its ends
	answer   string
	pages    []string // URLs of its citations
	ended    time.Time
}

func (t turn) isOf(person, question string) bool {
	return t.person == person && t.question == question
}

func (t turn) isOver() bool {
	return time.Since(t.ended) >= memoryTime
}

// size returns the bytes that a turn keeps.
func (t turn) size() int {
	n := len(t.person) + len(t.question) + len(t.answer)
	for _, page := range t.pages {
		n += len(page)
	}
	return n
}

// sweepLocked forgets the turns that are over.
func (m *memory) sweepLocked() {
	m.turns = slices.DeleteFunc(m.turns, turn.isOver)
}

// add remembers a turn, which ends now, in place of an earlier one with the same question.
func (m *memory) add(t turn) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.sweepLocked()
	m.turns = slices.DeleteFunc(m.turns, func(old turn) bool {
		return old.isOf(t.person, t.question)
	})
	t.ended = time.Now()
	m.turns = append(m.turns, t)
	m.boundLocked()
}

// boundLocked forgets turns until there are at most maxTurns with at most maxMemory: the first ones
// of the person with the largest share, so that a person with many questions or long answers does
// not end the memory of others.
func (m *memory) boundLocked() {
	for {
		used := 0
		shares := map[string]int{} // by person
		for _, t := range m.turns {
			used += t.size()
			shares[t.person] += t.size() + sizeOfShare
		}
		if len(m.turns) <= maxTurns && used <= maxMemory {
			return
		}

		first := 0 // of the person with the largest share
		for i, t := range m.turns {
			if shares[t.person] > shares[m.turns[first].person] {
				first = i
			}
		}
		m.turns = slices.Delete(m.turns, first, first+1)
	}
}

// find returns the turn of a person with a question, or the zero value.
func (m *memory) find(person, question string) turn {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.sweepLocked()
	i := slices.IndexFunc(m.turns, func(t turn) bool { return t.isOf(person, question) })
	if i < 0 {
		return turn{}
	}
	return m.turns[i]
}

// remembers reports whether the answers of a call are remembered: anonymous callers over HTTP
// cannot be told apart.
func (a *Answerer) remembers(c *call.Call) bool {
	return a.o.Memory && (c.Person.ID != "" || a.o.OnePerson)
}

// remember remembers the answer to a question. The strings are copied, because they may be parts of
// larger ones.
func (a *Answerer) remember(c *call.Call, q Question, ans *Answer) {
	if !a.remembers(c) {
		return
	}

	t := turn{
		person:   c.Person.ID,
		question: strings.Clone(strings.TrimSpace(q.Query)),
		answer:   strings.Clone(ans.Text),
	}
	for _, cited := range ans.Sources {
		t.pages = append(t.pages, strings.Clone(cited.URL))
	}
	a.memory.add(t)
}

// The values of Meta.FollowUp.
const (
	followsAnswer   = "answer"
	followsQuestion = "question"
)

// earlier returns the messages before a question that continues an earlier one, and what they hold,
// for Meta.FollowUp: the earlier question with its answer or, without one in the memory, alone. An
// answer with a page of the blocked domains is not used.
func (a *Answerer) earlier(
	c *call.Call, q Question, blocked []string,
) (messages []json.RawMessage, followUp string) {
	question := string(q.FollowUpTo)
	if question == "" {
		return nil, ""
	}

	messages = append(messages, call.UserMessage(question))
	if !a.remembers(c) {
		return messages, followsQuestion
	}

	t := a.memory.find(c.Person.ID, question)
	pages := slices.Clone(t.pages) // others read t.pages
	for _, linked := range cite.Linked(t.answer, false) {
		pages = append(pages, linked.URL)
	}
	if t.answer == "" || slices.ContainsFunc(pages, cite.NewHosts(blocked).Has) {
		return messages, followsQuestion
	}
	return append(messages, call.AssistantMessage(t.answer)), followsAnswer
}
