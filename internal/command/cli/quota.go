package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// quotaCommand returns the command quota, which shows what people have used of their quotas, and
// resets it.
func (a *app) quotaCommand() *cobra.Command {
	c := &cobra.Command{
		Use:   "quota [NAME]",
		Short: "show who has used how much of the limits",
		Long: `Show what people have used of the limits of serve, what is left, and when a limit is
whole again. Without NAME these are all people together, and the twenty people who have
used the most. NAME is that of a token, the name or "ISSUER SUB" of a person who signs
in, or user:NAME over stdio.

It reads the store of the limits, Valkey or Redis, that MCP_STORE_URL or
MCP_STORE_URL_FILE names.`,
		Example: `  openai-responses-mcp quota
  openai-responses-mcp quota alice
  openai-responses-mcp quota reset alice`,
		RunE: a.runQuota,
	}
	reset := &cobra.Command{
		Use:   "reset NAME",
		Short: "forget what a person has used",
		Long: `Forget what a person has used, so that the limits are whole again. NAME is as in quota;
one that several people have is an error.`,
		RunE: a.runQuota,
	}
	a.addConfig(c)
	a.addConfig(reset)
	c.AddCommand(reset)
	return c
}

// runQuota shows or, for the command reset, forgets what people have used.
func (a *app) runQuota(c *cobra.Command, words []string) error {
	reset := c.Name() == "reset"
	if reset && len(words) == 0 {
		return usageError(seeHelp(c), "reset needs a NAME")
	}
	s, err := a.loadService()
	if err != nil {
		return err
	}
	defer s.Close()
	store, err := s.ConfiguredStore()
	switch {
	case err != nil:
		return usageError("", "%v", err)
	case store == nil:
		return usageError("set MCP_STORE_URL, or MCP_STORE_URL_FILE, to that of serve",
			"there is no store of the limits: without one each process has its own")
	}

	ctx := c.Context()
	name := strings.Join(words, " ")
	lines := name + " has full limits now\n"
	if reset {
		err = store.Reset(ctx, name)
	} else {
		lines, err = quotaTable(ctx, store, name, s.Config.Location)
	}
	switch {
	case err == nil:
		_, err = io.WriteString(a.stdout, lines)
		return err
	case ctx.Err() != nil:
		return ctx.Err()
	}
	return &failure{exitFailed, err.Error(), store.Hint(ctx, err)}
}

// quotaTable returns a table of what people have used.
func quotaTable(
	ctx context.Context, store *budget.Store, name string, zone *time.Location,
) (string, error) {
	list, err := store.Report(ctx, name)
	switch {
	case err != nil:
		return "", err
	case len(list) == 0 && name == "":
		return "no limit counts any usage now\n", nil
	case len(list) == 0:
		return "no limit counts any usage of this name\n", nil
	}

	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "NAME\tLIMIT\tUSED\tRUNNING\tLEFT\tWHOLE AGAIN (%s)\n", text.Zone(time.Now().In(zone)))
	for _, e := range list {
		unusedAt := e.UnusedAt.In(zone).Format(time.DateOnly + " 15:04")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			cmp.Or(e.Name, "all people"), e.Limit, e.Used, e.Reserved, e.Left, unusedAt)
	}
	w.Flush()
	return table.String(), nil
}
