package cli

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/smoke"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
)

// smokeFlags are the flags of smoke.
type smokeFlags struct {
	*app
	lines  bool
	tool   string
	ping   bool
	cancel bool
}

// smokeCommand returns the command smoke, which runs a session as an MCP client does (spec §10). It
// uses the offline API if there is no key.
func (a *app) smokeCommand() *cobra.Command {
	f := &smokeFlags{app: a, tool: call.DefaultTool}
	c := &cobra.Command{
		Use:   "smoke [flags] [QUESTION...]",
		Short: "test the server as a client does, with one question",
		Long: `Run a session with the server, as a client does: send it initialize, tools/list and
tools/call, print each response on a line, and the verdict on stderr. A terminal shows
what each response has; a pipe gets the JSON. Without a key it uses the offline API.`,
		Example: `  openai-responses-mcp smoke
  openai-responses-mcp smoke --offline --tool answer_quick --cancel`,
		RunE: f.run,
	}

	tools := call.MapTools(func(t call.Tool) string { return t.Name })
	flags := c.Flags()
	flags.BoolVar(&f.lines, "ldjson", false,
		"one JSON value a line instead of Content-Length framing")
	addChoice(c, &f.tool, "tool", "`NAME` of the tool: "+strings.Join(tools, ", "), tools...)
	flags.BoolVar(&f.ping, "ping", false, "also send a ping")
	flags.BoolVar(&f.cancel, "cancel", false,
		"also cancel a call, which must then stay silent")
	f.addCommon(c, "of the tool")
	return c
}

// run prints each response on a line of stdout, in a terminal only the value at Request.ShownPath,
// and the verdict on stderr.
func (f *smokeFlags) run(c *cobra.Command, words []string) error {
	f.offlineWithoutKey = true
	s, err := f.loadService()
	if err != nil {
		return err
	}
	defer s.Close()

	requests := smoke.OpeningRequests()
	if f.ping {
		requests = append(requests, smoke.Request{
			Method:    "ping",
			Params:    "{}",
			ShownPath: "result",
		})
	}
	query := cmp.Or(joinWords(words), "What does HTTP 404 mean?")
	quoted, _ := json.Marshal(query) // no error: query is a string
	toolCall := smoke.Request{
		Method:    "tools/call",
		Params:    fmt.Sprintf(`{"name":%q,"arguments":{"query":%s}}`, f.tool, quoted),
		ShownPath: "result.content.0.text",
	}
	if f.cancel {
		requests = append(requests, toolCall)
		requests[len(requests)-1].Cancelled = true
	}
	requests = append(requests, toolCall)

	srv := server.New(s.ServerOptions())
	start := time.Now()
	width := terminal.Columns(f.stdout)
	show := func(r smoke.Request) error {
		if width == 0 {
			return printJSON(f.stdout, json.RawMessage(r.Response.Raw))
		}
		ms := time.Since(start).Milliseconds()
		value := text.OneLine(r.Response.Get(r.ShownPath).String())
		line := fmt.Sprintf("%-10s %6d ms  %s", r.Method, ms, value)
		_, err := fmt.Fprintln(f.stdout, text.Truncate(line, width))
		return err
	}
	err = smoke.Run(c.Context(), srv, s.Log, f.lines || s.Config.LineMode, requests, show)
	if err != nil {
		return err
	}
	f.note("smoke passed in %d ms", time.Since(start).Milliseconds())
	return nil
}
