package repo_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cli"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// oneLine returns a text with a blank for each line break and gap.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The specification says what the code has: a change of one side shows the other in its row.
func TestSpecification(t *testing.T) {
	spec := oneLine(read(t, "docs/spec.md"))
	for _, tt := range []struct{ says, file, code string }{
		{"`ttlMs` is an hour", "server/server.go", "c.TTLMs = 3_600_000"},
		{"at most 256 at once", "cli/serve.go", `"max-calls", 256`},

		{"| `ttlMs` | `request.timeout_ms` plus an hour", "tasks/tasks.go", "keepHere = time.Hour"},
		{"Of more than 1,000 tasks", "tasks/tasks.go", "maxTasks = 1000"},
		{"hold at most 64 MiB of results", "tasks/tasks.go", "maxBytes = 64 << 20"},
		{"`pollIntervalMs` is 5000", "tasks/api.go", "pollAPI = 5 * time.Second"},
		{"Requests within a second share it", "tasks/api.go", "shareTime = time.Second"},
		{"excluded domains have more than 1,000 bytes", "tasks/seal.go", "maxExcluded = 1000"},
		{"API key if it has at least 24", "service/late.go", "minSealingKey = 24"},
		{"longer than two seconds, its id is", "server/late.go", "nameTime = 2 * time.Second"},
		{"after 20 s at most", "server/late.go", "fetchTime = 20 * time.Second"},
		{"a message has at most 200 characters", "tasks/progress.go", "maxProgress = 200"},
		{"at most four a second", "tasks/progress.go", "minGap = 300 * time.Millisecond"},

		{"The file is read again every 5 s", "service/files.go", "rereadTime = 5 * time.Second"},
		{"a second read, a second later", "service/files.go", "confirmTime = time.Second"},

		{"a GET of the response after 30 s", "llm/background.go", "objectTime = 30 * time.Second"},
		{"a stream after 60 s", "llm/background.go", "maxSilence = time.Minute"},
		{"`Retry-After` of at most 30 s", "llm/background.go", "maxFetchWait = 30 * time.Second"},
		{"/cancel`, at most 3 s", "llm/background.go", "cancelTime = 3 * time.Second"},
		{"an API answer may be up to 16 MiB", "llm/send.go", "maxBody = 16 << 20"},
		{"one event of a stream 8 MiB", "llm/accumulator.go", "maxEvent = 8 << 20"},
		{"a message on stdin 64 MiB", "stdio/frames.go", "maxMessage = 64 << 20"},
		{"a request over HTTP 1 MiB", "httpd/limit.go", "maxBody = 1 << 20"},
		{"A message has at most 10,000 elements", "jsonx/jsonx.go", "MaxElements = 10_000"},
		{"and 64 levels", "jsonx/jsonx.go", "maxDepth = 64"},
		{"at most 10,000 items, parts", "llm/response.go", "maxElements = 10_000"},
		{"and 200,000 commas", "llm/response.go", "maxCommas = 200_000"},
		{"for in the last MiB of a text", "cite/document.go", "maxText = 1 << 20"},

		{"30 s of skew", "oauth/claims.go", "skew = 30 * time.Second"},
		{"read at the start, every 10 minutes", "oauth/keys.go", "refreshTime = 10 * time.Minute"},
		{"5 s after a failure", "oauth/keys.go", "RetryTime = 5 * time.Second"},
		{"up to 100 requests wait for that", "oauth/keys.go", "maxWaiting = 100"},
		{"A read lasts at most 5 s", "oauth/metadata.go", "fetchTime = 5 * time.Second"},
		{"at most 512 KiB", "oauth/metadata.go", "fetchBytes = 512 << 10"},
		{"512 KiB and 100 keys", "oauth/keys.go", "maxKeys = 100"},
		{"RSA has 2048 to", "oauth/keys.go", "minRSABits = 2048"},
		{"to 8192 bits", "oauth/keys.go", "maxRSABits = 8192"},
		{"cut at 64 characters", "oauth/oauth.go", "MaxName = 64"},

		{"2 wrong usage", "cli/cli.go", "exitUsage = 2"},
		{"130 interrupted", "cli/cli.go", "exitInterrupted = 128 + 2"},
		{"141 stdout closed", "cli/cli.go", "exitClosed = 128 + 13"},
	} {
		t.Run(tt.says, func(t *testing.T) {
			if !strings.Contains(spec, tt.says) {
				t.Errorf("docs/spec.md does not say %q", tt.says)
			}
			if !strings.Contains(oneLine(read(t, "internal/"+tt.file)), tt.code) {
				t.Errorf("internal/%s does not have %q", tt.file, tt.code)
			}
		})
	}
}

// Section 3.1 has the tools and their arguments, section 14 the commands.
func TestSpecifiedNames(t *testing.T) {
	spec := read(t, "docs/spec.md")
	_, section, _ := strings.Cut(spec, "### 3.1 ")
	section, _, _ = strings.Cut(section, "### 3.2 ")
	shown := gjson.Parse(fenced.FindStringSubmatch(section)[3])

	compare.Equal(t, "tool", shown.Get("name").Str, server.Table.Tools[0].Name)
	for _, tool := range server.Table.Tools {
		if !strings.Contains(section, tool.Description) {
			t.Errorf("§3.1 lacks the description of %s", tool.Name)
		}
	}
	want := map[string]string{}
	for _, arg := range server.Table.Arguments {
		if slices.Contains(arg.Tools, "answer") {
			want[arg.Name] = arg.Type()
			if !strings.Contains(section, "\n| `"+arg.Name+"` | ") {
				t.Errorf("§3.1 does not say what %s must be", arg.Name)
			}
		}
	}
	got := map[string]string{}
	shown.Get("inputSchema.properties").ForEach(func(name, schema gjson.Result) bool {
		got[name.Str] = schema.Get("type").Str
		return true
	})
	compare.Equal(t, "arguments", got, want)

	_, section, _ = strings.Cut(spec, "## 14. ")
	section, _, _ = strings.Cut(section, ":\n")
	for _, c := range cli.Command().Commands() {
		if c.Name() != "help" && !strings.Contains(section, "`"+c.Name()+"`") {
			t.Errorf("§14 does not name %s", c.Name())
		}
	}
}
