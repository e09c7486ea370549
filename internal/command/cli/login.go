package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/terminal"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// loginFlags are the flags of login.
type loginFlags struct {
	*app
	remove bool
}

// loginCommand returns the command login, which stores the API key beside the default
// configuration, or removes it. Desktop programs need a stored key, as they pass on no variables.
func (a *app) loginCommand() *cobra.Command {
	f := &loginFlags{app: a}
	c := &cobra.Command{
		Use:   "login",
		Short: "store the API key, for all clients",
		Long: `Store the API key for programs that pass on no variables, such as clients that are
started from the desktop. It asks in a terminal, without showing the key, or reads a
pipe. The API is asked whether it accepts the key; one that it refuses is not stored.
The server uses the stored key when neither OPENAI_API_KEY nor OPENAI_API_KEY_FILE is
set, and sends it only to the API that login has asked: OPENAI_BASE_URL must be set for
login, too. A running server reads it within a few seconds, without a restart.

The file is beside the default configuration, named after openai.api_key_env:
~/.config/openai-responses-mcp/OPENAI_API_KEY, on Windows in %APPDATA%. Only its owner
can read it. Containers have no home: set OPENAI_API_KEY_FILE there.`,
		Example: `  openai-responses-mcp login
  printenv OPENAI_API_KEY | openai-responses-mcp login`,
		Args: noWords,
		RunE: f.run,
	}

	c.Flags().BoolVar(&f.remove, "remove", false, "delete the stored key")
	f.addConfig(c)
	return c
}

// run stores or removes the key.
func (f *loginFlags) run(c *cobra.Command, _ []string) error {
	s, err := f.loadService()
	if err != nil {
		return err
	}
	defer s.Close()

	path := s.Config.StoredKeyFile
	variable := strings.TrimSuffix(s.Config.CredentialVariable, "_FILE")
	elsewhere := "write the key to a file and set " + variable + "_FILE to its path"
	switch {
	case len(s.Config.DefaultFiles) == 0:
		return &failure{exitFailed, "there is no home directory for the key", elsewhere}
	case f.remove:
		return f.removeKey(s.Config.DefaultKeyFile())
	case path == "":
		return &failure{
			exitFailed,
			"openai.headers replaces the key",
			"set " + variable + ", the variable of the header",
		}
	}

	prompt := s.Advisor.KeySource("API key") + " (" + variable + ", not shown): "
	key, err := f.enterKey(c.Context(), prompt, "copy "+s.Advisor.KeySource("the key alone"))
	state := ""
	if err == nil {
		state, err = f.checkKey(c.Context(), s, key)
	}
	if err != nil {
		return err
	}

	err = config.WriteKeyFile(path, key+"\n"+s.Config.OpenAI.Server()+"\n")
	if err != nil {
		return &failure{exitFailed, "storing the key: " + err.Error(), elsewhere}
	}
	_, err = fmt.Fprintf(f.stdout,
		"stored the key in %s%s\nnext: run %s setup CLIENT to get the entry to paste\n",
		path, state, s.StartCommand)
	f.warn(config.OpenFolderWarning(path))
	if s.Config.CredentialVariable != variable || f.variable(variable) != "" {
		f.warn(s.Config.CredentialVariable + " hides the stored key: unset it to use that one")
	}
	return err
}

// removeKey removes the stored key, if there is one.
func (a *app) removeKey(path string) error {
	done := "removed the key in"
	err := os.Remove(path)
	if config.IsMissing(err) {
		done = "no key is stored in"
		err = nil
	}
	if err == nil {
		_, err = fmt.Fprintln(a.stdout, done, path)
	}
	return err
}

// enterKey reads a key from stdin: a line of a terminal, which does not echo it, or all of a pipe.
// hint is the hint of the error if the input cannot be a key.
func (a *app) enterKey(ctx context.Context, prompt, hint string) (string, error) {
	in := a.stdin
	file, ok := in.(*os.File)
	if ok {
		line, restore, err := terminal.PromptHidden(file, a.stderr, prompt)
		if err != nil {
			return "", err
		}
		defer restore()
		in = line
	}

	key, err := readAll(ctx, in)
	if errors.Is(err, terminal.ErrNothingEntered) {
		return "", &failure{exitInterrupted, "no key was entered", ""}
	}
	if err != nil {
		return "", err
	}
	key = strings.TrimSuffix(strings.TrimSuffix(key, "\n"), "\r")
	key = strings.TrimRight(key, " ") // that of echo KEY | in the Command Prompt of Windows
	flaw := service.KeyFlaw(key)
	switch {
	case key == "":
		return "", &failure{exitFailed, "no key was entered", hint}
	case flaw != "":
		return "", &failure{exitFailed, "this is not a key: " + flaw, hint}
	}
	return key, nil
}

// checkKey asks the API whether it accepts a key. state is words for the user if it does, and the
// error is why it refuses the key. If that stays unknown, checkKey warns, and returns "" and nil.
func (a *app) checkKey(
	ctx context.Context, s *service.Service, key string,
) (state string, err error) {
	a.redactor.Add(key)
	check, refused := doctor.CheckKey(ctx, s, key)
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case refused:
		return "", &failure{exitFailed, check.Text, check.Hint}
	case check.Verdict != "ok":
		a.warn("the key was not checked: " + check.Text)
		return "", nil
	}
	return ", and the API has accepted it", nil
}
