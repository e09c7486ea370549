package cli

import (
	"context"
	"embed"
	"errors"
	"flag"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// flags are the flags of a command.
type flags struct {
	*flag.FlagSet
	config  config.Flags
	offline bool
	keyless bool // smoke: offline when there is no key
	show    bool // --show-config alone, whose JSON has the warnings

	refusalTime time.Duration // of llm.Options
}

// newConfigFlag returns the flags of a command that takes --config only.
func newConfigFlag(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // report prints the errors
	f.Func("config", "", given(&f.config.Config))
	return f
}

// newFlags returns the flags --config, --model, --debug and --offline.
func newFlags(name string) *flags {
	f := newConfigFlag(name)
	f.Func("model", "", given(&f.config.Model))
	f.BoolFunc("debug", "", given(&f.config.Debug)) // "true" without a value
	f.BoolVar(&f.offline, "offline", false, "")
	return f
}

// given sets a flag of the configuration.
func given(value **string) func(string) error {
	return func(s string) error {
		*value = &s
		return nil
	}
}

// oneOf sets a flag that takes one of some words.
func oneOf(value *string, words ...string) func(string) error {
	return func(s string) error {
		if !slices.Contains(words, s) {
			return errors.New("not one of " + strings.Join(words, ", "))
		}
		*value = s
		return nil
	}
}

// joinDebug turns `--debug PATH` into `--debug=PATH`: package flag has no
// optional values. An argument that begins with - is the next flag.
func joinDebug(args []string) (joined []string) {
	afterDebug := false
	for _, arg := range args {
		isValue := arg != "" && arg[0] != '-'
		if afterDebug && isValue {
			joined[len(joined)-1] += "=" + arg
		} else {
			joined = append(joined, arg)
		}
		afterDebug = arg == "--debug" || arg == "-debug"
	}
	return joined
}

// parse parses flags before and after the other arguments, which it returns. After the first of
// them only -- begins a flag, so that a question may contain -l. A -- alone ends the flags.
func (f *flags) parse(args []string) (words []string, err error) {
	for len(args) > 0 {
		err := f.Parse(args)
		if errors.Is(err, flag.ErrHelp) {
			return nil, err
		}
		if err != nil {
			return nil, usageError(f.hint(err), "%s", dashes.Replace(err.Error()))
		}

		rest := f.Args()
		parsed := len(args) - len(rest)
		if parsed > 0 && args[parsed-1] == "--" {
			return append(words, rest...), nil
		}

		for len(rest) > 0 && !strings.HasPrefix(rest[0], "--") {
			words = append(words, rest[0])
			rest = rest[1:]
		}
		args = rest
	}
	return words, nil
}

// parseAll parses the flags of a command that takes no other arguments.
func (f *flags) parseAll(args []string) error {
	words, err := f.parse(joinDebug(args))
	if len(words) > 0 {
		err = usageError(f.seeHelp(), "unexpected argument %q", words[0])
	}
	return err
}

// dashes are the places where package flag names a flag with one dash.
var dashes = strings.NewReplacer(
	"flag provided but not defined: -", "unknown flag --",
	" argument: -", " argument: --",
	" for flag -", " for --",
	" for -", " for --",
)

// hint is what to do about an error of Parse.
func (f *flags) hint(err error) string {
	var names []string
	f.VisitAll(func(known *flag.Flag) { names = append(names, known.Name) })
	unknown := strings.TrimPrefix(err.Error(), "flag provided but not defined: -")
	return suggest("--", text.Nearest(unknown, names), f.seeHelp())
}

// suggest puts the nearest name, if there is one, before a hint.
func suggest(prefix, nearest, hint string) string {
	if nearest != "" {
		hint = "did you mean " + prefix + nearest + "? " + hint
	}
	return hint
}

// seeHelp is the hint that leads to the usage text.
func (f *flags) seeHelp() string {
	command := strings.TrimSpace(version.Name + " " + f.Name())
	return "see " + command + " --help"
}

// unknownCommand says that there is no such command, and names the nearest, or ask for what looks
// like a question.
func (a *app) unknownCommand(name string) error {
	known := append(slices.Sorted(maps.Keys(a.commands())), "--version")
	hint := suggest("", text.Nearest(name, known), "see openai-responses-mcp --help")
	if strings.ContainsFunc(name, inQuestion) {
		hint = `questions go to openai-responses-mcp ask "QUESTION"`
	}
	return usageError(hint, "unknown command %q", name)
}

// inQuestion reports whether questions have r and names of commands have not.
func inQuestion(r rune) bool {
	return unicode.IsSpace(r) || r == '?' || r > unicode.MaxASCII
}

//go:embed usage*.txt
var usages embed.FS

// help prints the usage text of the command that args name.
func (a *app) help(ctx context.Context, args []string) error {
	return a.run(ctx, append(args, "--help"))
}

// usage prints the usage text of a command, or of the program for "", to stdout: it was asked for.
func (a *app) usage(command string) error {
	name := strings.TrimSuffix("usage_"+command, "_") + ".txt"
	b, _ := usages.ReadFile(name) // each command has one
	_, err := a.stdout.Write(b)
	return err
}
