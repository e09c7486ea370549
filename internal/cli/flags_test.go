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
	seeRoot  = "see openai-responses-mcp --help"
	toAsk    = `questions go to openai-responses-mcp ask "QUESTION"`
	hosts    = "must be host names with a dot, such as example.com"
	first    = "put the command first: openai-responses-mcp "
	seeAsk   = "see openai-responses-mcp ask --help"
	seeLogin = "see openai-responses-mcp login --help"
	example  = `openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`
	convert  = "convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -"
)

// usageErrors are wrong command lines, in which _ is a blank of an argument. < and stdin may follow
// the arguments.
var usageErrors = []struct{ args, problem, hint string }{
	{"Docter", `unknown command "Docter"`, "did you mean doctor? " + seeRoot},
	{"version", `unknown command "version"`, "did you mean --version? " + seeRoot},
	{"why?", `unknown command "why?"`, toAsk},
	{"東京の天気は", `unknown command "東京の天気は"`, toAsk},
	{"ask -l", "unknown flag -l", "quote a question that has words with -, or put -- before it"},
	{"ask what is -l", "unknown flag -l", "quote a question that has words with -, or put -- before it"},
	{"-help", "unknown flag -help", "did you mean --help? " + seeRoot},
	{"ask -json x", "unknown flag -json", "did you mean --json? " + seeAsk},
	{"-stdio", "unknown flag -stdio", "did you mean --stdio? " + seeRoot},
	{"ask --ofline ?", "unknown flag --ofline", "did you mean --offline? " + seeAsk},
	{
		"setup codex-cli", `unknown client "codex-cli"`,
		"did you mean codex? openai-responses-mcp setup lists the clients",
	},
	{
		"ask --offline=maybe",
		`invalid value "maybe" for --offline: must be true or false`,
		seeAsk,
	},
	{"ask --offline=01 x", `invalid value "01" for --offline: must be true or false`, seeAsk},
	{"help smoek", `unknown command "smoek"`, "did you mean smoke? " + seeRoot},
	{"--stdio --config", "flag needs an argument: --config", seeRoot},
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
	{"--offline ask x", `unexpected argument "ask"`, first + "ask --offline x"},
	{"--config x doctor", `unexpected argument "doctor"`, first + "doctor --config x"},
	{"--http :80 serve", `unexpected argument "serve"`, first + "serve --http :80"},
	{"--offline --debug ask x", `unexpected argument "x"`, first + "ask --offline --debug x"},
	{"--offline ask hi_there", `unexpected argument "ask"`, first + "ask --offline 'hi there'"},
	{"--offline ask it's so?", `unexpected argument "ask"`, first + `ask --offline 'it'\''s' 'so?'`},
	{"--model openai-responses-mcp -l", "unknown flag -l", seeRoot},
	{
		"--debug doctor",
		"nothing to do",
		"MCP clients start it with --stdio; " + first + "doctor --debug",
	},
	{"--offline hello", `unexpected argument "hello"`, seeRoot},
	{"--help=maybe", `invalid value "maybe" for --help: must be true or false`, seeRoot},
	{
		"completion bash --no-descriptions=maybe",
		`invalid value "maybe" for --no-descriptions: must be true or false`,
		"see openai-responses-mcp completion bash --help",
	},
	{"login --remove=maybe", `invalid value "maybe" for --remove: must be true or false`, seeLogin},
	{
		"completion tcsh",
		`unknown shell "tcsh"`,
		"write openai-responses-mcp completion bash|zsh|fish|powershell",
	},
	{
		"completion bash x",
		`unexpected argument "x"`,
		"see openai-responses-mcp completion bash --help",
	},
	{"ask --json --events ?", "--json and --events exclude each other", seeAsk},
	{"ask ? --detailed --quick", "--detailed and --quick exclude each other", seeAsk},
	{
		"ask --max-results 11 ?",
		`invalid value "11" for --max-results: must be at most 10`,
		seeAsk,
	},
	{
		"ask --recency-days -1 ?",
		`invalid value "-1" for --recency-days: must be a number of at least 0`,
		seeAsk,
	},
	{
		"ask --recency-days NaN ?",
		`invalid value "NaN" for --recency-days: must be a number of at least 0`,
		seeAsk,
	},
	{
		"ask --domains go.dev, ?",
		`invalid value "go.dev," for --domains: ` + hosts,
		seeAsk,
	},
	{
		`ask --domains ["go.dev"] ?`,
		`invalid value "[\"go.dev\"]" for --domains: ` + hosts,
		seeAsk,
	},
	{"ask --domains= ?", `invalid value "" for --domains: ` + hosts, seeAsk},
	{
		"ask --recency-days= ?",
		`invalid value "" for --recency-days: must be a number of at least 0`,
		seeAsk,
	},
	{
		"ask --exclude-domains https://go.dev ?",
		`invalid value "https://go.dev" for --exclude-domains: ` + hosts,
		seeAsk,
	},
	{
		"ask --debug log.txt ?",
		`"log.txt" after --debug looks like a path, not like a question`,
		"--debug=PATH logs to it; --debug -- ends the flags",
	},
	{
		"ask ? --debug x.jsonl",
		`"x.jsonl" after --debug looks like a path, not like a question`,
		"--debug=PATH logs to it; --debug -- ends the flags",
	},
	{
		"ask ? --debug /tmp/log",
		`"/tmp/log" after --debug looks like a path, not like a question`,
		"--debug=PATH logs to it; --debug -- ends the flags",
	},
	{"ask", "no question", example},
	{"ask \xff", "the question is not UTF-8 text", convert},
	{"\x1b[2J:sk-canary-Zq7XbT0w", `unknown command "\x1b[2J:[redacted]"`, seeRoot},
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
			code, stdout, stderr := run(t.Context(), nil, in, words(args)...)

			checkExit(t, code, exitUsage)

			if stdout != "" {
				t.Errorf("stdout is %q", stdout)
			}

			want := "openai-responses-mcp: error: " + tt.problem + "\nhint: " + tt.hint + "\n"

			compare.Equal(t, "stderr", stderr, want)
		})
	}
}

