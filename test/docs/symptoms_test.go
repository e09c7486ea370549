package docs_test

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

type symptom struct {
	text string
	step string   // of the fake API
	env  []string // besides what leads there
}

// symptoms are what the tables of the READMEs quote, with the fault behind each.
var symptoms = []symptom{
	{"Missing API key: set OPENAI_API_KEY", "ok", []string{"OPENAI_API_KEY="}},
	{"the API refused the key (401)", "401", nil},
	{"access denied (403)", "403", nil},
	{"model not found (404)", "404", nil},
	{"quota exceeded (429)", "quota", nil},
	{"rate limit reached (429)", "429", nil},
	{"timed out after 300 s", "hang", []string{"OPENAI_API_TIMEOUT=300"}},
	{"a web page came back, no answer (200)", "garbage", nil},
	{"cannot verify the TLS certificate", "", nil},
	{"cannot reach the proxy", "ok", []string{"OPENAI_BASE_URL=https://api.invalid/v1", "HTTPS_PROXY=http://127.0.0.1:9", "NO_PROXY="}},
}

// Each message of the troubleshooting tables is what a client is told.
func TestSymptoms(t *testing.T) {
	binary := build(t)
	for _, s := range symptoms {
		t.Run(s.text, func(t *testing.T) {
			t.Parallel()
			got := call(t, binary, s.step, s.env)
			want := strings.Replace(s.text, "300 s", "0.3 s", 1) // a shorter wait
			if !strings.Contains(got, "answer failed: "+want) {
				t.Errorf("a client is told %s, want %q in it", got, want)
			}
		})
	}
	for _, name := range []string{"README.md", "README.ja.md"} {
		for _, m := range regexp.MustCompile("(?m)^\\| `([^`]* [^`]*)` \\|").FindAllStringSubmatch(read(t, name).text, -1) {
			if !slices.ContainsFunc(symptoms, func(s symptom) bool { return s.text == m[1] }) {
				t.Errorf("%s quotes %q, which no fault here brings about", name, m[1])
			}
		}
	}
}

// call asks the server a question and returns its answer. Without a step the
// API has a certificate that nobody knows.
func call(t *testing.T, binary, step string, env []string) string {
	t.Helper()
	var base string
	if step == "" {
		api := httptest.NewUnstartedServer(http.NotFoundHandler())
		api.Config.ErrorLog = log.New(io.Discard, "", 0) // the client hangs up
		api.StartTLS()
		t.Cleanup(api.Close)
		base = api.URL + "/v1"
	} else {
		api := fakeapi.New(fakeapi.Options{})
		st, err := fakeapi.ParseStep(step)
		if err != nil {
			t.Fatal(err)
		}
		api.Always(st)
		url, stop, err := api.Listen()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(stop)
		base = url
	}
	cmd := exec.Command(binary, "--stdio")
	cmd.Env = append([]string{"HOME=" + t.TempDir(), "OPENAI_API_KEY=k", "OPENAI_MAX_RETRIES=0", "OPENAI_BASE_URL=" + base}, env...)
	cmd.Stdin = strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}
{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"answer","arguments":{"query":"What is new?"}}}
`)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, io.Discard
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
