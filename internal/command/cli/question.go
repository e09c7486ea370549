package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// query returns the question: the words, what stdin holds (-, or a pipe and no words), or both.
func (a *app) query(ctx context.Context, words []string) (string, error) {
	last := len(words) - 1
	read := last < 0 && piped(a.stdin)
	if last >= 0 && words[last] == "-" {
		read = true
		words = words[:last]
	}

	query := joined(words)
	if read {
		s, err := readAll(ctx, a.stdin)
		if err != nil {
			return "", err
		}
		if strings.TrimSpace(s) == "" && query != "" {
			return "", usageError("leave out - to ask without context", "stdin is empty")
		}
		query += "\n\n" + s
	}
	query = strings.TrimSpace(query)

	if !utf8.ValidString(query) {
		return "", usageError(
			"convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -",
			"the question is not UTF-8 text")
	}
	if query == "" {
		return "", usageError(
			`openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`,
			"no question")
	}
	return query, nil
}

// readAll reads stdin to its end. A read from a pipe cannot be interrupted: when ctx is done, it is
// left behind and ends with the program.
func readAll(ctx context.Context, stdin io.Reader) (string, error) {
	const maxStdin = 1 << 20 // 1 MiB

	var b []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		b, err = io.ReadAll(io.LimitReader(stdin, maxStdin+1))
	}()

	select {
	case <-ctx.Done():
		return "", ctx.Err()
	case <-done:
	}

	if err != nil {
		return "", fmt.Errorf("reading stdin: %w", err)
	}
	if len(b) > maxStdin {
		return "", usageError("send the part that matters", "stdin has more than 1 MiB")
	}
	return strings.TrimPrefix(string(b), "\ufeff"), nil
}

// piped reports whether in is to be read to its end: it is neither a terminal nor the null
// device.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}

	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0
}

// pathLike matches a word that looks like a path or a URL, and not like a flag.
var pathLike = text.Regexp(`^([^\s-]\S*)?[/\\]\S*$|^[^\s-]\S*\.(?:log|txt|jsonl?)$`)

// checkDebug refuses a path after --debug: the server would log to it, but ask would ask it.
func checkDebug(c *cobra.Command, args []string) error {
	if c.Name() != "ask" {
		return nil
	}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		afterDebug := i > 0 && args[i-1] == "--debug"
		if afterDebug && pathLike().MatchString(arg) && !strings.Contains(arg, "://") {
			return usageError(
				"--debug=PATH logs to it; --debug -- ends the flags",
				"%q after --debug looks like a path, not like a question", arg)
		}
	}
	return nil
}
