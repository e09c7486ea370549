package cli

import (
	stdcmp "cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParse(t *testing.T) {
	for _, tt := range []struct{ in, words, via, debug, err string }{
		{in: "cursor --via docker", words: "cursor", via: "docker"},
		{in: "--via docker cursor", words: "cursor", via: "docker"},
		{in: "Claude --via=docker Code", words: "Claude Code", via: "docker"},
		{in: "what is -l", words: "what is -l"},
		{in: "7 - 5", words: "7 - 5"},
		{in: "-- --via docker", words: "--via docker"},
		{in: "a -- --via docker", words: "a --via docker"},
		{in: "a --debug", words: "a", debug: "true"},
		{in: "a --debug log.txt b", words: "a b", debug: "log.txt"},
		{in: "-debug log.txt --via docker", via: "docker", debug: "log.txt"},
		{in: "--debug --via docker", via: "docker", debug: "true"},
		{in: "--debug=a b", words: "b", debug: "a"},
		{in: "-l", err: "unknown flag --l"},
		{in: "a --offlin", err: "unknown flag --offlin"},
		{in: "a --via", err: "flag needs an argument: --via"},
		{in: "a --help", err: "flag: help requested"},
		{in: "--offline=maybe", err: `invalid boolean value "maybe" for --offline: parse error`},
	} {
		f := newFlags("setup")
		via := f.String("via", "", "")
		words, err := f.parse(joinDebug(strings.Fields(tt.in)))
		debug := *stdcmp.Or(f.config.Debug, new(""))
		message := strings.TrimSuffix(fmt.Sprint(err), "<nil>")
		if got := strings.Join(words, " "); got != tt.words || *via != tt.via || debug != tt.debug || message != tt.err {
			t.Errorf("parse(%s) = %q, via %q, debug %q, %v, want %q, %q, %q, %s", tt.in, got, *via, debug, err, tt.words, tt.via, tt.debug, tt.err)
		}
	}
}

// run runs the program with an environment of a key and env.
func run(ctx context.Context, env []string, stdin io.Reader, args ...string) (code int, stdout, stderr string) {
	var out, errs strings.Builder
	code = Run(ctx, args, append(env, "OPENAI_API_KEY=sk-canary-Zq7XbT0w"), stdin, &out, &errs)
	return code, out.String(), errs.String()
}

