package cli

import (
	"cmp"
	"errors"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// addConfig adds the flag --config to a command.
func (a *app) addConfig(c *cobra.Command) {
	c.Flags().SortFlags = false
	c.Flags().Func("config",
		"`PATH` of a YAML file (default ~/.config/openai-responses-mcp/config.yaml)",
		setOptional(&a.config.Config))
	completeFile(c, "config")
}

// addCommon adds the flags --config, --model, --debug and --offline to a command. --model changes
// the given profile.
func (a *app) addCommon(c *cobra.Command, profile string) {
	a.addConfig(c)
	c.Flags().Func("model", "`ID` of the model, in place of that of the profile "+profile,
		setOptional(&a.config.Model))
	c.Flags().BoolVar(&a.options.Offline, "offline", false,
		"answer from a built-in fake API: no key, no network")
	c.Flags().BoolFunc("debug",
		"log to stderr, and to PATH as well; shows questions and answers",
		setOptional(&a.config.Debug)) // without a value it is "true"
	completeFile(c, "debug")
}

// completeFile makes shells complete the names of files for a flag.
func completeFile(c *cobra.Command, name string) {
	files := cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault)
	_ = c.RegisterFlagCompletionFunc(name, files) // no error: the flag exists
}

// setOptional returns a function that sets *value, which is nil unless the command line has the
// flag.
func setOptional(value **string) func(string) error {
	return func(s string) error {
		*value = &s
		return nil
	}
}

// separator matches what separates two entries of a list: a comma, or blanks of any script.
var separator = text.LazyRegexp(`[\s\pZ]*,[\s\pZ]*|[\s\pZ]+`)

// entries returns the entries of a list. A missing entry beside a comma is "", which the checks of
// values refuse.
func entries(s string) []string {
	return separator().Split(strings.TrimSpace(s), -1)
}

// addList adds a flag that takes a list. If the flag is repeated, it adds further entries.
func addList(flags *pflag.FlagSet, list *[]string, name, usage string) {
	flags.Func(name, usage, func(s string) error {
		*list = append(*list, entries(s)...)
		return nil
	})
}

// addChoice adds a flag with a fixed set of values. usage names the default.
func addChoice(c *cobra.Command, value *string, name, usage string, words ...string) {
	c.Flags().Func(name, usage, func(s string) error {
		if !slices.Contains(words, s) {
			return errors.New("not one of " + strings.Join(words, ", "))
		}
		*value = s
		return nil
	})
	values := cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc(name, values) // no error: the flag exists
}

// keyFlag is the value of a flag that replaces a key of the configuration.
type keyFlag struct {
	keys     map[string]string // config.Flags.Keys
	key, typ string            // typ is a type of package pflag, see expected
}

func (v keyFlag) String() string { return v.keys[v.key] }
func (v keyFlag) Type() string   { return v.typ }

func (v keyFlag) Set(s string) error {
	v.keys[v.key] = s
	return nil
}

// expected has, for a type of package pflag, words for the values that its flags take.
var expected = map[string]string{
	"bool":        "true or false",
	"int":         "a whole number of at least 0, with at most 15 digits",
	"float64":     "an amount from 0 to 1000000, such as 2.50",
	"duration":    "a duration of at least 0, such as 90s or 5m",
	"*netip.Addr": "an IP address, such as 192.0.2.1",
}

// checkedValue is the value of a flag whose errors say what it takes. It reads numbers as decimal:
// package pflag reads 0100 as 64.
type checkedValue struct{ pflag.Value }

func (v checkedValue) Set(s string) error {
	switch v.Type() {
	case "int":
		n, err := strconv.Atoi(s)
		s = strconv.Itoa(n)
		if err != nil || float64(n) > budget.MaxLimit { // an int may have 32 bits
			s = ""
		}
	case "float64":
		n, err := strconv.ParseFloat(s, 64)
		if err != nil || n > budget.MaxUSD || strings.Trim(s, "0123456789.") != "" {
			s = ""
			break
		}
		s = strconv.FormatFloat(n, 'f', -1, 64)
	}

	if s == "" || s[0] == '-' || v.Value.Set(s) != nil {
		return errors.New("must be " + expected[v.Type()])
	}
	return nil
}

// addValueChecks gives each flag of a command, and of the commands below it, a checkedValue.
func addValueChecks(c *cobra.Command) {
	c.InitDefaultHelpFlag()
	c.Flags().VisitAll(func(f *pflag.Flag) {
		if expected[f.Value.Type()] != "" {
			f.Value = checkedValue{f.Value}
		}
	})
	for _, sub := range c.Commands() {
		addValueChecks(sub)
	}
}

