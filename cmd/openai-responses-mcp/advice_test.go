package main_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"testing"
)

// A plight is a fault that people meet, and what they have to be told of it
// wherever they meet it: by ask, by the error that MCP clients get, by doctor.
type plight struct {
	name   string
	base   string   // openai.base_url; "": nobody is there
	config string   // the file at the default path
	env    []string // besides the base URL, a key and no retries
	args   []string // of all three
	want   []string // each says all of this
	not    []string // none says any of this
}

// tell runs the three.
func (p plight) tell(t *testing.T) {
	t.Helper()
	env := append([]string{"OPENAI_BASE_URL=" + p.base, "OPENAI_API_KEY=" + key, "OPENAI_MAX_RETRIES=0"}, p.env...)
	c := begin(t, setup{config: p.config, env: env, args: p.args})
	c.line(ask("1", "HTTP 404"))
	e := c.want("1").fault(t)
	checkFault(t, e, "", "", false)
	c.done()
	env = environment(c.home, env...)
	said := map[string]string{
		"ask":        fails(t, env, append(append([]string{"ask"}, p.args...), "HTTP 404")...),
		"the server": e.Message,
		"doctor":     fails(t, env, append([]string{"doctor", "--live"}, p.args...)...),
	}
	for who, text := range said {
		checkOutput(t, who, text)
		for _, want := range p.want {
			if !strings.Contains(text, want) {
				t.Errorf("%s does not say %q:\n%s", who, want, text)
			}
		}
		for _, not := range p.not {
			if strings.Contains(text, not) {
				t.Errorf("%s says %q:\n%s", who, not, text)
			}
		}
	}
}

// fails runs the program, which must fail, and returns all that it prints.
func fails(t *testing.T, env []string, args ...string) string {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	if exit, ok := errors.AsType[*exec.ExitError](err); !ok || exit.ExitCode() != 1 {
		t.Errorf("%q ended with %v, want exit code 1:\n%s", args, err, out)
	}
	return string(out)
}

// always is a server that answers everything in the same way.
func always(t *testing.T, status int, kind, body string, headers ...string) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

func tellAll(t *testing.T, plights []plight) {
	t.Helper()
	for _, p := range plights {
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			p.tell(t)
		})
	}
}

// Whose key was refused is said by the name of its variable, with what looks
// wrong about it, and never with a page of somebody else's.
func TestAdviceOnKeys(t *testing.T) {
	t.Parallel()
	base := always(t, 401, "application/json", `{"error":{"message":"Incorrect API key provided: `+key+`","code":"invalid_api_key"}}`)
	host := strings.TrimPrefix(base, "http://")
	into := func(variable string) []string {
		return []string{"the API refused the key (401)", "put a whole and current key for " + host + " into " + variable}
	}
	openai := []string{"platform.openai.com"}
	list := []plight{
		{name: "default", want: into("OPENAI_API_KEY"), not: openai},
		{name: "api_key_env", config: "openai: { api_key_env: XAI_API_KEY }\n", env: []string{"XAI_API_KEY=" + key},
			want: into("XAI_API_KEY"), not: append(openai, "into OPENAI_API_KEY")},
		{name: "api-key", config: "openai: { headers: { api-key: '${AZURE_OPENAI_API_KEY}' } }\n", env: []string{"AZURE_OPENAI_API_KEY=" + key},
			want: into("AZURE_OPENAI_API_KEY"), not: append(openai, "into OPENAI_API_KEY")},
		{name: "Authorization", config: "openai: { headers: { Authorization: 'Bearer ${GATEWAY_TOKEN}' } }\n", env: []string{"GATEWAY_TOKEN=" + key},
			want: into("GATEWAY_TOKEN"), not: append(openai, "into OPENAI_API_KEY")},
		{name: "another header", config: "openai: { headers: { X-Gateway: '${GATEWAY_TOKEN}' } }\n", env: []string{"GATEWAY_TOKEN=" + key},
			want: append(into("OPENAI_API_KEY"), "and check GATEWAY_TOKEN (openai.headers)"), not: openai},
		{name: "two lines", env: []string{"OPENAI_API_KEY=" + key + "\n" + key},
			want: []string{"the key in OPENAI_API_KEY has a line break", "set OPENAI_API_KEY to the key alone, in one line"}},
		{name: "none", env: []string{"OPENAI_API_KEY="}, want: []string{"OPENAI_API_KEY", "set OPENAI_API_KEY"}, not: openai},
	}
	for text, flaw := range map[string]string{
		"${OPENAI_API_KEY}":     "it holds a reference such as ${NAME}, which the client has not replaced",
		"{env:OPENAI_API_KEY}":  "it holds a reference such as ${NAME}, which the client has not replaced",
		"YOUR_OPENAI_API_KEY":   "it holds a placeholder",
		`"` + key + `"`:         "it has quotes around it",
		"Bearer " + key:         "it begins with Bearer",
		key[:8] + " " + key[8:]: "it has a blank in it",
		key[:8] + "…" + "Zq7X":  "it has characters that keys do not have",
		key[:8] + "****":        "it has characters that keys do not have",
	} {
		list = append(list, plight{name: flaw + " " + text[:2], env: []string{"OPENAI_API_KEY=" + text}, want: []string{"put the key alone into OPENAI_API_KEY: " + flaw}})
	}
	for i := range list {
		list[i].base = base + "/v1"
	}
	tellAll(t, list)
}

