package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// quotaFlags are the flags of quota.
type quotaFlags struct{ commonFlags }

// quotaCommand returns the command quota, which shows what people have used of their quotas, and
// resets it.
func (a *app) quotaCommand() *cobra.Command {
	f := &quotaFlags{}
	f.app = a
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
		Args: cobra.ArbitraryArgs,
		RunE: f.show,
	}
	reset := &cobra.Command{
		Use:   "reset NAME",
		Short: "forget what a person has used",
		Long: `Forget what a person has used, so that the limits are whole again. NAME is as in quota;
one that several people have is an error.`,
		Args: cobra.ArbitraryArgs,
		RunE: f.reset,
	}
	f.addConfig(c)
	f.addConfig(reset)
	c.AddCommand(reset)
	return c
}

// store returns the store of the limits and its service, which the caller closes unless there is an
// error.
func (f *quotaFlags) store() (*service.Service, *service.ConfiguredStore, error) {
	s, err := f.loadService()
	if err != nil {
		return nil, nil, err
	}
	store, err := s.ConfiguredStore()
	switch {
	case err != nil:
		err = usageError("", "%v", err)
	case store == nil:
		err = usageError("set MCP_STORE_URL, or MCP_STORE_URL_FILE, to that of serve",
			"there is no store of the limits: without one each process has its own")
	}
	if err != nil {
		s.Close()
	}
	return s, store, err
}

// show prints what people have used.
func (f *quotaFlags) show(c *cobra.Command, words []string) error {
	s, store, err := f.store()
	if err != nil {
		return err
	}
	defer s.Close()
	name := strings.Join(words, " ")
	list, err := store.Report(c.Context(), name)
	if err != nil {
		return storeError(c.Context(), store, err)
	}
	if len(list) == 0 {
		line := "nobody has used anything, as far as a limit counts it"
		if name != "" {
			line = "nobody of this name has used anything, as far as a limit counts it"
		}
		_, err = fmt.Fprintln(f.stdout, line)
		return err
	}

	w := tabwriter.NewWriter(f.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "NAME\tLIMIT\tUSED\tRUNNING\tLEFT\tWHOLE AGAIN (%s)\n", s.Config.Location)
	for _, e := range list {
		unusedAt := e.UnusedAt.In(s.Config.Location).Format(time.DateOnly + " 15:04")
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\n",
			cmp.Or(e.Name, "all people"), e.Limit, e.Used, e.Reserved, e.Left, unusedAt)
	}
	return w.Flush()
}

// storeError returns the failure for an error of the store.
func storeError(ctx context.Context, store *service.ConfiguredStore, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return &failure{exitFailed, err.Error(), store.Hint(ctx, err)}
}

// reset forgets what a person has used.
func (f *quotaFlags) reset(c *cobra.Command, words []string) error {
	if len(words) == 0 {
		return usageError(seeHelp(c), "reset needs a NAME")
	}
	s, store, err := f.store()
	if err != nil {
		return err
	}
	defer s.Close()
	name := strings.Join(words, " ")
	err = store.Reset(c.Context(), name)
	if err != nil {
		return storeError(c.Context(), store, err)
	}
	_, err = fmt.Fprintf(f.stdout, "%s has full limits now\n", name)
	return err
}