// prepareArgs returns args in a form for package cobra, or an error about them. Each of its steps
// is for something that cannot be configured in the packages cobra and pflag:
//
//   - help NAME becomes NAME --help: the help of cobra refuses the flags of NAME.
//   - The command must come first, see orderError: cobra accepts it after flags, too.
//   - A wrong command is reported before wrong flags, which cobra parses first.
//   - A quoted question may begin with -, see markWords: pflag takes it for a flag.
//   - A path may follow --debug, see joinDebug and, for ask, checkDebug: pflag has optional values
//     only after =.
//   - Errors of serve have the format of its log, see parseEarly: cobra stops at the first error.
//   - Completions have no backquotes: cobra shows those that name the value of a flag.
func (a *app) prepareArgs(root *cobra.Command, args []string) ([]string, error) {
	if len(args) > 0 && args[0] == "help" {
		args = append(slices.Clone(args[1:]), "--help")
	}

	c, rest, _ := root.Find(args)
	switch {
	case len(args) == 0 || strings.HasPrefix(args[0], "-"):
		args = joinDebug(args)
		return args, orderError(c, args, rest)
	case strings.HasPrefix(args[0], cobra.ShellCompRequestCmd):
		c, _, _ = root.Find(args[1:])
		c.Flags().VisitAll(func(f *pflag.Flag) { _, f.Usage = pflag.UnquoteUsage(f) })
		return args, nil
	case c.HasSubCommands() && (c == root || !c.Runnable()) && len(rest) > 0 && !strings.HasPrefix(rest[0], "-"):
		return nil, unknownCommand(c, rest[0])
	case takesQuestion(c):
		return markWords(c, args), checkDebug(c, args)
	case c.Name() == "serve":
		a.options.LogFormat = logging.Text
		parseEarly(c.Flags().Lookup("log-format"), args)
	}
	return joinDebug(args), nil
}

// orderError returns an error if the command c comes after flags, and makes the right order the
// hint of later errors. rest are the arguments without the name of c. If joinDebug has joined the
// name to --debug, as in `--debug ask`, it may be meant as a path: then there is no error here.
func orderError(c *cobra.Command, args, rest []string) error {
	root := c.Root()
	if c == root {
		return nil
	}

	right := []string{c.CommandPath()}
	for _, word := range rest {
		right = append(right, clients.ShellWord(word, runtime.GOOS))
	}
	hint := "put the command first: " + strings.Join(right, " ")
	root.Annotations = map[string]string{hintKey: hint}
	if !slices.Contains(args, c.Name()) {
		return nil
	}
	return noWords(root, []string{c.Name()})
}

// hintKey is the annotation of a command with a better hint than its help.
const hintKey = "hint"

// takesQuestion reports whether a command takes a question, by its usage line.
func takesQuestion(c *cobra.Command) bool {
	return strings.Contains(c.Use, "QUESTION")
}

// parseEarly sets one flag from args, even if it follows a wrong flag, at which cobra stops.
func parseEarly(flag *pflag.Flag, args []string) {
	early := pflag.NewFlagSet("", pflag.ContinueOnError)
	early.ParseErrorsAllowlist.UnknownFlags = true
	early.Usage = func() {}
	early.AddFlag(flag)
	_ = early.Parse(args) // cobra reports the error later
}

// wordMark is put before arguments that begin with - but are not flags. No argument of a process
// contains this byte.
const wordMark = "\x00"

// markWords marks quoted questions that begin with - by wordMark: arguments with a blank where a
// flag has its name. The name is the whole argument or, after --, the part before =. The value of a
// flag of c stays as it is.
func markWords(c *cobra.Command, args []string) []string {
	takesNext := func(arg string) bool {
		name, isFlag := strings.CutPrefix(arg, "--")
		f := c.Flags().Lookup(name)
		return isFlag && f != nil && f.NoOptDefVal == ""
	}
	marked := slices.Clone(args)
	for i, arg := range args {
		name := arg
		if strings.HasPrefix(arg, "--") {
			name, _, _ = strings.Cut(arg, "=")
		}
		isWords := strings.HasPrefix(arg, "-") && strings.ContainsFunc(name, unicode.IsSpace)
		if isWords && (i == 0 || !takesNext(args[i-1])) {
			marked[i] = wordMark + arg
		}
	}
	return marked
}

// joinWords returns the question that words are, without marks.
func joinWords(words []string) string {
	return strings.ReplaceAll(strings.Join(words, " "), wordMark, "")
}