// A line feed at the end, which files have, belongs to no key.
func TestKeyWithLineFeed(t *testing.T) {
	t.Parallel()
	for _, end := range []string{"\n", "\r\n", " "} {
		c := begin(t, setup{api: newAPI(t), env: []string{"OPENAI_API_KEY=" + key + end}})
		c.line(ask("1", "HTTP 404"))
		c.want("1").answered(t)
		c.done()
	}
}

// The model that is not there is named, and the place where it is configured.
func TestAdviceOnModels(t *testing.T) {
	t.Parallel()
	const gone = `{"error":{"message":"The model does not exist or you do not have access to it.","type":"invalid_request_error","param":null,"code":"model_not_found"}}`
	base := always(t, 404, "application/json", gone) + "/v1"
	file := func(text string) string { return "model_profiles:\n  " + text + "\n" }
	list := []plight{
		{name: "default", want: []string{"model_profiles.answer.model is gpt-5.2 (the default)", "MODEL_ANSWER"}},
		{name: "variable", env: []string{"MODEL_ANSWER=gpt-9"}, want: []string{"model_profiles.answer.model is gpt-9 (MODEL_ANSWER): name another model there"}},
		{name: "flag", args: []string{"--model", "gpt-9"}, want: []string{"model_profiles.answer.model is gpt-9 (--model): name another model there"}},
		{name: "file", config: file("answer: { model: gpt-9 }"), want: []string{"model_profiles.answer.model is gpt-9", "config.yaml:2)"}},
		{name: "no room", config: file("answer: { model: " + strings.Repeat("m", 150) + " }"), want: []string{"model_profiles.answer.model is mmm", "config.yaml:2)"}},
	}
	for i := range list {
		list[i].base = base
		list[i].want = append(list[i].want, "model not found (404)")
	}
	tellAll(t, list)

	// doctor asks as answer does; the other tools are the other two's business.
	for _, tt := range []struct{ tool, config, env, want string }{
		{"answer_quick", "", "MODEL_QUICK=gpt-9", "model not found (404): model_profiles.answer_quick.model is gpt-9 (MODEL_QUICK): name another model there: The model"},
		{"answer_quick", "", "MODEL_ANSWER=gpt-9", "model not found (404): model_profiles.answer.model is gpt-9 (MODEL_ANSWER): name another model there, or with --model"},
		{"answer_quick", "model_profiles: { answer: { model: gpt-5.2 }, answer_quick: { model: gpt-9 } }\n", "",
			"model not found (404): model_profiles.answer_quick.model is gpt-9 ("}, // two in a line
		{"answer_detailed", file("answer_detailed: { model: gpt-9 }"), "", "model not found (404): model_profiles.answer_detailed.model is gpt-9 (config.yaml:2): name another there"}, // the whole path has no room
	} {
		c := begin(t, setup{config: tt.config, env: []string{"OPENAI_BASE_URL=" + base, "OPENAI_API_KEY=" + key, tt.env}})
		c.line(callTool("1", tt.tool, map[string]any{"query": "HTTP 404"}))
		e := c.want("1").fault(t)
		if want := "answer failed: " + tt.want; !strings.HasPrefix(e.Message, want) {
			t.Errorf("%s: %q, want %q", tt.tool, e.Message, want)
		}
		c.done()
	}
}

// Who asks OpenAI and has no key is told where keys are made.
func TestAdviceOnNoKey(t *testing.T) {
	t.Parallel()
	env := environment(t.TempDir(), "HTTPS_PROXY=http://127.0.0.1:1") // never reached
	if got := fails(t, env, "doctor"); !strings.Contains(got, "-> make a key at https://platform.openai.com/api-keys and set OPENAI_API_KEY where the client starts the server") {
		t.Errorf("doctor does not say where keys are made:\n%s", got)
	}
	if got := fails(t, env, "ask", "HTTP 404"); got != "openai-responses-mcp: error: Missing API key\nhint: make a key at https://platform.openai.com/api-keys and set OPENAI_API_KEY; --offline needs none\n" {
		t.Errorf("ask says %q", got)
	}
}
