package cli

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// run runs the program with an environment of a key and env.
func run(ctx context.Context, env []string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = Run(ctx, args, append(env, "OPENAI_API_KEY=sk-canary-Zq7XbT0w"), stdin, &out, &errs)
	return code, out.String(), errs.String()
}

const (
	seeHelp = "see openai-responses-mcp --help"
	toAsk   = `questions go to openai-responses-mcp ask "QUESTION"`
	seeAsk  = "see openai-responses-mcp ask --help"
	example = `openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`
	convert = "convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -"
)

// usageErrors are wrong command lines. < and stdin may follow the arguments.
var usageErrors = []struct{ args, problem, hint string }{
	{"Docter", `unknown command "Docter"`, "did you mean doctor? " + seeHelp},
	{"version", `unknown command "version"`, "did you mean --version? " + seeHelp},
	{"why?", `unknown command "why?"`, toAsk},
	{"東京の天気は", `unknown command "東京の天気は"`, toAsk},
	{"ask -l", "unknown flag --l", seeAsk},
	{"ask --ofline ?", "unknown flag --ofline", "did you mean --offline? " + seeAsk},
	{
		"setup codex-cli", `unknown client "codex-cli"`,
		"did you mean codex? openai-responses-mcp setup lists the clients",
	},
	{
		"ask --offline=maybe",
		`invalid boolean value "maybe" for --offline: parse error`,
		seeAsk,
	},
	{"help smoek", `unknown command "smoek"`, "did you mean smoke? " + seeHelp},
	{"--stdio --config", "flag needs an argument: --config", seeHelp},
	{
		"setup zed --via=http --url=https://u:p@h/",
		"a server over HTTP needs its http or https URL",
		"start one with serve --http, and add --url https://HOST/mcp, without a user",
	},
	{
		"setup codex --offline",
		"unknown flag --offline",
		"see openai-responses-mcp setup --help",
	},
	{"--offline ask x", `unexpected argument "ask"`, seeHelp},
	{"ask --json --events ?", "--json and --events exclude each other", seeAsk},
	{"ask ? --detailed --quick", "--detailed and --quick exclude each other", seeAsk},
	{
		"ask --max-results 11 ?",
		`invalid value "11" for --max-results: not a number from 1 to 10`,
		seeAsk,
	},
	{
		"ask --recency-days -1 ?",
		`invalid value "-1" for --recency-days: not a number of at least 0`,
		seeAsk,
	},
	{
		"ask --recency-days NaN ?",
		`invalid value "NaN" for --recency-days: not a number of at least 0`,
		seeAsk,
	},
	{
		"ask --domains go.dev, ?",
		`invalid value "go.dev," for --domains: "" is not a host name`,
		seeAsk,
	},
	{
		"ask --exclude-domains https://go.dev ?",
		`invalid value "https://go.dev" for --exclude-domains: "https://go.dev" is not a host name`,
		seeAsk,
	},
	{
		"ask --debug log.txt ?",
		`"log.txt" after --debug looks like a path, not like a question`,
		"--debug=PATH logs to it; --debug -- ends the flags",
	},
	{
		"ask ? --debug /tmp/log",
		`"/tmp/log" after --debug looks like a path, not like a question`,
		"--debug=PATH logs to it; --debug -- ends the flags",
	},
	{"ask", "no question", example},
	{"ask \xff", "the question is not UTF-8 text", convert},
	{"\x1b[2J:sk-canary-Zq7XbT0w", `unknown command "\x1b[2J:[redacted]"`, seeHelp},
	{"ask - < \n", "no question", example},
	{"ask why? - < \n", "stdin is empty", "leave out - to ask without context"},
	{"ask < \xff\xfeh\x00i\x00", "the question is not UTF-8 text", convert},
	{
		"ask - < " + strings.Repeat("x", 1<<20+1),
		"stdin has more than 1 MiB",
		"send the part that matters",
	},
}

func TestUsageErrors(t *testing.T) {
	for _, tt := range usageErrors {
		args, stdin, _ := strings.Cut(tt.args, " < ")
		t.Run(args, func(t *testing.T) {
			in := strings.NewReader(stdin)
			code, stdout, stderr := run(t.Context(), nil, in, strings.Fields(args)...)

			checkExit(t, code, exitUsage)

			if stdout != "" {
				t.Errorf("stdout is %q", stdout)
			}

			want := "openai-responses-mcp: error: " + tt.problem + "\nhint: " + tt.hint + "\n"

			compare.Equal(t, "stderr", stderr, want)
		})
	}
}

func checkExit(t *testing.T, code, want int) {
	t.Helper()

	compare.Equal(t, "the exit code", code, want)
}

func TestQuestion(t *testing.T) {
	for _, tt := range []struct{ args, stdin, want string }{
		{"", "from the pipe\n", "from the pipe"},
		{"-", "line 1\nline 2\n", "line 1\nline 2"},
		{"-", "\ufefffrom Windows\r\n", "from Windows"},
		{"from words", "from the pipe", "from words"},
		{"from words -", "more\n", "from words\n\nmore"},
		{"--json what? --model m -", "more", "what?\n\nmore"},
		{"what is -l --json 7 - 5", "", "what is -l 7 - 5"},
		{"what -- --json", "", "what --json"},
		{"-- --json is what?", "", "--json is what?"},
		{"--debug what is a/b", "", "what is a/b"},
		{"--debug https://a.example/b", "", "https://a.example/b"},
		{"--debug -- a/b", "", "a/b"},
		{"-- what is --debug /tmp/log", "", "what is --debug /tmp/log"},
	} {
		t.Run(tt.args+" < "+tt.stdin, func(t *testing.T) {
			a := &app{stdin: strings.NewReader(tt.stdin)}
			f, err := a.parseAsk(t.Context(), strings.Fields(tt.args))
			if err != nil {
				t.Fatal(err)
			}

			compare.Equal(t, "the question", f.question.Query, tt.want)
		})
	}
}

func TestQuestionInterrupted(t *testing.T) {
	endless, w := io.Pipe()
	defer w.Close()

	code, _, _ := run(ended(t), nil, endless, "ask")

	checkExit(t, code, exitInterrupted)
}
