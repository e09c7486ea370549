package config_test

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cli"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// setting is a value of a key that changes what the program does.
type setting struct {
	value    string // JSON; API is the URL of the API
	others   string // JSON of the other keys, with and without the value
	question string // its first word is a step of the API, see apitest.Server.Script; "" is search
}

var settings = map[string]setting{
	"openai.api_key_env":  {value: `"OTHER_KEY"`},
	"openai.base_url":     {value: `"API/other"`},
	"openai.organization": {value: `"org"`},
	"openai.project":      {value: `"proj"`},
	"openai.headers":      {value: `{"X-Title":"title"}`},

	"request.timeout_ms": {value: `1`, question: "delay=100ms"},
	"request.max_retries": {
		value:    `0`,
		others:   `{"request":{"max_retries":1}}`,
		question: "503",
	},
	"request.extra_body": {value: `{"user":"me"}`},

	"responses.stream": {value: `false`},
	"responses.store":  {value: `true`},

	"policy.max_citations":    {value: `1`, question: "file=cited.json"},
	"policy.requery_attempts": {value: `1`, question: "uncited"},
	"policy.timezone":         {value: `"America/Lima"`},
	"policy.system.source": {
		value:  `"file"`,
		others: `{"policy":{"system":{"path":"brief.md"}}}`,
	},
	"policy.system.path": {
		value:  `"config.json"`,
		others: `{"policy":{"system":{"source":"file","path":"brief.md"}}}`,
	},
	"policy.system.merge": {
		value:  `"append"`,
		others: `{"policy":{"system":{"source":"file","path":"brief.md"}}}`,
	},

	"search.defaults.recency_days":  {value: `1`},
	"search.defaults.max_results":   {value: `1`},
	"search.defaults.domains":       {value: `["b.example"]`},
	"search.enforce_domains":        {value: `true`},
	"search.blocked_domains":        {value: `["c.example"]`},
	"search.context_size":           {value: `"low"`},
	"search.user_location.country":  {value: `"JP"`},
	"search.user_location.city":     {value: `"Tokyo"`},
	"search.user_location.region":   {value: `"Kanto"`},
	"search.user_location.timezone": {value: `"Asia/Tokyo"`},
	"search.required":               {value: `true`},
	"search.extra":                  {value: `{"external_web_access":false}`},

	"server.debug":                {value: `true`},
	"server.debug_file":           {value: `"debug.log"`, others: `{"server":{"debug":true}}`},
	"server.show_config_on_start": {value: `true`},
	"server.structured_content":   {value: `true`},
	"server.tasks":                {value: `false`},
	"server.answer_within_ms":     {value: `1000`},
	"server.meta":                 {value: `false`},
	"server.tool_errors":          {value: `"protocol"`, question: "400"},
}

// profileSettings are the keys of each profile.
var profileSettings = map[string]string{
	"model":             `"gpt-6"`,
	"reasoning_effort":  `"low"`,
	"verbosity":         `"low"`,
	"reasoning_summary": `"auto"`,
	"max_output_tokens": `1000`,
	"max_tool_calls":    `2`,
	"service_tier":      `"flex"`,
	"background":        `true`,
}

// Every key changes what the program does: a session with a value differs from one without it.
func TestEverySettingHasAnEffect(t *testing.T) {
	all := maps.Clone(settings)

	for _, profile := range []string{"answer", "answer_detailed", "answer_quick"} {
		for name, value := range profileSettings {
			all["model_profiles."+profile+"."+name] = setting{
				value:  value,
				others: `{"model_profiles":{"answer":{}}}`, // the section alone has an effect
			}
		}
	}

	cfg, _, err := config.Load(config.Flags{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string]string{} // without a value, by the other keys and the question

	for _, key := range cfg.Keys {
		t.Run(key, func(t *testing.T) {
			s, isListed := all[key]
			if !isListed {
				t.Fatal("the table has no value of it that changes what the program does")
			}

			base := s.others + s.question
			without := sessions[base]
			if without == "" {
				without = s.session(t, "")
				sessions[base] = without
				if again := s.session(t, ""); again != without {
					t.Errorf("sessions with one configuration differ:\n%s\n%s", without, again)
				}
			}
			if s.session(t, key) == without {
				t.Errorf("%s changes nothing in:\n%s", s.value, without)
			}
		})
	}
}

// messages are those of a session without initialize, in which META and QUERY are replaced.
const messages = `
{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":META}}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":META}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":META,
	"name":"answer","arguments":{"query":"QUERY"}}}
{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":META,
	"name":"answer_detailed","arguments":{"query":"QUERY","domains":["a.example"]}}}
{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"_meta":META,
	"name":"answer_quick","arguments":{"query":"QUERY"}}}
`

const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// cited is a response with two citations.
const cited = `{"id":"resp_1","object":"response","status":"completed","output":[{
	"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{
		"type":"output_text","text":"One. Two.","annotations":[
			{"type":"url_citation","url":"https://a.example/1","title":"One"},
			{"type":"url_citation","url":"https://b.example/2","title":"Two"}]}]}]}`

// varying matches what varies between sessions with one configuration: times, ids and dates.
var varying = regexp.MustCompile(`elapsed_ms":\d+|_0ff11e[0-9a-f]{10}|\d{4}-\d\d-\d\d`)

// session runs a session in an empty directory, with a value for key if there is one. It returns
// what can be seen of it: messages and requests in a fixed order, whether there is a log, and the
// files.
func (s setting) session(t *testing.T, key string) string {
	t.Helper()
	t.Chdir(t.TempDir())
	api, err := apitest.Start("always", "asked")
	if err != nil {
		t.Fatal(err)
	}
	defer api.Close()

	document, _ := sjson.Set(cmp.Or(s.others, "{}"), "openai.base_url", api.URL)
	if key != "" {
		value := strings.ReplaceAll(s.value, "API", api.URL)
		document, _ = sjson.SetRaw(document, key, value)
	}

	for name, content := range map[string]string{
		"config.json": document,
		"brief.md":    "Be brief.",
		"cited.json":  cited,
	} {
		err := os.WriteFile(name, []byte(content), 0o600)
		if err != nil {
			t.Fatal(err)
		}
	}

	args := []string{"--stdio", "--config", "config.json"}
	environ := []string{"OPENAI_API_KEY=sk-one", "OTHER_KEY=sk-two"}
	question := cmp.Or(s.question, "search") + " something"
	values := strings.NewReplacer("\n\t", "", "META", meta, "QUERY", question)
	stdin := strings.NewReader(values.Replace(messages))
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), args, environ, stdin, &stdout, &stderr)
	if code != 0 {
		t.Fatalf("exit code %d with %s: %s", code, document, &stderr)
	}

	seen := slices.Collect(strings.Lines(stdout.String()))

	for _, r := range api.Requests() {
		seen = append(seen, fmt.Sprintln(r.Method, r.Path, r.Header, string(r.Body)))
	}
	slices.Sort(seen)
	files, _ := filepath.Glob("*")
	seen = append(seen, fmt.Sprintf("log: %t, files: %q", stderr.Len() > 0, files))
	return varying.ReplaceAllString(strings.Join(seen, ""), "…")
}
