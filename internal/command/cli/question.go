package cli

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"unicode/utf8"
)

// query returns the question: the words, the content of stdin, or both. It reads stdin if the last
// word is -, or if there are no words and stdin is a pipe.
func (a *app) query(ctx context.Context, words []string) (string, error) {
	last := len(words) - 1
	readsStdin := last < 0 && isPiped(a.stdin)
	if last >= 0 && words[last] == "-" {
		readsStdin = true
		words = words[:last]
	}

	query := joinWords(words)
	if readsStdin {
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
			"convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -; "+
				"on Windows run chcp 65001 before echo, or save the file as UTF-8",
			"the question is not UTF-8 text")
	}
	if query == "" {
		return "", usageError(
			`openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`,
			"no question")
	}
	return query, nil
}

// readAll reads stdin to its end, or until ctx is done. A read from a pipe cannot be interrupted:
// its goroutine then ends with the program.
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

// isPiped reports whether in can be read to its end: it is neither a terminal nor the null device.
func isPiped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}

	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0
}
