// Command manual writes the manual pages and the completions of a release, which follow from the
// commands and their flags.
//
//	go run ./packaging/manual -out bin/manual -time 1767323045
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
)

func main() {
	out := flag.String("out", "bin/manual", "folder for the files, in man and completion")
	seconds := flag.Int64("time", 0, "date of the pages, in seconds since 1970")
	flag.Parse()
	err := write(*out, time.Unix(*seconds, 0).UTC())
	if err != nil {
		fmt.Fprintln(os.Stderr, "manual: error:", err)
		os.Exit(1)
	}
}

// write replaces the folder out.
func write(out string, date time.Time) error {
	man := filepath.Join(out, "man")
	scripts := filepath.Join(out, "completion")
	err := os.RemoveAll(out)
	for _, folder := range []string{man, scripts} {
		err = cmp.Or(err, os.MkdirAll(folder, 0o755))
	}
	if err != nil {
		return err
	}

	root := cli.Command()
	root.DisableAutoGenTag = true // which has the time of the run
	root.Use = strings.ReplaceAll(root.Use, "\n  ", paragraph)
	for _, c := range append(root.Commands(), root) {
		c.Long = heading.ReplaceAllStringFunc(c.Long, func(s string) string {
			return "# " + strings.ToUpper(strings.TrimSuffix(s, ":"))
		})
		if c != root {
			merge(c)
		}
		c.LocalFlags().VisitAll(nameValue)
	}
	script := filepath.Join(scripts, version.Name)
	err = cmp.Or(
		root.GenBashCompletionFileV2(script+".bash", true),
		root.GenZshCompletionFile(script+".zsh"),
		root.GenFishCompletionFile(script+".fish", true),
		root.GenPowerShellCompletionFileWithDesc(script+".ps1"),
		doc.GenManTree(root, &doc.GenManHeader{
			Section: "1",
			Date:    &date,
			Source:  version.Name + " " + version.Version,
			Manual:  "User Commands",
		}, man),
	)
	if err != nil {
		return err
	}
	return eachFile(man, arrange)
}

// paragraph is what stands between two lines of a synopsis, each of which is bold.
const paragraph = "**\n\n**"

// heading matches the title of a section in the text of a command.
var heading = regexp.MustCompile(`(?m)^[A-Z][a-z ]+:$`)

// quotedName matches the name of a value in quotes.
var quotedName = regexp.MustCompile(`="([A-Z]+)"`)

// eachFile replaces the text of each file of a folder.
func eachFile(folder string, change func(string) string) error {
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	for _, file := range files {
		data, readErr := os.ReadFile(file)
		changed := change(string(data))
		err = cmp.Or(err, readErr, os.WriteFile(file, []byte(changed), 0o644))
	}
	return err
}

// arrange puts the sections of a page into the usual order, with the options before the others of
// the text. A flag without a value has none, and the name of a value has no quotes.
func arrange(page string) string {
	page = strings.NewReplacer("[=false]", "", "[=]", "").Replace(page)
	page = quotedName.ReplaceAllString(page, "=$1")
	sections := strings.SplitAfter(page, "\n.SH ")
	i := slices.IndexFunc(sections, func(s string) bool { return strings.HasPrefix(s, "OPTIONS") })
	const description = 3 // after the head, the name and the synopsis
	if i > description {
		options := sections[i]
		sections = slices.Insert(slices.Delete(sections, i, i+1), description+1, options)
	}
	return strings.Join(sections, "")
}

// merge puts the commands below a command, such as the shells of completion, into the page of the
// command: each command that the help of the program lists has one page.
func merge(c *cobra.Command) {
	for _, sub := range c.Commands() {
		c.Long += "\n\n### " + sub.CommandPath() + "\n\n" + sub.Long
		if c.Runnable() { // the line of completion names its shells
			c.Use += " [flags]" + paragraph + sub.CommandPath() + strings.TrimPrefix(sub.Use, sub.Name()) +
				" [flags]"
		}
		c.Flags().AddFlagSet(sub.Flags())
		c.RemoveCommand(sub)
	}
	c.Run = func(*cobra.Command, []string) {} // without one there is no page
}

// nameValue makes the manual page show the name of the value of a flag, and the default after its
// text, as the help does.
func nameValue(f *pflag.Flag) {
	name, usage := pflag.UnquoteUsage(f)
	f.Usage = usage
	switch {
	case f.Name == "debug":
		f.DefValue = "PATH" // which it may have
	case name != "": // a flag that takes a value
		if !slices.Contains([]string{"", "0", "[]"}, f.DefValue) {
			f.Usage += " (default " + f.DefValue + ")"
		}
		f.DefValue = name
	}
}
