//go:build unix

package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// asker asks a question, whose id is JSON text, and returns the answer as rendered does, or the
// words of an error. Questions may be asked at once.
type asker func(id, query string) string

// way is a way from a question to its answer.
type way struct {
	name  string
	delay string // of the API
	begin func(t *testing.T, env []string) asker
}

// ways are the ways that an answer and an error take to a person.
var ways = []way{
	{"HTTP", "", func(t *testing.T, env []string) asker {
		r := newReplica(t, env, overHTTP+"OPENAI_MAX_RETRIES=1 --config "+home(t, "")+"/config.yaml")
		return func(id, query string) string {
			asks := replica{r.client, r.url, http.Header{}}
			m, _ := asks.tool(alice, "answer", "query", query)
			return result(m.Raw)
		}
	}},
	{"ask", "", func(t *testing.T, env []string) asker {
		return func(id, query string) string {
			var out, errors bytes.Buffer
			words := slices.Concat(env, []string{"OPENAI_MAX_RETRIES=1", "ask", "--events", query})
			cmd := program(t.TempDir(), words...)
			cmd.Stdout = &out
			cmd.Stderr = &errors
			if cmd.Run() != nil {
				return errors.String()
			}
			lines := gjson.Parse("[" + strings.ReplaceAll(strings.TrimSpace(out.String()), "\n", ",") + "]")
			answer := lines.Get(`#(type=="done")`)
			if answer.Get("used_search").Bool() != lines.Get(`#(type=="search")`).Exists() {
				return "searches in " + out.String()
			}
			return rendered(answer, lines.Get(`#(type=="usage")`))
		}
	}},
	{"plain", "", session("responses: {stream: false}\n")},
	{"streamed", "", session("responses: {stream: true}\n")},
	{"background", "", session(inBackground)},
	{"late", "4s", session("server: {answer_within_ms: 1000}\n")},
	{"late, in the background", "4s", session("server: {answer_within_ms: 1000}\n" + inBackground)},
}

// session begins a session on stdio with a configuration.
func session(config string) func(*testing.T, []string) asker {
	return func(t *testing.T, env []string) asker {
		words := append(env, "--stdio", "OPENAI_MAX_RETRIES=1", "--config", home(t, config)+"/config.yaml")
		c := start(t, program(t.TempDir(), words...)).begin()
		return func(id, query string) string {
			c.line(ask(id, query))
			raw, late := c.result(id)
			compare.Equal(t, "late", late, strings.Contains(query, "+delay="))
			return result(raw)
		}
	}
}

// result returns the answer in the response to a call, or the words of an error.
func result(raw string) string {
	raw = undated(raw)
	text := gjson.Get(raw, "result.content.0.text").Str
	if !gjson.Valid(text) {
		return text + gjson.Get(raw, "error.message").Str
	}
	meta := gjson.Get(raw, "result._meta")
	answer := gjson.Parse(text)
	accesses := answer.Get(`citations.#(published_at=="TODAY")#.url`).Array()
	accessed := meta.Get("openai-responses-mcp/accessed").Array()
	if fmt.Sprint(accesses) != fmt.Sprint(accessed) {
		return fmt.Sprint("accessed in _meta: ", accessed, " for ", text)
	}
	return rendered(answer, meta.Get("openai-responses-mcp/usage"))
}

// rendered returns the text of an answer, its citations, whether it has searched, and its tokens.
func rendered(answer, usage gjson.Result) string {
	s := answer.Get("answer").Str
	for _, c := range answer.Get("citations").Array() {
		s += strings.TrimSpace(fmt.Sprintf("; %s %s", c.Get("url"), c.Get("title"))) + " " + c.Get("published_at").Str
	}
	if !answer.Get("used_search").Bool() {
		s += "; no search"
	}
	if usage.Get("input_tokens").Int() > 0 {
		s += fmt.Sprintf("; %s in, %s out", usage.Get("input_tokens"), usage.Get("output_tokens"))
	}
	return s
}

// One case of each kind of answer and error is the same through all ways. Only over HTTP an error
// has words for people who cannot change the settings.
func TestWays(t *testing.T) {
	compare.SkipShort(t, "waits 10 s")
	t.Parallel()
	rows := append(compare.Rows[waysRow](t, "ways"), longAnswer(t))
	for _, w := range ways {
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "asked")
			asks := w.begin(t, env)
			for i, row := range rows {
				t.Run(row.Name, func(t *testing.T) {
					t.Parallel()
					query := row.step(t)
					if w.delay != "" {
						query += "+delay=" + w.delay
					}
					got := asks(fmt.Sprint(i), query+" what is it?")
					row.check(t, w, undated(got))
					compare.Equal(t, "requests", row.requests(api), row.Requests)
				})
			}
		})
	}
}

// longAnswer is a row with an answer that has everything that Markdown has. It stays as it is.
func longAnswer(t *testing.T) waysRow {
	text, err := os.ReadFile("../../internal/question/cite/testdata/long.md")
	if err != nil {
		t.Fatal(err)
	}
	quoted, _ := json.Marshal(string(text))
	return waysRow{
		Name:     "a long answer",
		Requests: 1,
		Want:     strings.TrimSpace(string(text)) + "; no search",
		Body:     `[{"type":"message","content":[{"type":"output_text","text":` + string(quoted) + `}]}]`,
	}
}

// waysRow is a row of ways.table.
type waysRow struct {
	Name     string
	Status   string // line and headers of the HTTP response, or "" for a response of the model
	Requests int
	Want     string // the answer, or words of the error
	Caller   string // words of the error for people who cannot change the settings, "" for the same
	Body     string
}

// step returns the step of the API, with a file that has the name of the row.
func (r waysRow) step(t *testing.T) string {
	file := filepath.Join(t.TempDir(), r.file())
	word := "file"
	data := fmt.Sprintf(`{"id":"resp_%s","status":"completed","output":%s}`, r.file(), r.Body)
	if r.Status != "" {
		word = "http"
		data = "HTTP/1.1 " + r.Status + "\n\n" + r.Body
	}
	if err := os.WriteFile(file, []byte(data), 0o600); err != nil {
		t.Fatal(err)
	}
	return word + "=" + file
}

func (r waysRow) file() string { return url.PathEscape(r.Name) }

// check checks what a way has returned.
func (r waysRow) check(t *testing.T, w way, got string) {
	t.Helper()
	if r.Status == "" {
		compare.Equal(t, "answer", got, r.Want)
		return
	}
	words := r.Want
	if w.name == "HTTP" && r.Caller != "" {
		words = r.Caller
	}
	for part := range strings.SplitSeq(words, "; ") {
		compare.Contains(t, "error", got, part)
	}
}

// requests returns how often the API was asked about the row.
func (r waysRow) requests(api *apitest.Server) (n int) {
	for _, request := range api.Requests() {
		if bytes.Contains(request.Body, []byte("/"+r.file())) {
			n++
		}
	}
	return n
}
