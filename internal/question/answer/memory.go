package answer

import (
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// The bounds of a memory.
const (
	answerTTL    = time.Hour              // how long an answer is remembered
	maxAnswers   = 256                    // of all people
	maxMemory    = 8 << 20                // bytes of all answers
	answerWeight = maxMemory / maxAnswers // bytes that each answer adds to the share of its person
)

// memory holds the last questions of people with their answers, for questions that continue one of
// them. It is safe for concurrent use. The zero value is empty.
type memory struct {
	mu      sync.Mutex
	answers []pastAnswer // one for each question of a person, the oldest answer first
}

// pastAnswer is a question of a person with its answer.
type pastAnswer struct {
	personID string // "": the one person over stdio
	question string // without blanks at its ends
	answer   string
	pages    []string // URLs of all sources of the answer
	added    time.Time
}

func (past pastAnswer) matches(personID, question string) bool {
	return past.personID == personID && past.question == question
}

// isExpired reports whether an hour is over on one of two clocks: the monotonic one stands still
// while the machine sleeps, and the other one may be set back.
func (past pastAnswer) isExpired() bool {
	now := time.Now()
	return now.Sub(past.added) >= answerTTL || now.Round(0).Sub(past.added.Round(0)) >= answerTTL
}

// size returns how many bytes an answer takes.
func (past pastAnswer) size() int {
	n := len(past.personID) + len(past.question) + len(past.answer)
	for _, page := range past.pages {
		n += len(page)
	}
	return n
}

// add remembers an answer in place of the person's earlier answer to the same question, and forgets
// the answers that have expired.
func (m *memory) add(past pastAnswer) {
	m.mu.Lock()
	defer m.mu.Unlock()

	m.answers = slices.DeleteFunc(m.answers, func(old pastAnswer) bool {
		return old.isExpired() || old.matches(past.personID, past.question)
	})
	past.added = time.Now()
	m.answers = append(m.answers, past)
	m.evictLocked()
}

// evictLocked forgets answers until there are at most maxAnswers, with at most maxMemory bytes.
// Each time it forgets the oldest answer of the person with the largest share, so that a person
// with many or long answers does not displace those of others. A share is the bytes of the person's
// answers, and answerWeight (32 KiB) for each of them.
func (m *memory) evictLocked() {
	for {
		used := 0
		shares := map[string]int{} // by person
		for _, past := range m.answers {
			used += past.size()
			shares[past.personID] += past.size() + answerWeight
		}
		if len(m.answers) <= maxAnswers && used <= maxMemory {
			return
		}

		first := 0 // index of the first answer of the person with the largest share
		for i, past := range m.answers {
			if shares[past.personID] > shares[m.answers[first].personID] {
				first = i
			}
		}
		m.answers = slices.Delete(m.answers, first, first+1)
	}
}

// find returns the answer of a person with this question, or the zero value.
func (m *memory) find(personID, question string) pastAnswer {
	m.mu.Lock()
	defer m.mu.Unlock()

	i := slices.IndexFunc(m.answers, func(past pastAnswer) bool {
		return !past.isExpired() && past.matches(personID, question)
	})
	if i < 0 {
		return pastAnswer{}
	}
	return m.answers[i]
}

// remember adds the answer to a question to the memory. Answers for anonymous callers over HTTP are
// not remembered, because these callers cannot be told apart. The strings are copied, because they
// may be parts of larger ones, which would stay in memory.
func (a *Answerer) remember(c *call.Call, q Question, ans *Answer) {
	isAnonymous := c.Person.ID == "" && !a.options.OnePerson
	if !a.options.Memory || isAnonymous {
		return
	}

	past := pastAnswer{
		personID: c.Person.ID,
		question: strings.Clone(strings.TrimSpace(q.Query)),
		answer:   strings.Clone(ans.Text),
	}
	for _, cited := range ans.Sources {
		past.pages = append(past.pages, strings.Clone(cited.URL))
	}
	a.memory.add(past)
}

// The values of Meta.FollowUp.
const (
	followsAnswer   = "answer"
	followsQuestion = "question"
)

// earlierMessages returns the messages to send before a question that continues an earlier one: the
// earlier question and, if the memory has it, the answer. followUp is for Meta.FollowUp. An answer
// that cites or links to a page of a blocked domain is not used.
func (a *Answerer) earlierMessages(
	c *call.Call, q Question, blocked []string,
) (messages []json.RawMessage, followUp string) {
	if q.FollowUpTo == "" {
		return nil, ""
	}

	messages = append(messages, call.UserMessage(q.FollowUpTo))
	past := a.memory.find(c.Person.ID, q.FollowUpTo)
	pages := slices.Clone(past.pages) // other calls read past.pages
	for _, linked := range cite.LinkedPages(past.answer, false) {
		pages = append(pages, linked.URL)
	}
	if past.answer == "" || slices.ContainsFunc(pages, cite.NewDomainSet(blocked).HasPage) {
		return messages, followsQuestion
	}
	return append(messages, call.AssistantMessage(past.answer)), followsAnswer
}
