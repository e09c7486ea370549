package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// askFlags are the flags of ask.
type askFlags struct {
	*app
	json   bool
	events bool
	usage  bool
	color  string // auto, always or never

	question answer.Question
}

// eventsPage describes the lines of --events.
const eventsPage = "https://github.com/uchimanajet7/openai-responses-mcp/blob/main/docs/spec.md#14-commands"

// askCommand returns the command ask, which answers one question on the command line, as the tools
// do.
func (a *app) askCommand() *cobra.Command {
	f := &askFlags{app: a, color: "auto"}
	c := &cobra.Command{
		Use:   "ask [flags] QUESTION...",
		Short: "answer a question in the terminal",
		Long: `Answer a question in the terminal, as the tools answer it for a client.

With - in place of the question, or from a pipe without any words, the question is read
from stdin. A - after the question adds stdin to it as context. An empty stdin is an
error. Quote a question that has words with -, or put -- before it, which ends the flags.

A terminal shows the answer as formatted text while it is written: links have the number
of their page in the list of sources at the end. NO_COLOR keeps the layout. A pipe and
TERM=dumb get the text as it is, once it is complete. If that takes more than 2 s,
TERM=dumb gets the line "asking" before it.`,
		Example: `  openai-responses-mcp ask "What changed in the latest Go release?"
  openai-responses-mcp ask --quick --json "Which HTTP status means too many requests?"
  git diff | openai-responses-mcp ask "Does this use deprecated Go APIs?" -`,
		RunE: f.run,
	}

	flags := c.Flags()
	for _, tool := range call.Tools[1:] {
		flags.Bool(tool.Flag, false, "answer as the tool "+tool.Name+" does")
	}
	f.addArguments(flags)
	addChoice(c, &f.color, "color",
		"`WHEN` to color: auto, always (also formats for a pipe, as to less -R) or never (a terminal "+
			"keeps the layout)",
		"auto", "always", "never")
	flags.BoolVar(&f.json, "json", false,
		"print the JSON that the tools return: answer, citations, ...")
	flags.BoolVar(&f.events, "events", false,
		"print what happens as JSON lines, the answer in the last one: "+eventsPage)
	flags.BoolVar(&f.usage, "usage", false, "print tokens, searches and seconds on stderr")
	f.addCommon(c, "of the tool")
	return c
}

// addArguments adds a flag for each argument of the tools except the question.
func (f *askFlags) addArguments(flags *pflag.FlagSet) {
	for _, arg := range answer.Arguments[1:] {
		add := flags.Func
		if arg.Type() == "boolean" {
			add = flags.BoolFunc
		}
		name, usage := arg.Flag()
		add(name, usage, func(s string) error {
			var given any = s
			if arg.Type() == "array" {
				given = entries(s)
			}
			quoted, _ := jsonx.Marshal(given) // no error: given consists of strings
			return arg.Set(&f.question, gjson.ParseBytes(quoted), true)
		})
	}
}

// tool returns the tool that the flags name, whose profile answers.
func (f *askFlags) tool(c *cobra.Command) (chosen call.Tool, err error) {
	chosen = call.Tools[0]
	for _, tool := range call.Tools[1:] {
		set, _ := c.Flags().GetBool(tool.Flag) // no error: the flag exists
		if set && chosen.Flag != "" {
			return chosen, usageError(seeHelp(c), "--%s and --%s exclude each other",
				chosen.Flag, tool.Flag)
		}
		if set {
			chosen = tool
		}
	}
	return chosen, nil
}