// words returns the words of a command line, in which _ is a blank of a quoted one.
func words(line string) []string {
	list := strings.Fields(line)
	for i := range list {
		list[i] = strings.ReplaceAll(list[i], "_", " ")
	}
	return list
}

func checkExit(t *testing.T, code, want int) {
	t.Helper()

	compare.Equal(t, "the exit code", code, want)
}

// The question of a command line, in which _ is a blank of a quoted argument.
func TestQuestion(t *testing.T) {
	for _, tt := range []struct{ args, stdin, want string }{
		{"", "from the pipe\n", "from the pipe"},
		{"-", "line 1\nline 2\n", "line 1\nline 2"},
		{"-", "\ufefffrom Windows\r\n", "from Windows"},
		{"from words", "from the pipe", "from words"},
		{"from words -", "more\n", "from words\n\nmore"},
		{"--json what? --model m -", "more", "what?\n\nmore"},
		{"what_is_-l --json 7 - 5", "", "what is -l 7 - 5"},
		{"-l_is_what? --json", "", "-l is what?"},
		{"-l=what_is_this?", "", "-l=what is this?"},
		{"--quick --json_is_what? -", "more", "--json is what?\n\nmore"},
		{"what -- --json", "", "what --json"},
		{"-- --json is what?", "", "--json is what?"},
		{"--debug what is a/b", "", "what is a/b"},
		{"--debug https://a.example/b", "", "https://a.example/b"},
		{"--debug -- a/b", "", "a/b"},
		{"-- what is --debug /tmp/log", "", "what is --debug /tmp/log"},
	} {
		t.Run(tt.args+" < "+tt.stdin, func(t *testing.T) {
			a := &app{stdin: strings.NewReader(tt.stdin)}
			root := a.command()
			args, err := a.prepare(root, words("ask "+tt.args))
			if err != nil {
				t.Fatal(err)
			}
			c, rest, _ := root.Find(args)
			if err := c.ParseFlags(rest); err != nil {
				t.Fatal(err)
			}

			got, err := a.query(t.Context(), c.Flags().Args())
			if err != nil || got != tt.want {
				t.Errorf("the question is %q (%v), want %q", got, err, tt.want)
			}
		})
	}
}

func TestQuestionInterrupted(t *testing.T) {
	endless, w := io.Pipe()
	defer w.Close()

	code, _, _ := run(ended(t), nil, endless, "ask")

	checkExit(t, code, exitInterrupted)
}

// A flag that is repeated adds further host names.
func TestRepeatedFlags(t *testing.T) {
	code, _, stderr := run(t.Context(), nil, nil, "ask", "--offline", "--debug",
		"--domains", "a.example,b.example", "--domains", "c.example",
		"--exclude-domains", "d.example", "--exclude-domains", "e.example,f.example", "x")
	checkExit(t, code, exitOK)
	compare.Contains(t, "log", stderr, "domains: a.example, b.example, c.example.")
	compare.Contains(t, "log", strings.ReplaceAll(stderr, `\"`, `"`),
		`"blocked_domains":["d.example","e.example","f.example"]`)
}
