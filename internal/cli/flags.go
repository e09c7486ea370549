package cli

import (
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

//go:embed usage.txt
var usage string

// help prints the usage text. It was asked for, so it goes to stdout.
func (a *app) help() error {
	_, err := io.WriteString(a.stdout, usage)
	return err
}

// flags are what commands take; setup takes config alone.
type flags struct {
	*flag.FlagSet
	config  config.Flags
	offline bool
}

// newConfigFlag declares --config.
func newConfigFlag(name string) *flags {
	f := &flags{FlagSet: flag.NewFlagSet(name, flag.ContinueOnError)}
	f.SetOutput(io.Discard) // report prints
	f.Func("config", "", func(s string) error {
		f.config.Config, f.config.ConfigSet = s, true
		return nil
	})
	return f
}

// newFlags declares all of them.
func newFlags(name string) *flags {
	f := newConfigFlag(name)
	f.Func("model", "", func(s string) error {
		f.config.Model, f.config.ModelSet = s, true
		return nil
	})
	f.Var(debugFlag{&f.config}, "debug", "")
	f.BoolVar(&f.offline, "offline", false, "")
	return f
}

// debugFlag is --debug, --debug=PATH or --debug=false.
type debugFlag struct{ to *config.Flags }

func (d debugFlag) String() string   { return "" }
func (d debugFlag) IsBoolFlag() bool { return true }

func (d debugFlag) Set(s string) error {
	d.to.DebugSet = true
	d.to.Debug, d.to.DebugFile = config.Debugging(s)
	return nil
}

// errHelp says that the usage text was asked for.
var errHelp = errors.New("help")

// parse reads args; what is not a flag is left in f.Args.
func (f *flags) parse(args []string) error {
	err := f.Parse(args)
	switch {
	case err == nil:
		return nil
	case errors.Is(err, flag.ErrHelp):
		return errHelp
	}
	text := err.Error()
	if name, ok := strings.CutPrefix(text, "flag provided but not defined: -"); ok {
		text = "unknown flag --" + strings.TrimPrefix(name, "-")
	}
	text = strings.Replace(text, "flag needs an argument: -", "flag needs an argument: --", 1)
	return &usageError{problem: text, hint: "see --help"}
}

// joinDebug makes one word of `--debug PATH`: the flag package knows no
// optional values. A word that begins with - is the next flag.
func joinDebug(args []string) []string {
	var out []string
	for i := 0; i < len(args); i++ {
		arg := args[i]
		if (arg == "--debug" || arg == "-debug") && i+1 < len(args) && args[i+1] != "" && args[i+1][0] != '-' {
			i++
			arg = fmt.Sprintf("%s=%s", arg, args[i])
		}
		out = append(out, arg)
	}
	return out
}

// parseMixed reads flags before and after the other words, which it returns:
// `setup cursor --via docker` is how people write it.
func (f *flags) parseMixed(args []string) ([]string, error) {
	var words []string
	for {
		if err := f.parse(args); err != nil {
			return nil, err
		}
		args = f.Args()
		if len(args) == 0 {
			return words, nil
		}
		words, args = append(words, args[0]), args[1:]
	}
}
