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

func TestUsageErrors(t *testing.T) {
	bytes := strings.NewReplacer("ESC", "\x1b", "BYTE", "\xff", "UTF16", "\xff\xfeh\x00i\x00")
	for _, row := range compare.Table(t, "usage", 3) {
		args, stdin, _ := strings.Cut(bytes.Replace(row[0]), " < ")
		t.Run(args, func(t *testing.T) {
			in := strings.NewReader(stdin)
			code, stdout, stderr := run(t.Context(), nil, in, words(args)...)

			checkExit(t, code, exitUsage)

			if stdout != "" {
				t.Errorf("stdout is %q", stdout)
			}

			want := "openai-responses-mcp: error: " + row[1] + "\nhint: " + row[2] + "\n"

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
	for _, row := range compare.Table(t, "question", 3) {
		line, stdin, want := row[0], row[1], row[2]
		t.Run(line+" < "+stdin, func(t *testing.T) {
			a := &app{stdin: strings.NewReader(stdin)}
			root := a.command()
			args, err := a.prepareArgs(root, words("ask "+line))
			if err != nil {
				t.Fatal(err)
			}
			c, rest, _ := root.Find(args)
			if err := c.ParseFlags(rest); err != nil {
				t.Fatal(err)
			}

			got, err := a.query(t.Context(), c.Flags().Args())
			if err != nil || got != want {
				t.Errorf("the question is %q (%v), want %q", got, err, want)
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

// The help of the program lists all commands.
func TestHelpListsCommands(t *testing.T) {
	_, stdout, _ := run(t.Context(), nil, nil, "--help")
	for _, c := range Command().Commands() {
		if !c.Hidden && !strings.Contains(stdout, "\n  "+c.Name()+" ") {
			t.Errorf("the help does not list %s: add it to commandsInOrder", c.Name())
		}
	}
}
