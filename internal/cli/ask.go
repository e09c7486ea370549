package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
)

// maxQuestion bounds a question on standard input, in bytes.
const maxQuestion = 1 << 20

// errInterrupted says that a command was ended from outside (Ctrl-C); there is
// nothing to explain.
var errInterrupted = errors.New("interrupted")

// errUnread says that nobody reads stdout any more.
var errUnread = errors.New("nobody reads the answer")

// asking is what the command line of ask says.
type asking struct {
	*flags
	detailed, quick bool
	json, events    bool
	usage           bool
}

// ask answers one question on the command line, the way the tools do.
func (a *app) ask(ctx context.Context, args []string) error {
	f, err := parseAsk(args)
	switch {
	case errors.Is(err, errHelp):
		return a.help()
	case err != nil:
		return err
	}
	query, err := a.question(ctx, f.Args())
	if err != nil {
		return err
	}
	s := a.screen(f)
	f.config.Profile = f.profile() // whose model --model is
	w, err := a.wire(f.flags)
	if err != nil {
		return err
	}
	defer w.close()
	if f.events {
		return a.askEvents(ctx, w, f.profile(), query)
	}
	if w.config.Server.Debug {
		s = nil // the log shows everything, and would run into the rest
	}
	ans, err := a.answer(ctx, w, s, f, query)
	switch {
	case err == nil && f.usage:
		return a.printUsage(ans.Meta)
	case err == nil || errors.Is(err, errWriting) || errors.Is(err, errUnread):
		return err
	case ctx.Err() != nil:
		return errInterrupted
	}
	return w.advise(err, f.profile())
}

// whileRead is a context that ends, with errUnread as its cause, when nobody
// reads stdout any more: that would show at the first write, which may be minutes
// off.
func (a *app) whileRead(ctx context.Context) (context.Context, func()) {
	run, stop := context.WithCancelCause(ctx)
	go func() {
		if stdio.WaitGone(run, a.stdout) {
			stop(errUnread)
		}
	}()
	return run, func() { stop(nil) }
}

// answer asks, and prints the answer: as it comes where s shows it.
func (a *app) answer(ctx context.Context, w *wiring, s *screen, f *asking, query string) (*answer.Answer, error) {
	run, stop := a.whileRead(ctx)
	defer stop()
	ans, err := a.answered(run, stop, w, s, f, query)
	if err != nil && errors.Is(context.Cause(run), errUnread) {
		return nil, errUnread
	}
	return ans, err
}

func (a *app) answered(run context.Context, stop func(), w *wiring, s *screen, f *asking, query string) (*answer.Answer, error) {
	q := answer.Question{Query: query}
	if s == nil {
		ans, err := w.answerer.Ask(run, f.profile(), q, nil)
		if err != nil {
			return nil, err
		}
		return ans, a.print(ans, f.json)
	}
	s.start(stop)
	defer s.close()
	ans, err := w.answerer.Ask(run, f.profile(), q, s.watch)
	switch {
	case s.failed() != nil:
		return nil, s.failed()
	case err != nil:
		return nil, err
	case s.text != nil:
		return ans, s.finish(ans.Text)
	}
	s.hide()
	return ans, a.print(ans, f.json)
}

// parseAsk reads the flags of ask. Words of the question follow them.
func parseAsk(args []string) (*asking, error) {
	f := &asking{flags: newFlags("ask")}
	f.BoolVar(&f.detailed, "detailed", false, "")
	f.BoolVar(&f.quick, "quick", false, "")
	f.BoolVar(&f.json, "json", false, "")
	f.BoolVar(&f.events, "events", false, "")
	f.BoolVar(&f.usage, "usage", false, "")
	if err := f.parse(args); err != nil {
		return nil, err
	}
	switch {
	case f.json && f.events:
		return nil, &usageError{problem: "--json and --events exclude each other", hint: "choose one; see --help"}
	case f.detailed && f.quick:
		return nil, &usageError{problem: "--detailed and --quick exclude each other", hint: "choose one; see --help"}
	}
	if slices.Contains(args[:len(args)-f.NArg()], "--") {
		return f, nil // whatever follows is the question
	}
	if words := f.Args(); len(words) > 1 && (words[0] == "-" || words[len(words)-1] == "-") {
		return nil, &usageError{problem: "- stands beside other words", hint: "- alone reads the question from stdin; quotes make one word of a question"}
	}
	for _, word := range f.Args() {
		name, _, _ := strings.Cut(strings.TrimPrefix(word, "--"), "=")
		if strings.HasPrefix(word, "--") && f.Lookup(name) != nil {
			return nil, &usageError{problem: word + " stands behind the question", hint: "flags go first, and -- ends them"}
		}
	}
	return f, nil
}

// profile is the name of the profile, which is that of a tool.
func (f *asking) profile() string {
	switch {
	case f.detailed:
		return "answer_detailed"
	case f.quick:
		return "answer_quick"
	}
	return "answer"
}

// question is the words of the command line, or what standard input holds when
// there is the one word "-", or none and a pipe or file to read.
func (a *app) question(ctx context.Context, words []string) (string, error) {
	text := strings.Join(words, " ")
	if text == "-" || len(words) == 0 && piped(a.stdin) {
		var err error
		if text, err = a.readQuestion(ctx); err != nil {
			return "", err
		}
	}
	switch {
	case !utf8.ValidString(text):
		return "", &usageError{problem: "the question is not UTF-8 text", hint: "save or convert it as UTF-8: iconv -f SHIFT_JIS -t UTF-8 QUESTION.txt | openai-responses-mcp ask -"}
	case strings.TrimSpace(text) == "":
		return "", &usageError{problem: "no question", hint: `openai-responses-mcp ask "What does HTTP 404 mean?", or - to read it from stdin`}
	}
	return text, nil
}

// readQuestion reads standard input to its end. The read of a pipe that nobody
// closes cannot be ended: Ctrl-C leaves it behind, as the program does.
func (a *app) readQuestion(ctx context.Context) (string, error) {
	type result struct {
		text []byte
		err  error
	}
	a.waitsForQuestion()
	done := make(chan result, 1)
	go func() {
		b, err := io.ReadAll(io.LimitReader(a.stdin, maxQuestion+1))
		done <- result{b, err}
	}()
	select {
	case <-ctx.Done():
		return "", errInterrupted
	case r := <-done:
		switch {
		case r.err != nil:
			return "", fmt.Errorf("reading the question from stdin: %w", r.err)
		case len(r.text) > maxQuestion:
			return "", &usageError{problem: fmt.Sprintf("the question on stdin is longer than %d bytes", maxQuestion), hint: "send the part that matters"}
		}
		text := strings.TrimPrefix(string(r.text), "\ufeff") // editors of Windows begin with it
		return strings.TrimSpace(text), nil
	}
}

// waitsForQuestion tells a person at a terminal what ask - is waiting for.
func (a *app) waitsForQuestion() {
	in, ok := a.stdin.(*os.File)
	if !ok {
		return
	}
	_, typed := width(in)
	if _, seen := columns(a.stderr); typed && seen {
		a.note("type the question; Ctrl-D on a line of its own ends it")
	}
}

// piped reports whether in is something to read to its end: no terminal, and
// not the null device that programs without an input are given.
func piped(in io.Reader) bool {
	f, ok := in.(*os.File)
	if !ok {
		return in != nil
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&fs.ModeCharDevice == 0
}
