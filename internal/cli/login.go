package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// login stores the API key beside the default configuration, or removes it. Desktop programs pass on
// no variables.
func (a *app) login(ctx context.Context, args []string) error {
	f := newConfigFlag("login")
	remove := f.Bool("remove", false, "")
	err := f.parseAll(args)
	if err != nil {
		return err
	}
	s, err := a.build(f)
	if err != nil {
		return err
	}
	defer s.close()

	path := s.Config.StoredKey
	variable := strings.TrimSuffix(s.Config.KeyEnv, "_FILE")
	elsewhere := "write the key to a file and set " + variable + "_FILE to its path"
	switch {
	case path == "" && len(s.Config.DefaultFiles) == 0:
		return &failure{exitFailed, "there is no home directory for the key", elsewhere}
	case path == "":
		return &failure{
			exitFailed,
			"openai.headers replaces the key",
			"set " + variable + ", the variable of the header",
		}
	case *remove:
		return a.removeKey(path)
	}

	key, err := a.enterKey(ctx, s.Advisor.KeyOfAPI("API key")+" ("+variable+", not shown): ")
	state := ""
	if err == nil {
		state, err = a.checkKey(ctx, s, key)
	}
	if err != nil {
		return err
	}

	err = store(path, key+"\n")
	if err != nil {
		return &failure{exitFailed, "storing the key: " + err.Error(), elsewhere}
	}
	_, err = fmt.Fprintf(a.stdout, "stored the key in %s%s\nnext: %s setup prints the entry of a client\n",
		path, state, a.command())
	if s.Config.KeyEnv != variable || a.variable(variable) != "" {
		a.warn(s.Config.KeyEnv + " hides the stored key: unset it to use that one")
	}
	return err
}

// removeKey removes the stored key, if there is one.
func (a *app) removeKey(path string) error {
	done := "removed the key in"
	err := os.Remove(path)
	if errors.Is(err, fs.ErrNotExist) {
		done = "no key is stored in"
		err = nil
	}
	if err == nil {
		_, err = fmt.Fprintln(a.stdout, done, path)
	}
	return err
}

// enterKey reads a key from a terminal, which echoes nothing from before the prompt to the end, or
// all of a pipe.
func (a *app) enterKey(ctx context.Context, prompt string) (string, error) {
	in, _ := a.stdin.(*os.File)
	terminal := int(in.Fd()) // -1 for nil
	if term.IsTerminal(terminal) {
		echoing, err := term.MakeRaw(terminal)
		if err != nil {
			return "", err
		}
		defer func() { _ = term.Restore(terminal, echoing) }()

		typed := &strings.Builder{}
		screen := struct {
			io.Reader
			io.Writer
		}{io.TeeReader(in, typed), a.stderr}
		line, w := io.Pipe()
		a.stdin = line
		go func() {
			s, err := term.NewTerminal(screen, "").ReadPassword(prompt)
			if err != nil { // Ctrl-C is no signal in raw mode
				err = &failure{exitInterrupted, "no key was entered", ""}
			}
			_, more, _ := strings.Cut(typed.String(), "\r") // of a paste with several lines
			_, _ = io.WriteString(w, s+"\n"+strings.TrimSpace(more))
			w.CloseWithError(err)
		}()
	}

	key, err := a.readStdin(ctx)
	if err != nil {
		return "", err
	}
	key = strings.TrimSuffix(strings.TrimSuffix(key, "\n"), "\r")
	flaw := keyFlaw(key)
	if flaw != "" {
		return "", &failure{exitFailed, "this is not a key: " + flaw, "enter the key alone"}
	}
	return key, nil
}

// checkKey returns that the API has accepted a key, or why it refuses it. Without an answer of the API
// it warns.
func (a *app) checkKey(ctx context.Context, s *service, key string) (state string, err error) {
	a.redactor.Add(key)
	s.Config.KeySet = true
	s.Client.APIKey = key
	check, refused := doctor.CheckKey(ctx, doctor.Options{Backend: s.Backend})
	switch {
	case ctx.Err() != nil:
		return "", ctx.Err()
	case refused:
		return "", &failure{exitFailed, check.Text, "enter a complete and current key"}
	case check.Verdict != "ok":
		a.warn("the key was not checked: " + check.Text)
		return "", nil
	}
	return ", and the API has accepted it", nil
}

// store writes a file that only the user can read, in place of an older one. Until it is complete it
// is next to its folder, so that a killed login leaves nothing in it; or in the folder, if that is a
// mount point.
func store(path, data string) error {
	folder := filepath.Dir(path)
	err := os.MkdirAll(folder, 0o700)
	if err != nil {
		return err
	}

	for _, place := range []string{folder, path} {
		err = storeBeside(place, path, data)
		if err == nil {
			return nil
		}
	}
	return err
}

// storeBeside writes a new file next to a place, which no one else can have prepared, and moves it to
// path.
func storeBeside(place, path, data string) error {
	temporary, err := os.CreateTemp(filepath.Dir(place), filepath.Base(place)+"-*") // mode 0600
	if err != nil {
		return err
	}
	_, err = temporary.WriteString(data)
	err = cmp.Or(err, temporary.Close())
	if err == nil {
		err = os.Rename(temporary.Name(), path)
	}
	if err != nil {
		_ = os.Remove(temporary.Name())
	}
	return err
}

// loginCommand is the command line that stores the key which the server uses, or "" if that key is
// elsewhere.
func (a *app) loginCommand(cfg *config.Config) string {
	if !cfg.KeyStored() {
		return ""
	}
	return a.command() + " login"
}

// command is how the program is started. npx and npm leave no command behind.
func (a *app) command() string {
	if strings.Contains(a.variable("npm_lifecycle_script"), version.Name) {
		return "npx -y " + version.Name + "@" + version.Version // not a local package
	}
	return version.Name
}
