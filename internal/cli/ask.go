package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// askFlags is the command line of ask.
type askFlags struct {
	*flags
	json, events, usage bool
	question            answer.Question
}

// ask answers one question on the command line, as the tools do.
func (a *app) ask(ctx context.Context, args []string) error {
	f, err := a.parseAsk(ctx, args)
	if err != nil {
		return err
	}
	s := terminal.New(terminal.Options{
		Stdout:  a.stdout,
		Stderr:  a.stderr,
		Term:    a.variable("TERM"),
		NoColor: a.variable("NO_COLOR") != "",
		NoText:  f.json,
	})
	a.stderr = s // warnings must not run into the status line
	d, err := a.build(f.flags)
	if err != nil {
		return err
	}
	defer d.close()
	if d.config.Server.Debug { // the log shows everything
		s.Hide()
	}

	// A write would show minutes later that stdout has no reader.
	run, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() {
		if stdio.WaitGone(run, a.stdout) {
			stop(errClosed)
		}
	}()

	limited, cancel := answer.WithTimeout(run, d.config.Timeout())
	defer cancel()
	var ans *answer.Answer
	if f.events {
		ans, err = a.askEvents(limited, d, f, stop)
	} else {
		s.Refresh()
		ans, err = d.server.Ask(limited, f.config.Profile, f.question, s.Watch)
		s.Finish(ans)
	}
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case run.Err() != nil:
		return context.Cause(run)
	case f.events:
	case err != nil:
		problem, hint := a.advisor(d.config).Advise(f.config.Profile, err)
		return &failure{exitFailed, problem, hint}
	case f.json:
		err = printJSON(a.stdout, ans)
	case !s.ShowsText():
		_, err = fmt.Fprintln(a.stdout, text.Printable(ans.Text))
	}
	if f.usage && ans != nil && err == nil {
		s.Note(usageLine(ans.Meta))
	}
	return err
}

// askEvents prints the events of a question, and its error. stop ends ctx if that fails.
func (a *app) askEvents(ctx context.Context, d *deps, f *askFlags, stop func(error)) (*answer.Answer, error) {
	write := func(line event) {
		if err := printJSON(a.stdout, line); err != nil {
			stop(fmt.Errorf("writing the events to stdout: %w", err))
		}
	}
	done := false
	ans, err := d.server.Ask(ctx, f.config.Profile, f.question, func(ev llm.Event) {
		if line := eventOf(ev); line != nil {
			write(line)
		}
		_, last := ev.(llm.Done)
		done = done || last
	})
	if err == nil || done {
		return ans, nil // no answer can be made of some complete responses
	}
	write(a.failed(err, d.server.Explain(f.config.Profile, err)))
	return nil, errReported
}

// parseAsk parses the command line of ask, and reads the question.
func (a *app) parseAsk(ctx context.Context, args []string) (*askFlags, error) {
	f := &askFlags{flags: newFlags("ask")}
	detailed := f.Bool("detailed", false, "")
	quick := f.Bool("quick", false, "")
	f.BoolVar(&f.json, "json", false, "")
	f.BoolVar(&f.events, "events", false, "")
	f.BoolVar(&f.usage, "usage", false, "")
	f.Func("domains", "", func(s string) error {
		for d := range strings.SplitSeq(s, ",") {
			if d = strings.TrimSpace(d); !text.IsHostName(d) {
				return fmt.Errorf("%q is not a host name", d)
			}
			f.question.Domains = append(f.question.Domains, d)
		}
		return nil
	})
	f.Func("recency-days", "", number(&f.question.RecencyDays, 0, math.MaxFloat64, "a number of at least 0"))
	f.Func("max-results", "", number(&f.question.MaxResults, 1, 10, "a number from 1 to 10"))
	words, err := f.parse(args)
	if err != nil {
		return nil, err
	}
	f.config.Profile = "answer"
	log := debugPath(args)
	switch {
	case log != "":
		return nil, usageError("--debug="+log+" logs to it; --debug -- ends the flags", "%q after --debug looks like a path, not like a question", log)
	case f.json && f.events:
		return nil, usageError(f.seeHelp(), "--json and --events exclude each other")
	case *detailed && *quick:
		return nil, usageError(f.seeHelp(), "--detailed and --quick exclude each other")
	case *detailed:
		f.config.Profile = "answer_detailed"
	case *quick:
		f.config.Profile = "answer_quick"
	}
	f.question.Query, err = a.query(ctx, words)
	return f, err
}

// pathLike matches a word that looks like a path or a URL, and not like a flag.
var pathLike = regexp.MustCompile(`^([^\s-]\S*)?[/\\]\S*$|^[^\s-]\S*\.(?:log|txt)$`)

// debugPath returns a path after --debug: the server would log to it, but ask would ask it.
func debugPath(args []string) string {
	for i, arg := range args {
		if arg == "--" || i+1 == len(args) {
			break
		}
		next := args[i+1]
		if (arg == "--debug" || arg == "-debug") && pathLike.MatchString(next) && !strings.Contains(next, "://") {
			return next
		}
	}
	return ""
}

// number returns the function of a flag that takes a number from least to most.
func number(to **float64, least, most float64, want string) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || !(least <= n && n <= most) {
			return errors.New("not " + want)
		}
		*to = &n
		return nil
	}
}

// query returns the question: the words, what stdin holds (-, or a pipe and no words), or both.
func (a *app) query(ctx context.Context, words []string) (string, error) {
	last := len(words) - 1
	read := last < 0 && piped(a.stdin)
	if last >= 0 && words[last] == "-" {
		read, words = true, words[:last]
	}
	query := strings.Join(words, " ")
	if read {
		s, err := a.readStdin(ctx)
		if err != nil {
			return "", err
		}
		query += "\n\n" + s
	}
	switch query = strings.TrimSpace(query); {
	case !utf8.ValidString(query):
		return "", usageError("convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -", "the question is not UTF-8 text")
	case query == "":
		return "", usageError(`openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`, "no question")
	case len(words) > 0 && words[0] == "-":
		return "", usageError("- alone reads the question from stdin; after a question it adds stdin as context", "- comes before the question")
	}
	return query, nil
}

// readStdin reads stdin to its end. A read from a pipe cannot be interrupted:
// when ctx is done, it is left behind and ends with the program.
func (a *app) readStdin(ctx context.Context) (string, error) {
	const maxStdin = 1 << 20 // bytes
	var b []byte
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		b, err = io.ReadAll(io.LimitReader(a.stdin, maxStdin+1))
	}()
	select {
	case <-ctx.Done():
		return "", errInterrupted
	case <-done:
	}
	switch {
	case err != nil:
		return "", fmt.Errorf("reading stdin: %w", err)
	case len(b) > maxStdin:
		return "", usageError("send the part that matters", "stdin has more than %d bytes", maxStdin)
	}
	return strings.TrimPrefix(string(b), "\ufeff"), nil
}

// piped reports whether in is to be read to its end: it is no terminal and not the null device.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0
}

// usageLine says what an answer took.
func usageLine(m answer.Meta) string {
	searches := "searches"
	if m.Searches == 1 {
		searches = "search"
	}
	u := m.Usage
	return fmt.Sprintf("usage: %d tokens in (%d cached), %d out (%d reasoning), %d %s, %.1f s",
		u.Input, u.Cached, u.Output, u.Reasoning, m.Searches, searches, m.Elapsed.Seconds())
}
