package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// askFlags is the command line of ask.
type askFlags struct {
	*flags
	detailed bool
	quick    bool
	json     bool
	events   bool
	usage    bool
	color    string // auto, always or never
	question answer.Question
}

// ask answers one question on the command line, as the tools do.
func (a *app) ask(ctx context.Context, args []string) error {
	f, err := a.parseAsk(ctx, args)
	if err != nil {
		return err
	}

	screen := a.screen(ctx, f.color, f.json)
	a.stderr = screen // warnings must not run into the status line

	s, err := a.build(f.flags)
	if err != nil {
		return err
	}
	defer s.close()
	q := f.question
	search := s.Config.Search
	if q.OnlyDomains && len(q.Domains)+len(search.Defaults.Domains) == 0 {
		return usageError(f.seeHelp(), "--only-domains needs --domains or search.defaults.domains")
	}
	screen.Configure(slices.Concat(search.BlockedDomains, q.ExcludeDomains), s.Config.Server.Debug)

	ans, err := a.askOnce(ctx, s, f, screen)
	if err == nil {
		err = a.printAnswer(ans, f, screen)
	}
	if err != nil {
		return err
	}
	if f.usage && ans != nil {
		screen.Note(usageLine(ans.Meta))
	}
	if piped(a.stdin) && stdio.Unread(a.stdin) {
		a.warn("stdin was not read: write - after the question to add it as context")
	}
	return nil
}

// screen returns what shows a text in a terminal, unless noText is set.
func (a *app) screen(ctx context.Context, color string, noText bool) *terminal.Screen {
	noColor := a.variable("NO_COLOR") != "" // https://no-color.org
	if color == "auto" && noColor {
		color = "never"
	}
	return terminal.New(ctx, terminal.Options{
		Stdout: a.stdout,
		Stderr: a.stderr,
		Term:   a.variable("TERM"),
		Color:  color,
		NoText: noText,
	})
}

// askOnce asks the question, and shows what happens meanwhile. Some complete responses have no
// answer, and --events does not need one: then it is nil.
func (a *app) askOnce(
	ctx context.Context, s *service, f *askFlags, screen *terminal.Screen,
) (*answer.Answer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // a write would show minutes later that stdout has no reader
		if stdio.WaitGone(ctx, a.stdout) {
			stop(stdio.ErrGone)
		}
	}()

	var done *llm.Done // written with the answer, which follows it
	write := func(data json.RawMessage) {
		err := printJSON(a.stdout, data)
		if err != nil {
			stop(err)
		}
	}
	watch := func(ev llm.Event) {
		end, isDone := ev.(llm.Done)
		if isDone {
			done = &end
		}
		kind := eventType(ev)
		if kind != "" {
			write(line(kind, ev))
		}
	}
	if !f.events {
		watch = screen.Watch
		screen.Refresh()
	}

	limited, cancel := answer.WithTimeout(ctx, s.Config.Timeout())
	defer cancel()
	call := &llm.Call{Tool: f.config.Profile, Sink: watch}
	ans, err := s.answerer.Ask(limited, call, f.question)
	if !f.events {
		screen.Finish(ans)
	}
	if done != nil {
		write(line("done", struct {
			llm.Done
			*answer.Answer // as --json prints it, or nil
		}{*done, ans}))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil, done != nil:
		return ans, nil
	}

	problem, hint := s.Advisor.Advise(f.config.Profile, err)
	if f.events {
		write(a.errorLine(err, problem, hint))
	}
	return nil, &failure{exitFailed, problem, hint}
}

// printAnswer prints an answer that the screen or the events have not shown.
func (a *app) printAnswer(ans *answer.Answer, f *askFlags, screen *terminal.Screen) error {
	if f.events || screen.ShowsText() {
		return nil
	}
	if f.json {
		return printJSON(a.stdout, ans)
	}

	shown := text.Printable(ans.Text) + "\n"
	if f.color == "always" {
		shown = screen.Format(ans)
	}
	_, err := io.WriteString(a.stdout, shown)
	return err
}

// usageLine says what an answer took.
func usageLine(m answer.Meta) string {
	searches := "searches"
	if m.Searches == 1 {
		searches = "search"
	}
	u := m.Usage
	cache := fmt.Sprintf("%d cached", u.Cached)
	if u.CacheWrite > 0 {
		cache += fmt.Sprintf(", %d written to the cache", u.CacheWrite)
	}
	return fmt.Sprintf("usage: %d tokens in (%s), %d out (%d reasoning), %d %s, %.1f s",
		u.Input, cache, u.Output, u.Reasoning, m.Searches, searches, m.Elapsed.Seconds())
}

// parseAsk parses the command line of ask, and reads the question.
func (a *app) parseAsk(ctx context.Context, args []string) (*askFlags, error) {
	f := newAskFlags()
	words, err := f.parse(args)
	if err != nil {
		return nil, err
	}

	path := debugPath(args)
	if path != "" {
		return nil, usageError(
			"--debug=PATH logs to it; --debug -- ends the flags",
			"%q after --debug looks like a path, not like a question", path)
	}
	if f.json && f.events {
		return nil, usageError(f.seeHelp(), "--json and --events exclude each other")
	}
	if f.detailed && f.quick {
		return nil, usageError(f.seeHelp(), "--detailed and --quick exclude each other")
	}

	f.config.Profile = "answer"
	if f.detailed {
		f.config.Profile = "answer_detailed"
	}
	if f.quick {
		f.config.Profile = "answer_quick"
	}
	f.question.Query, err = a.query(ctx, words)
	return f, err
}

// newAskFlags returns the flags of ask.
func newAskFlags() *askFlags {
	f := &askFlags{
		flags: newFlags("ask"),
		color: "auto",
	}
	f.BoolVar(&f.detailed, "detailed", false, "")
	f.BoolVar(&f.quick, "quick", false, "")
	f.BoolVar(&f.json, "json", false, "")
	f.BoolVar(&f.events, "events", false, "")
	f.BoolVar(&f.usage, "usage", false, "")

	f.Func("color", "", oneOf(&f.color, "auto", "always", "never"))

	q := &f.question
	f.Func("recency-days", "", number(&q.RecencyDays, 0, math.MaxFloat64, "a number of at least 0"))
	f.Func("max-results", "", number(&q.MaxResults, 1, 10, "a number from 1 to 10"))
	f.Func("domains", "", hostNames(&q.Domains))
	f.BoolVar(&q.OnlyDomains, "only-domains", false, "")
	f.Func("exclude-domains", "", hostNames(&q.ExcludeDomains))

	return f
}

// hostNames returns the function of a flag that takes host names.
func hostNames(to *[]string) func(string) error {
	return func(list string) error {
		for name := range strings.SplitSeq(list, ",") {
			name = strings.TrimSpace(name)
			if !text.IsHostName(name) {
				return fmt.Errorf("%q is not a host name", name)
			}
			*to = append(*to, name)
		}
		return nil
	}
}

// number returns the function of a flag that takes a number from least to most.
func number(to **float64, least, most float64, want string) func(string) error {
	return func(s string) error {
		n, err := strconv.ParseFloat(s, 64)
		inRange := least <= n && n <= most // NaN is not
		if err != nil || !inRange {
			return errors.New("not " + want)
		}
		*to = &n
		return nil
	}
}
