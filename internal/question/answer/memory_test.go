package answer

import (
	"cmp"
	"fmt"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newRemembering returns an Answerer that remembers.
func newRemembering(bodies ...string) *Answerer {
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
	for _, item := range c.RequestInput {
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
	const answer = "user Q1 | assistant A\n\nSources:\n- https://a.example/ (accessed 2025-08-09)"
	wants := map[string]string{
		"alone":       "user Q1 | user Q2; question",
		"with answer": answer + " | user Q2; answer",
	}
	responses := map[string]string{
		"cited":      completed(search(), message("", "A", "https://a.example/")),
		"linked":     completed(message("", "A [b](https://b.example/x)", "https://a.example/")),
		"incomplete": incomplete("max_output_tokens", message("", "A")),
		"textless":   completed(),
		"failed":     `503 {"error":{"message":"no"}}`,
	}
	for _, row := range compare.Table(t, "follow-ups", 3) {
		compare.Bubble(t, row[0], func(t *testing.T) {
			tt := struct {
				First               string        // the response to the first question
				Query               string        // the first question
				Person, Second      string        // who asks; Second: the second question
				NoMemory, OnePerson bool          // OnePerson: without an ID
				Wait                time.Duration // until the second question
				Excluded            []string      // from the second question
			}{First: "cited", Query: "Q1", Person: "token:a"}
			err := yaml.Unmarshal([]byte(row[1]), &tt)
			if err != nil {
				t.Fatal(err)
			}

			first := responses[tt.First]
			a := newRemembering(first, responses["cited"])
			if tt.First == "failed" {
				a = newRemembering(first, first, responses["cited"]) // with its retry
			}
			a.options.Memory = !tt.NoMemory
			a.options.OnePerson = tt.OnePerson
			_, _ = a.Ask(t.Context(), callOf(tt.Person), Question{Query: tt.Query})

			time.Sleep(tt.Wait)
			c := callOf(cmp.Or(tt.Second, tt.Person))
			ans, err := a.Ask(t.Context(), c, Question{
				Query:          "Q2",
				FollowUpTo:     "Q1",
				ExcludeDomains: tt.Excluded,
			})
			if err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "messages", sent(c)+"; "+ans.Meta.FollowUp, wants[row[2]])
		})
	}
}

// The latest answer to a question counts, also to one that continues another. Its hour begins when
// it ends, and does not begin again when it is used.
func TestLatestAnswer(t *testing.T) {
	compare.Bubble(t, "latest", func(t *testing.T) {
		a := newRemembering(completed(message("", "old")), completed(message("", "new")))
		ask := func(query, earlier string) string {
			c := callOf("token:a")
			q := Question{Query: query, FollowUpTo: earlier}
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
			m.add(pastAnswer{
				personID: person,
				question: fmt.Sprint(i),
				answer:   strings.Repeat("x", bytes-100),
				pages:    []string{strings.Repeat("p", 100-len(fmt.Sprint(person, i)))},
			})
		}
	}

	for _, tt := range compare.Rows[struct {
		Name          string
		Few, N, Bytes int
		Want          string
	}](t, "bounds") {
		t.Run(tt.Name, func(t *testing.T) {
			m := &memory{}
			fill(m, "few", tt.Few, 200)
			fill(m, "", tt.N, tt.Bytes)

			compare.Equal(t, "answers", m.remembered("", 300)+", "+m.remembered("few", 300), tt.Want)
			used := 0
			for _, t := range m.answers {
				used += t.size()
			}
			if used > maxMemory || len(m.answers) > maxAnswers {
				t.Errorf("%d bytes in %d turns", used, len(m.answers))
			}
		})
	}
}

// What is kept of a small question does not keep the large arguments that it came in.
func TestMemoryCopies(t *testing.T) {
	compare.Bubble(t, "large arguments", func(t *testing.T) {
		a := newRemembering(completed(message("", "A")))
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

// The queries and the opened pages are those of all searches, each once and at most ten of each. A
// search that failed has none.
func TestSteps(t *testing.T) {
	compare.Each(t, "steps", 3, func(t *testing.T, row []string) {
		meta := ask(t, completed(items(row[1]+"; x")...)).Meta
		got := fmt.Sprintf("%q %q", meta.Queries, meta.Opened)
		compare.Equal(t, "steps", got, row[2])
	})
}
