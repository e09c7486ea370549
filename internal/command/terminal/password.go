package terminal

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrNoPassword is the error of a password that a person has not entered, but pressed Ctrl-C, which
// is no signal in raw mode.
var ErrNoPassword = errors.New("nothing was entered")

// Password asks for a line in a terminal, which echoes nothing from before the prompt until restore
// is called. Other files are read as they are. What follows the line, as in a paste of several
// lines, is read, too.
func Password(in *os.File, out io.Writer, prompt string) (r io.Reader, restore func(), err error) {
	terminal := int(in.Fd()) // -1 for nil
	if !term.IsTerminal(terminal) {
		return in, func() {}, nil
	}
	echoing, err := term.MakeRaw(terminal)
	if err != nil {
		return nil, nil, err
	}

	typed := &strings.Builder{}
	screen := struct {
		io.Reader
		io.Writer
	}{io.TeeReader(in, typed), out}
	r, w := io.Pipe()
	go func() {
		s, err := term.NewTerminal(screen, "").ReadPassword(prompt)
		if err != nil {
			err = ErrNoPassword
		}
		_, more, _ := strings.Cut(typed.String(), "\r")
		_, _ = io.WriteString(w, s+"\n"+strings.TrimSpace(more))
		w.CloseWithError(err)
	}()
	return r, func() { _ = term.Restore(terminal, echoing) }, nil
}