// run answers the question.
func (f *askFlags) run(c *cobra.Command, words []string) error {
	ctx := c.Context()
	if f.json && f.events {
		return usageError(seeHelp(c), "--json and --events exclude each other")
	}
	tool, err := f.tool(c)
	if err != nil {
		return err
	}
	f.config.Tool = tool.Name
	f.question.Query, err = f.query(ctx, words)
	if err != nil {
		return err
	}

	screen := f.screen(ctx, f.color, f.json)
	a := *f.app
	a.stderr = screen // warnings must not run into the status line
	f.app = &a

	s, err := f.loadService()
	if err != nil {
		return err
	}
	defer s.Close()
	if f.question.Check(s.Profiles[tool.Name].Defaults) != nil { // Check has only this error
		return usageError(seeHelp(c), "--only-domains needs --domains or search.defaults.domains")
	}
	blocked := s.Profiles[tool.Name].Search.AllBlockedDomains(f.question.ExcludeDomains)
	screen.Configure(blocked, s.Config.Server.Debug)

	ans, err := f.askOnce(ctx, s, screen)
	if err == nil {
		err = f.printAnswer(ans, screen)
	}
	if err != nil {
		return err
	}
	if f.usage {
		screen.Note(usageLine(ans.Meta))
	}
	if isPiped(f.stdin) && stdio.HasInput(f.stdin) {
		f.warn("stdin was not read: write - after the question to add it as context")
	}
	return nil
}

// screen returns a Screen for stdout and stderr. color is the value of --color. With noText it
// shows no text, only the status line.
func (a *app) screen(ctx context.Context, color string, noText bool) *terminal.Screen {
	if color == "auto" && a.variable("NO_COLOR") != "" { // https://no-color.org
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

// askOnce asks the question, and shows what happens until it is answered.
func (f *askFlags) askOnce(
	ctx context.Context, s *service.Service, screen *terminal.Screen,
) (*answer.Answer, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	go func() { // otherwise only a write, minutes later, would show that stdout has no reader
		if stdio.WaitReaderGone(ctx, f.stdout) {
			stop(stdio.ErrReaderGone)
		}
	}()

	var done call.Done // written later, together with the answer
	write := func(data json.RawMessage) {
		err := printJSON(f.stdout, data)
		if err != nil {
			stop(err)
		}
	}
	sink := func(ev call.Event) {
		end, ok := ev.(call.Done)
		if ok {
			done = end
		}
		if ev.EventType() != "" {
			write(eventLine(ev.EventType(), ev))
		}
	}
	if !f.events {
		sink = screen.AddEvent
		screen.StartRefreshing()
	}

	limited, cancel := call.WithTimeout(ctx, s.Config.Timeout())
	defer cancel()
	c := &call.Call{Tool: f.config.Tool, Sink: sink}
	ans, err := s.Answerer.Ask(limited, c, f.question)
	if !f.events {
		screen.Finish(ans)
	}
	if f.events && err == nil {
		write(eventLine("done", struct {
			call.Done
			*answer.Answer // its members, as --json prints them
		}{done, ans}))
	}
	switch {
	case ctx.Err() != nil:
		return nil, context.Cause(ctx)
	case err == nil:
		return ans, nil
	}

	problem, hint := s.Advisor.Advise(f.config.Tool, err)
	if f.events {
		write(f.errorLine(err, problem, hint))
	}
	return nil, &failure{exitFailed, problem, hint}
}

// printAnswer prints an answer, unless the screen or the events have shown it.
func (f *askFlags) printAnswer(ans *answer.Answer, screen *terminal.Screen) error {
	if f.events || screen.ShowsText() {
		return nil
	}
	if f.json {
		return printJSON(f.stdout, ans)
	}

	output := text.Printable(ans.Text) + "\n"
	if f.color == "always" {
		output = screen.FinishToString(ans)
	}
	_, err := io.WriteString(f.stdout, output)
	return err
}

// usageLine returns the line of --usage: tokens, searches, seconds and cost of an answer.
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
	cost := ""
	if m.Cost != nil {
		cost = fmt.Sprintf(", %v USD", call.RoundUSD(*m.Cost))
	}
	return fmt.Sprintf("usage: %d tokens in (%s), %d out (%d reasoning), %d %s, %.1f s%s",
		u.Input, cache, u.Output, u.Reasoning, m.Searches, searches, m.Elapsed.Seconds(), cost)
}
