package config_test

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/sjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// setting is a value of a key that changes what the program does.
type setting struct {
	Value    any    // API is the URL of the API
	Others   string // the other keys, with and without the value
	Question string // its first word is a step of the API, see apitest.Server.Script; "" is search
}

//go:embed testdata/settings.yaml
var settings []byte

// profile matches the start of the keys of a profile.
var profile = regexp.MustCompile(`^model_profiles\.\w+\.`)

// Every key changes what the program does: a session with a value differs from one without it.
func TestEverySettingHasAnEffect(t *testing.T) {
	var all map[string]setting
	err := yaml.Unmarshal(settings, &all)
	if err != nil {
		t.Fatal(err)
	}

	cfg, _, err := config.Load(config.Flags{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	sessions := map[string]string{} // without a value, by the other keys and the question

	keys := slices.Clone(cfg.SettingKeys)
	for _, tool := range call.Tools {
		for _, key := range cfg.SettingKeys {
			if strings.HasPrefix(key, "search.") || key == "policy.max_citations" {
				name := strings.TrimPrefix(key, "policy.")
				keys = append(keys, "model_profiles."+tool.Name+"."+name)
			}
		}
	}
	for _, key := range keys {
		t.Run(key, func(t *testing.T) {
			s, listed := all[profile.ReplaceAllString(key, "model_profiles.TOOL.")]
			if !listed {
				s, listed = all[profile.ReplaceAllString(key, "")]
				s.Others = all["model_profiles.TOOL.model"].Others
			}
			if !listed {
				t.Fatal("testdata/settings.yaml has no value of it that changes what the program does")
			}

			base := s.Others + s.Question
			without := sessions[base]
			if without == "" {
				without = s.session(t, "")
				sessions[base] = without
				if again := s.session(t, ""); again != without {
					t.Errorf("sessions with one configuration differ:\n%s\n%s", without, again)
				}
			}
			if s.session(t, key) == without {
				t.Errorf("%v changes nothing in:\n%s", s.Value, without)
			}
		})
	}
}

// messages are those of a session without initialize, in which META and QUERY are replaced.
const messages = `
{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{"_meta":META}}
{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{"_meta":META}}
{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"_meta":META,
	"name":"answer","arguments":{"query":"QUERY","domains":["a.example"]}}}
`

// toolCall is the message that calls a tool.
const toolCall = `{"jsonrpc":"2.0","id":%q,"method":"tools/call","params":{"_meta":META,` +
	`"name":%[1]q,"arguments":{"query":"QUERY"}}}` + "\n"

// followUp is the message that continues the question of the calls before.
const followUp = `{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"_meta":META,` +
	`"name":"answer","arguments":{"query":"QUERY","follow_up_to":"QUERY"}}}` + "\n"

// results are the lines on stdout.
type results struct {
	bytes.Buffer
	complete chan struct{} // closed with the result of the last message before followUp
}

// Write adds a line.
func (r *results) Write(line []byte) (int, error) {
	n, err := r.Buffer.Write(line)
	if bytes.Count(r.Bytes(), []byte("\n")) == 3+len(call.Tools) {
		close(r.complete)
	}
	return n, err
}

// Read returns EOF when they are complete.
func (r *results) Read([]byte) (int, error) {
	<-r.complete
	return 0, io.EOF
}

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
var varying = regexp.MustCompile(`elapsed_ms":\d+|_0ff11e[0-9a-f]{10}|` +
	`(today: |accessed |published_at\W+)\d{4}-\d\d-\d\d`)

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

	document, _ := sjson.Set(cmp.Or(s.Others, "{}"), "openai.base_url", "API")
	if key != "" {
		document, _ = sjson.Set(document, key, s.Value)
	}
	document = strings.ReplaceAll(document, "API", api.URL)

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
	question := cmp.Or(s.Question, "search") + " something"
	values := strings.NewReplacer("\n\t", "", "META", meta, "QUERY", question)
	input := messages
	for _, tool := range call.Tools {
		input += fmt.Sprintf(toolCall, tool.Name)
	}
	stdout := &results{complete: make(chan struct{})}
	stdin := io.MultiReader(
		strings.NewReader(values.Replace(input)),
		stdout, // waits
		strings.NewReader(values.Replace(followUp)))
	var stderr bytes.Buffer
	code := cli.Run(t.Context(), args, environ, stdin, stdout, &stderr)
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