func TestUsageErrors(t *testing.T) {
	const (
		seeAsk  = "see openai-responses-mcp ask --help"
		example = `openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`
		alone   = "- alone reads the question from stdin; after a question it adds stdin as context"
		convert = "convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -"
	)
	for _, tt := range []struct {
		args          []string
		stdin         string
		problem, hint string
	}{
		{nil, "", "nothing to do", "MCP clients start it with --stdio; see openai-responses-mcp --help"},
		{[]string{"Docter"}, "", `unknown command "Docter"`, "did you mean doctor? see openai-responses-mcp --help"},
		{[]string{"x"}, "", `unknown command "x"`, "see openai-responses-mcp --help"},
		{[]string{"ask", "--recencydays", "1", "?"}, "", "unknown flag --recencydays", "did you mean --recency-days? " + seeAsk},
		{[]string{"help", "smoek"}, "", `unknown command "smoek"`, "did you mean smoke? see openai-responses-mcp --help"},
		{[]string{"--stdio", "--config"}, "", "flag needs an argument: --config", "see openai-responses-mcp --help"},
		{[]string{"setup", "zed", "--via=http", "--url=https://u:p@h/"}, "", "--via http needs the http or https URL of the server", "add --url https://HOST/mcp, without a user"},
		{[]string{"setup", "codex", "--offline"}, "", "unknown flag --offline", "see openai-responses-mcp setup --help"},
		{[]string{"--offline", "ask", "x"}, "", `unexpected argument "ask"`, "a command goes first, before its flags; see openai-responses-mcp --help"},
		{[]string{"ask", "--json", "--events", "?"}, "", "--json and --events exclude each other", seeAsk},
		{[]string{"ask", "?", "--detailed", "--quick"}, "", "--detailed and --quick exclude each other", seeAsk},
		{[]string{"ask", "--max-results", "11", "?"}, "", `invalid value "11" for --max-results: not a number from 1 to 10`, seeAsk},
		{[]string{"ask", "--recency-days", "-1", "?"}, "", `invalid value "-1" for --recency-days: not a number of at least 0`, seeAsk},
		{[]string{"ask", "--recency-days", "NaN", "?"}, "", `invalid value "NaN" for --recency-days: not a number of at least 0`, seeAsk},
		{[]string{"ask", "--domains", "go.dev,", "?"}, "", `invalid value "go.dev," for --domains: "" is not a host name`, seeAsk},
		{[]string{"ask", "--debug", "log.txt", "?"}, "", `"log.txt" after --debug looks like a path, not like a question`, "--debug=log.txt logs to it; --debug -- ends the flags"},
		{[]string{"ask", "?", "--debug", "/tmp/log"}, "", `"/tmp/log" after --debug looks like a path, not like a question`, "--debug=/tmp/log logs to it; --debug -- ends the flags"},
		{[]string{"ask"}, "", "no question", example},
		{[]string{"ask", "-"}, " \n", "no question", example},
		{[]string{"ask", "-", "extra"}, "?", "- comes before the question", alone},
		{[]string{"ask", "\xff"}, "", "the question is not UTF-8 text", convert},
		{[]string{"ask"}, "\xff\xfeh\x00i\x00", "the question is not UTF-8 text", convert}, // UTF-16
		{[]string{"ask", "-"}, strings.Repeat("x", 1<<20+1), "stdin has more than 1048576 bytes", "send the part that matters"},
		{[]string{"\x1b[2J sk-canary-Zq7XbT0w"}, "", `unknown command "\x1b[2J [redacted]"`, "see openai-responses-mcp --help"},
	} {
		code, stdout, stderr := run(t.Context(), nil, strings.NewReader(tt.stdin), tt.args...)
		want := "openai-responses-mcp: error: " + tt.problem + "\nhint: " + tt.hint + "\n"
		if code != exitUsage || stdout != "" || stderr != want {
			t.Errorf("%.80q: exit code %d, stdout %q, stderr (-want +got):\n%s", tt.args, code, stdout, cmp.Diff(want, stderr))
		}
	}
}

func TestUsageTexts(t *testing.T) {
	for _, args := range []string{"--help", "-h", "help", "ask --help", "help ask", "ask What? --help", "smoke -h", "doctor --help", "setup --help"} {
		code, stdout, stderr := run(t.Context(), nil, nil, strings.Fields(args)...)
		command := strings.Fields(strings.Trim(strings.NewReplacer("--help", "", "-h", "", "help", "").Replace(args), " ") + " --stdio")[0]
		if code != exitOK || stderr != "" || !strings.Contains(stdout, "\nUsage:\n  openai-responses-mcp "+command) {
			t.Errorf("%s: exit code %d, stderr %q:\n%s", args, code, stderr, stdout)
		}
	}
}

func TestQuestion(t *testing.T) {
	for _, tt := range []struct{ args, stdin, want string }{
		{"", "from the pipe\n", "from the pipe"},
		{"-", "line 1\nline 2\n", "line 1\nline 2"},
		{"-", "\ufefffrom Windows\r\n", "from Windows"},
		{"from words", "from the pipe", "from words"},
		{"from words -", "more\n", "from words\n\nmore"},
		{"--json what? --model m -", "more", "what?\n\nmore"},
		{"-- --json is what?", "", "--json is what?"},
		{"--debug what is a/b", "", "what is a/b"},
		{"--debug https://a.example/b", "", "https://a.example/b"},
		{"--debug -- a/b", "", "a/b"},
		{"-- what is --debug /tmp/log", "", "what is --debug /tmp/log"},
	} {
		a := &app{stdin: strings.NewReader(tt.stdin), stderr: io.Discard}
		if f, err := a.parseAsk(t.Context(), strings.Fields(tt.args)); err != nil || f.question.Query != tt.want {
			t.Errorf("ask %s: %v, %v, want %q", tt.args, f, err, tt.want)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	endless, w := io.Pipe()
	defer w.Close()
	if _, err := (&app{stdin: endless}).query(ctx, nil); !errors.Is(err, errInterrupted) {
		t.Errorf("interrupted while reading stdin: %v", err)
	}
}
