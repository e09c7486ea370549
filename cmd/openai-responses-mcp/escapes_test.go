package main_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/test/pty"
)

// evil is a text that sets a title, the clipboard and colours, clears the
// screen, goes back, turns its direction, hides characters, spells an escape
// out, and forges lines of ours.
const evil = "x\x1b]0;EVIL\x07\x1b]52;c;RVZJTA==\x07\x1b[31m\u009b2J\b\x7f\r\u202e\u2066\u200b\ufeff\U000e0041\u2028 \\x1b[41m \\u001b[41m" +
	"\nopenai-responses-mcp: error: FORGED\n08:00:00.000 DBG FORGED"

// hostileAPI answers with evil wherever the API has a text of its own.
func hostileAPI(t *testing.T, refuse bool) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("X-Request-Id", strings.Map(func(c rune) rune { // others are no HTTP
			if c < ' ' || c == 0x7f {
				return -1
			}
			return c
		}, evil))
		w.Header().Set("Content-Type", "application/json")
		switch {
		case refuse:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = w.Write(quoted(`{"error":{"message":TEXT,"type":TEXT,"code":TEXT,"param":TEXT}}`))
		case r.Method == http.MethodGet:
			_, _ = w.Write(quoted(`{"id":TEXT,"object":"model","owned_by":TEXT,"shutdown_date":TEXT}`))
		case bytes.Contains(body, []byte(`"stream":true`)):
			w.Header().Set("Content-Type", "text/event-stream")
			for _, event := range evilEvents() {
				fmt.Fprintf(w, "event: %s\ndata: %s\n\n", strings.ReplaceAll(evil, "\n", " "), quoted(event))
			}
		default:
			_, _ = w.Write(quoted(evilResponse))
		}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/v1"
}

const (
	evilSearch   = `{"type":"web_search_call","id":TEXT,"status":"completed","action":{"type":"search","query":TEXT,"sources":[{"type":"url","url":"https://a.example/TEXT"},{"type":"api","name":TEXT}]}}`
	evilPage     = `{"type":"web_search_call","id":"p","status":"completed","action":{"type":"open_page","url":TEXT}}`
	evilMessage  = `{"type":"message","id":TEXT,"role":"assistant","status":"completed","content":[{"type":"output_text","text":TEXT,"annotations":[{"type":"url_citation","start_index":0,"end_index":1,"url":"https://b.example/TEXT","title":TEXT}]}]}`
	evilResponse = `{"id":TEXT,"object":"response","model":TEXT,"status":"completed","output":[` + evilSearch + `,` + evilPage + `,` + evilMessage + `],"usage":{"input_tokens":1}}`
)

