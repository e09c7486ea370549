package answer

import (
	"cmp"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newMemory returns an Answerer that remembers.
func newMemory(bodies ...string) *Answerer {
	a, _ := newAnswerer(0, bodies...)
	a.options.Memory = true
	return a
}

// callOf returns a call of a person.
func callOf(person string) *call.Call {
	return &call.Call{Tool: "answer", Person: call.Person{ID: person, Name: "the same"}}
}

// sent returns the messages of a request, without hints.
func sent(c *call.Call) string {
	var all []string
	for _, item := range c.Input {
		message := gjson.ParseBytes(item)
		content := message.Get("content")
		text := cmp.Or(content.Get("0.text").Str, content.Str)
		text, _, _ = strings.Cut(text, "\n[Hints]")
		all = append(all, message.Get("role").Str+" "+text)
	}
	return strings.Join(all, " | ")
}

// A question that continues an earlier one follows it, and its answer if it may be used.
func TestFollowUp(t *testing.T) {
	const (
		alone  = "user Q1 | user Q2; question"
		answer = "user Q1 | assistant A\n\nSources:\n- https://a.example/ (accessed 2025-08-09) | user Q2; answer"
	)
	cited := completed(search(), message("", "A", "https://a.example/"))
	cut := `503 {"error":{"message":"no"}}`
	linked := completed(message("", "A [b](https://b.example/x)", "https://a.example/"))

	for _, tt := range []struct {
		name           string
		first          string // the response to the first question
		person, second string // who asks
		off, one       bool   // no memory; one person without an ID
		query          string // the first question
		wait           time.Duration
		question       Question // the second one
		want           string
	}{
		{name: "of the person", want: answer},
		{name: "of another person", second: "token:b", want: alone},
		{name: "of another namespace", person: "token:a", second: "https://a.example a", want: alone},
		{name: "anonymous over HTTP", person: "-", want: alone},
		{name: "one person over stdio", person: "-", one: true, want: answer},
		{name: "one person over stdio, turned off", person: "-", one: true, off: true, want: alone},
		{name: "turned off", off: true, want: alone},
		{name: "blanks", query: "\n Q1\t", want: answer},
		{name: "another question", query: "Q1?", want: alone},
		{name: "within the hour", wait: time.Hour - time.Nanosecond, want: answer},
		{name: "after an hour", wait: time.Hour, want: alone},
		{name: "excluded", question: Question{ExcludeDomains: []string{"a.example"}}, want: alone},
		{name: "others excluded", question: Question{ExcludeDomains: []string{"b.example"}}, want: answer},
		{
			name:     "a link to an excluded domain",
			first:    linked,
			question: Question{ExcludeDomains: []string{"b.example"}},
			want:     alone,
		},
		{name: "incomplete", first: incomplete("max_output_tokens", message("", "A")), want: alone},
		{name: "no text", first: completed(), want: alone},
		{name: "failed", first: cut, want: alone},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			id := func(person string) string { return strings.Trim(person, "-") }
			bodies := []string{cmp.Or(tt.first, cited)}
			if tt.first == cut {
				bodies = []string{cut, cut} // with its retry
			}
			a := newMemory(append(bodies, cited)...)
			a.options.Memory = !tt.off
			a.options.OnePerson = tt.one
			first := cmp.Or(tt.person, "token:a")
			_, _ = a.Ask(t.Context(), callOf(id(first)), Question{Query: cmp.Or(tt.query, "Q1")})

			time.Sleep(tt.wait)
			tt.question.Query = "Q2"
			tt.question.FollowUpTo = "Q1"
			c := callOf(id(cmp.Or(tt.second, first)))
			ans, err := a.Ask(t.Context(), c, tt.question)
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "messages", sent(c)+"; "+ans.Meta.FollowUp, tt.want)
		})
	}
}

// The latest answer to a question counts, also to one that continues another. Its hour begins when
// it ends, and does not begin again when it is used.
func TestLatestAnswer(t *testing.T) {
	bubble(t, "latest", func(t *testing.T) {
		a := newMemory(completed(message("", "old")), completed(message("", "new")))
		ask := func(query, earlier string) string {
			c := callOf("token:a")
			q := Question{Query: query, FollowUpTo: EarlierQuestion(earlier)}
			_, err := a.Ask(t.Context(), c, q)
			if err != nil {
				t.Fatal(err)
			}
			return sent(c)
		}

		compare.Equal(t, "no earlier one", ask("Q1", ""), "user Q1")
		compare.Equal(t, "itself", ask("Q1", "Q1"), "user Q1 | assistant old | user Q1")
		time.Sleep(40 * time.Minute)
		compare.Equal(t, "latest", ask("Q2", "Q1"), "user Q1 | assistant new | user Q2")
		time.Sleep(20 * time.Minute)
		compare.Equal(t, "used", ask("Q3", "Q1"), "user Q1 | user Q3")
		compare.Equal(t, "the one after it", ask("Q3", "Q2"), "user Q2 | assistant new | user Q3")
	})
}

// remembered returns how many of n turns of a person are found, and the first one.
func (m *memory) remembered(person string, n int) string {
	found := 0
	first := -1
	for i := range n {
		if m.find(person, fmt.Sprint(i)).answer != "" {
			if found == 0 {
				first = i
			}
			found++
		}
	}
	return fmt.Sprintf("%d from %d", found, first)
}