// joinDebug turns `--debug PATH` into `--debug=PATH`. An argument that begins with - is the next
// flag, not a path. The result is never nil, as cobra would then use the arguments of the process.
func joinDebug(args []string) []string {
	line := []string{}
	afterDebug := false
	for _, arg := range args {
		if afterDebug && arg != "" && arg[0] != '-' {
			line[len(line)-1] += "=" + arg
		} else {
			line = append(line, arg)
		}
		afterDebug = arg == "--debug"
	}
	return line
}

// pathLike matches a word that looks like a path or a URL, and not like a flag.
var pathLike = text.LazyRegexp(`^([^\s-]\S*)?[/\\]\S*$|^[^\s-]\S*\.(?:log|txt|jsonl?)$`)

// checkDebug returns an error if a path follows --debug in the arguments of ask: the server would
// log to this path, but ask would take it for the question.
func checkDebug(c *cobra.Command, args []string) error {
	if c.Name() != "ask" {
		return nil
	}
	for i, arg := range args {
		if arg == "--" {
			break
		}
		afterDebug := i > 0 && args[i-1] == "--debug"
		if afterDebug && pathLike().MatchString(arg) && !strings.Contains(arg, "://") {
			return usageError(
				"--debug=PATH logs to it; --debug -- ends the flags",
				"%q after --debug looks like a path, not like a question", arg)
		}
	}
	return nil
}

// noWords returns an error if there are arguments that are not flags.
func noWords(c *cobra.Command, words []string) error {
	if len(words) > 0 {
		return usageError(seeHelp(c), "unexpected argument %q", words[0])
	}
	return nil
}

// flagError returns the failure for an error of package pflag.
func flagError(c *cobra.Command, err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if ok {
		// After ", got " the error of an argument repeats the value as JSON.
		cause, _, _ := strings.Cut(invalid.Unwrap().Error(), ", got ")
		return usageError(seeHelp(c), "invalid value %q for --%s: %s",
			invalid.GetValue(), invalid.GetFlag().Name, cause)
	}
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok {
		return usageError(seeHelp(c), "%v", err)
	}

	var known []string
	letters := unknown.GetSpecifiedShortnames() // stdio of -stdio, a flag of earlier versions
	c.Flags().VisitAll(func(f *pflag.Flag) {
		known = append(known, f.Name)
		if f.Shorthand != "" && f.Name[1:] == letters { // pflag has parsed -h of -help
			letters = f.Name
		}
	})
	name := cmp.Or(letters, unknown.GetSpecifiedName())
	nearest := text.Nearest(name, known)
	hint := suggest("--", nearest, seeHelp(c))
	for _, command := range c.Commands() {
		if nearest != name && command.Flags().Lookup(name) != nil {
			hint = "write " + command.CommandPath() + " --" + name + "; " + seeHelp(command)
			break
		}
	}
	if letters == "" {
		return usageError(hint, "unknown flag --%s", unknown.GetSpecifiedName())
	}
	if takesQuestion(c) && nearest == "" {
		hint = "quote a question that has words with -, or put -- before it"
	}
	return usageError(hint, "unknown flag -%s", letters)
}

// suggest returns a hint that begins with the nearest name, if there is one.
func suggest(prefix, nearest, hint string) string {
	if nearest != "" {
		hint = "did you mean " + prefix + nearest + "? " + hint
	}
	return hint
}

// seeHelp returns the hint to read the help of a command, or a better hint (hintKey).
func seeHelp(c *cobra.Command) string {
	return cmp.Or(c.Annotations[hintKey], "see "+c.CommandPath()+" --help")
}

// unknownCommand returns the failure for a command that does not exist. Its hint names the nearest
// command, or ask if name looks like a question. The commands below completion are shells.
func unknownCommand(parent *cobra.Command, name string) error {
	if parent.HasParent() {
		return usageError("write "+parent.UseLine(), "unknown shell %q", name)
	}
	known := []string{"--stdio", "--version"}
	for _, c := range parent.Commands() {
		known = append(known, c.Name())
	}
	hint := suggest("", text.Nearest(name, known), seeHelp(parent))
	if strings.ContainsFunc(name, inQuestion) {
		hint = `questions go to openai-responses-mcp ask "QUESTION"`
	}
	return usageError(hint, "unknown command %q", name)
}

// inQuestion reports whether r can be in a question but not in the name of a command.
func inQuestion(r rune) bool {
	return unicode.IsSpace(r) || r == '?' || r > unicode.MaxASCII
}