func evilEvents() []string {
	return []string{
		`{"type":"response.created","response":{"id":TEXT,"model":TEXT,"status":"in_progress","output":[]}}`,
		`{"type":TEXT,"message":TEXT}`, `no JSON: TEXT`,
		`{"type":"response.output_item.added","output_index":0,"item":{"type":"web_search_call","id":TEXT,"status":"in_progress"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + evilSearch + `}`,
		`{"type":"response.output_item.done","output_index":1,"item":` + evilPage + `}`,
		`{"type":"response.output_item.added","output_index":2,"item":{"type":"message","id":TEXT,"role":"assistant","content":[]}}`,
		`{"type":"response.content_part.added","output_index":2,"content_index":0,"item_id":TEXT,"part":{"type":"output_text","text":""}}`,
		`{"type":"response.output_text.delta","output_index":2,"content_index":0,"item_id":TEXT,"delta":TEXT}`,
		`{"type":"response.completed","response":` + evilResponse + `}`,
	}
}

// quoted puts the text into a template: alone as JSON, else as part of one.
func quoted(template string) []byte {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	_ = e.Encode(evil) // a string always encodes
	text := strings.TrimSpace(b.String())
	template = strings.ReplaceAll(template, "/TEXT", "/"+text[1:len(text)-1])
	return []byte(strings.ReplaceAll(template, "TEXT", text))
}

// typed is what a command writes to a terminal that is its stderr and, unless
// it is the server, its stdout: byte by byte.
func typed(t *testing.T, env []string, home, stdin string, args ...string) string {
	t.Helper()
	person, program, err := pty.Open(60, 24)
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("no terminal for tests on this system")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer person.Close()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Dir, cmd.Env, cmd.Stdin, cmd.Stderr = home, env, strings.NewReader(stdin), program
	if args[0] != "--stdio" {
		cmd.Stdout = program
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	program.Close()
	all, _ := io.ReadAll(person) // ends with EIO when the program has gone
	_ = cmd.Wait()
	return string(all)
}

// own are the sequences that ask and the log have a use for.
var own = regexp.MustCompile(`\x1b\[(?:K|J|[0-9]+A|0m|2m|22m|9[0-9]m)`)

// obeyed returns the first character that a terminal would not just show.
func obeyed(text string) (rune, bool) {
	text = own.ReplaceAllString(text, "")
	text = strings.ReplaceAll(text, "\r", "") // a line ends in one, the status line begins with one
	for _, r := range text {
		switch {
		case r == '\n' || r == '\t':
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r), r == '\u200b', r == '\ufeff', r == '\u2028', r > 0xe0000:
			return r, true
		}
	}
	return 0, false
}

// Nothing that a server says is carried out by a terminal, and nothing becomes
// a message or log line of ours, in any command, with debug off and on.
func TestNoEscapeReachesTerminal(t *testing.T) {
	t.Parallel()
	session := strings.Join([]string{
		initialize, initialized,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"x"},"_meta":{"progressToken":1}}}`,
		callTool("2", "answer_quick", map[string]any{"query": evil}),
		`{"jsonrpc":"2.0","id":3,"method":` + string(quoted("TEXT")) + `,"params":{}}`,
		string(quoted(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":TEXT,"reason":TEXT}}`)),
		strings.ReplaceAll(evil, "\n", " "),
	}, "\n") + "\n"
	for name, refuse := range map[string]bool{"answer": false, "error": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			home := t.TempDir()
			env := environment(home, "TERM=xterm", "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+hostileAPI(t, refuse), "OPENAI_MAX_RETRIES=0")
			for _, args := range [][]string{
				{"ask", "x"}, {"ask", "--debug", "--usage", "x"}, {"ask", "--json", "x"}, {"ask", "--events", "x"}, {"ask", "--debug=" + "d.log", "x"},
				{"doctor", "--live"}, {"doctor", "--json", "--live", "--debug"}, {"smoke", "x"}, {"smoke", "--ldjson", "--debug", "x"},
				{"--stdio"}, {"--stdio", "--debug"},
			} {
				stdin := ""
				if args[0] == "--stdio" {
					stdin = session
				}
				text := typed(t, env, home, stdin, args...)
				if r, ok := obeyed(text); ok {
					t.Errorf("%q: %q reaches the terminal: %q", args, r, text)
				}
				answered := args[0] == "ask" && !refuse // whose text may have any lines
				if plain := own.ReplaceAllString(text, ""); !answered && regexp.MustCompile(`(?m)^\r?(openai-responses-mcp: error: FORGED|08:00:00.000 DBG)`).MatchString(plain) {
					t.Errorf("%q: a line is forged: %q", args, text)
				}
			}
			if r, ok := obeyed(strings.TrimSuffix(read(t, home+"/d.log"), "\n")); ok {
				t.Errorf("%q is in the debug log", r)
			}
		})
	}
}

// A pipe gets the text of an answer without what a terminal would obey: it ends
// at one soon enough. JSON has all of it, in escapes.
func TestPipedAnswerIsPlain(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	env := environment(home, "OPENAI_API_KEY="+key, "OPENAI_BASE_URL="+hostileAPI(t, false))
	out, errs := ran(t, env, home, "", "ask", "x")
	if errs != "" {
		t.Errorf("stderr: %s", errs)
	}
	if r, ok := obeyed(out); ok || !strings.Contains(out, "FORGED") || strings.Contains(out, "\r") {
		t.Errorf("%q is in %q", r, out)
	}
	out, _ = ran(t, env, home, "", "ask", "--json", "x")
	var ans struct{ Answer string }
	if err := json.Unmarshal([]byte(out), &ans); err != nil || !strings.HasPrefix(ans.Answer, evil) {
		t.Errorf("%v: the answer is %q, want %q", err, ans.Answer, evil)
	}
}