// The bounds are those of all people, and the person with the most loses the first answers.
func TestMemoryBounds(t *testing.T) {
	fill := func(m *memory, person string, n, bytes int) {
		for i := range n {
			m.add(turn{
				person:   person,
				question: fmt.Sprint(i),
				answer:   strings.Repeat("x", bytes-100),
				pages:    []string{strings.Repeat("p", 100-len(fmt.Sprint(person, i)))},
			})
		}
	}
	const megabyte = 1 << 20

	for _, tt := range []struct {
		name     string
		few      int // answers of the other person, before
		n, bytes int
		want     string // of the person with many, and of the other one
	}{
		{"256 answers", 0, 256, 200, "256 from 0, 0 from -1"},
		{"257 answers", 0, 257, 200, "256 from 1, 0 from -1"},
		{"two people", 3, 300, 200, "253 from 47, 3 from 0"},
		{"8 MiB", 0, 8, megabyte, "8 from 0, 0 from -1"},
		{"9 MiB", 0, 9, megabyte, "8 from 1, 0 from -1"},
		{"9 MiB and another person", 2, 9, megabyte, "7 from 2, 2 from 0"},
		{"an answer of 8 MiB and a byte", 0, 1, 8*megabyte + 1, "0 from -1, 0 from -1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m := &memory{}
			fill(m, "few", tt.few, 200)
			fill(m, "", tt.n, tt.bytes)

			compare.Equal(t, "answers", m.remembered("", 300)+", "+m.remembered("few", 300), tt.want)
			used := 0
			for _, t := range m.turns {
				used += t.size()
			}
			if used > maxMemory || len(m.turns) > maxTurns {
				t.Errorf("%d bytes in %d turns", used, len(m.turns))
			}
		})
	}
}

// What is kept of a small question does not keep the large arguments that it came in.
func TestMemoryCopies(t *testing.T) {
	bubble(t, "large arguments", func(t *testing.T) {
		a := newMemory(completed(message("", "A")))
		args := `{"query":"Q1","more":"` + strings.Repeat("x", 1<<20) + `"}`
		q, err := Parse(gjson.Parse(args), Defaults{})
		if err != nil {
			t.Fatal(err)
		}
		_, err = a.Ask(t.Context(), callOf("token:a"), q)
		if err != nil {
			t.Fatal(err)
		}
		kept := a.memory.find("token:a", "Q1").question
		if unsafe.StringData(kept) == unsafe.StringData(q.Query) {
			t.Error("the question is a part of its arguments")
		}
	})
}

// 256 calls at once of many people: each gets its own answer.
func TestMemoryAtOnce(t *testing.T) {
	m := &memory{}
	var calls sync.WaitGroup
	for i := range maxTurns {
		calls.Go(func() {
			person := fmt.Sprint("token:", i)
			m.add(turn{person: person, question: "Q", answer: person})
			got := m.find(person, "Q").answer
			if got != person {
				t.Errorf("%s gets %q", person, got)
			}
		})
	}
	calls.Wait()
}

// The queries and the opened pages are those of all searches, each once and at most ten of each. A
// search that failed has none.
func TestSteps(t *testing.T) {
	step := func(action string) string {
		return `{"type":"web_search_call","status":"completed","action":` + action + `}`
	}
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf(`"%d"`, i))
	}

	for _, tt := range []struct{ name, items, want string }{
		{"none", "", "[] []"},
		{
			"each once",
			step(`{"type":"search","query":"a","queries":["a"," b\n c ",""]}`) + "," +
				step(`{"type":"open_page","url":"https://a.example/x?utm_source=openai"}`) + "," +
				step(`{"type":"search","query":"d"}`) + "," +
				step(`{"type":"find_in_page","url":"https://a.example/x","pattern":"p"}`) + "," +
				step(`{"type":"open_page","url":"https://b.example/"}`) + "," +
				step(`{"type":"open_page","url":"data:text/html,x"}`) + "," +
				step(`{"type":"open_page","url":null}`),
			`["a" "b c" "d"] ["https://a.example/x" "https://b.example/"]`,
		},
		{
			"at most ten",
			step(`{"type":"search","queries":[` + strings.Join(many, ",") + `]}`),
			`["0" "1" "2" "3" "4" "5" "6" "7" "8" "9"] []`,
		},
		{
			"failed",
			`{"type":"web_search_call","status":"failed","action":{"type":"search","query":"a"}}`,
			"[] []",
		},
		{
			"Perplexity",
			`{"type":"search_results","queries":["a","b"],"results":[{"url":"https://a.example/"}]},` +
				`{"type":"fetch_url_results","contents":[{"url":"https://b.example/"},` +
				`{"url":"https://c.example/"}]}`,
			`["a" "b"] ["https://b.example/" "https://c.example/"]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			items := strings.TrimPrefix(tt.items+","+message("", "x"), ",")
			ans, err := ask(t, completed(items))
			if err != nil {
				t.Fatal(err)
			}
			got := fmt.Sprintf("%q %q", ans.Meta.Queries, ans.Meta.Opened)
			compare.Equal(t, "steps", got, tt.want)
		})
	}
}
