package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// maxStdin bounds what ask reads from stdin, in bytes.
const maxStdin = 1 << 20

// askFlags is the command line of ask.
type askFlags struct {
	*flags
	detailed, quick     bool
	json, events, usage bool
	question            answer.Question
	words               []string
}

// ask answers one question on the command line, as the tools do.
func (a *app) ask(ctx context.Context, args []string) error {
	f, err := parseAsk(args)
	if err != nil {
		return err
	}
	if f.question.Query, err = a.query(ctx, f); err != nil {
		return err
	}
	var s *screen
	if !f.events {
		s = a.newScreen(!f.json)
	}
	if s != nil && s.status != nil {
		a.stderr = s // warnings must not run into the status line
	}
	f.config.Profile = f.profile()
	w, err := a.wire(f.flags)
	if err != nil {
		return err
	}
	defer w.close()
	if w.config.Server.Debug {
		s = nil // the log shows everything
	}

	run, stop := a.whileRead(ctx)
	defer stop()
	ans, err := a.answer(run, stop, w, s, f)
	switch {
	case err == nil && f.usage && ans != nil:
		return a.printUsage(ans.Meta)
	case err != nil && errors.Is(context.Cause(run), errClosed):
		return errClosed
	case err != nil && ctx.Err() != nil:
		return errInterrupted
	}
	return err
}

// answer asks the question and prints what f wants to see. ans is nil if
// nothing could be made of the response although all its events are printed.
func (a *app) answer(ctx context.Context, stop func(), w *wiring, s *screen, f *askFlags) (ans *answer.Answer, err error) {
	var watch func(llm.Event)
	var p *eventPrinter
	switch {
	case f.events:
		p = &eventPrinter{out: a.stdout, stop: stop}
		watch = p.watch
	case s != nil:
		s.start(stop)
		watch = s.watch
	}
	ans, err = w.answerer.Ask(ctx, f.profile(), f.question, watch)
	if f.events {
		return ans, p.finish(w, f.profile(), err)
	}
	if s != nil {
		if failed := s.finish(ans); failed != nil {
			return nil, failed
		}
	}
	switch {
	case err != nil:
		guide := w.guide()
		problem, hint := guide.Advise(f.profile(), err)
		return nil, &hinted{errors.New(problem), hint}
	case s != nil && s.text != nil:
		return ans, nil
	case f.json:
		return ans, a.printJSON(ans)
	}
	_, err = fmt.Fprintln(a.stdout, text.Printable(ans.Text))
	return ans, err
}

// parseAsk parses the command line of ask.
func parseAsk(args []string) (*askFlags, error) {
	f := &askFlags{flags: newFlags("ask")}
	f.BoolVar(&f.detailed, "detailed", false, "")
	f.BoolVar(&f.quick, "quick", false, "")
	f.BoolVar(&f.json, "json", false, "")
	f.BoolVar(&f.events, "events", false, "")
	f.BoolVar(&f.usage, "usage", false, "")
	f.Func("domains", "", func(s string) error {
		for d := range strings.SplitSeq(s, ",") {
			if d = strings.TrimSpace(d); !answer.IsHostName(d) {
				return fmt.Errorf("%q is not a host name", d)
			}
			f.question.Domains = append(f.question.Domains, d)
		}
		return nil
	})
	f.Func("recency-days", "", number(&f.question.RecencyDays, 0, math.MaxFloat64))
	f.Func("max-results", "", number(&f.question.MaxResults, 1, 10))
	var err error
	if f.words, err = f.parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.json && f.events:
		return nil, &usageError{problem: "--json and --events exclude each other", hint: f.seeHelp()}
	case f.detailed && f.quick:
		return nil, &usageError{problem: "--detailed and --quick exclude each other", hint: f.seeHelp()}
	case !f.literal && len(f.words) > 1 && f.words[0] == "-":
		return nil, &usageError{
			problem: "- comes before the question",
			hint:    "- alone reads the question from stdin; after a question it adds stdin as context",
		}
	}
	return f, nil
}

// number returns the function of a flag that takes a number from least to most.
func number(to **float64, least, most float64) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		switch {
		case err == nil && least <= n && n <= most:
			*to = &n
			return nil
		case most == math.MaxFloat64:
			return fmt.Errorf("not a number of at least %v", least)
		}
		return fmt.Errorf("not a number from %v to %v", least, most)
	}
}

// profile is the name of the profile, which is that of its tool.
func (f *askFlags) profile() string {
	switch {
	case f.detailed:
		return "answer_detailed"
	case f.quick:
		return "answer_quick"
	}
	return "answer"
}

// query returns the question: the words of the command line, what stdin holds
// (`ask -`, or a pipe and no words), or both (`ask QUESTION -`).
func (a *app) query(ctx context.Context, f *askFlags) (string, error) {
	words := f.words
	last := len(words) - 1
	read := len(words) == 0 && piped(a.stdin) ||
		last >= 0 && words[last] == "-" && (last == 0 || !f.literal)
	if read && last >= 0 {
		words = words[:last]
	}
	query := strings.Join(words, " ")
	if read {
		s, err := a.readStdin(ctx)
		if err != nil {
			return "", err
		}
		query = strings.TrimSpace(query + "\n\n" + s)
	}
	switch {
	case !utf8.ValidString(query):
		return "", &usageError{problem: "the question is not UTF-8 text", hint: "convert it: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -"}
	case strings.TrimSpace(query) == "":
		return "", &usageError{problem: "no question", hint: `openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`}
	}
	return query, nil
}

// readStdin reads stdin to its end. A read from a pipe cannot be interrupted:
// when ctx is done, it is left behind and ends with the program.
func (a *app) readStdin(ctx context.Context) (string, error) {
	type result struct {
		text []byte
		err  error
	}
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(a.stdin, maxStdin+1))
		done <- result{b, err}
	}()
	select {
	case <-ctx.Done():
		return "", errInterrupted
	case r := <-done:
		switch {
		case r.err != nil:
			return "", fmt.Errorf("reading stdin: %w", r.err)
		case len(r.text) > maxStdin:
			return "", &usageError{problem: fmt.Sprintf("stdin has more than %d bytes", maxStdin), hint: "send the part that matters"}
		}
		return strings.TrimSpace(strings.TrimPrefix(string(r.text), "\ufeff")), nil
	}
}

// piped reports whether in is to be read to its end: neither a terminal nor the
// null device, which programs without an input get.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0
}

// whileRead returns a context that ends with the cause errClosed when the
// reader of stdout closes it. A write would show that minutes later.
func (a *app) whileRead(ctx context.Context) (context.Context, func()) {
	run, stop := context.WithCancelCause(ctx)
	go func() {
		if stdio.WaitGone(run, a.stdout) {
			stop(errClosed)
		}
	}()
	return run, func() { stop(nil) }
}

// printJSON prints the JSON object that the tools return (spec §3.2).
func (a *app) printJSON(ans *answer.Answer) error {
	b, err := unescaped.JSON(ans)
	if err == nil {
		_, err = escaper{a.stdout}.Write(append(b, '\n'))
	}
	return err
}

// printUsage prints what an answer took on stderr.
func (a *app) printUsage(m answer.Meta) error {
	searches := "searches"
	if m.Searches == 1 {
		searches = "search"
	}
	u := m.Usage
	_, err := fmt.Fprintf(a.stderr, "usage: %d tokens in (%d cached), %d out (%d reasoning), %d %s, %.1f s\n",
		u.Input, u.Cached, u.Output, u.Reasoning, m.Searches, searches, m.Elapsed.Seconds())
	return err
}
