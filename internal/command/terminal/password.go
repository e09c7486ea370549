package terminal

import (
	"errors"
	"io"
	"os"
	"strings"

	"golang.org/x/term"
)

// ErrNothingEntered is the error if nothing was entered, such as after Ctrl-C, which is no signal
// in raw mode.
var ErrNothingEntered = errors.New("nothing was entered")

// maxTyped is how many characters of a line package term keeps. It drops the others.
const maxTyped = 4096

// PromptHidden asks for a line in a terminal, which echoes nothing from now until restore is
// called. r returns the line and what follows it, as after a paste of several lines. If in is no
// terminal, r is in itself.
func PromptHidden(
	in *os.File, out io.Writer, prompt string,
) (r io.Reader, restore func(), err error) {
	terminal := int(in.Fd())
	if !term.IsTerminal(terminal) {
		return in, func() {}, nil
	}
	oldState, err := term.MakeRaw(terminal)
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
			_, _ = io.WriteString(out, "\r\n") // ends the line of the prompt
			err = ErrNothingEntered
		}
		if len(s) >= maxTyped {
			err = errors.New("too long for a terminal: use a pipe")
		}
		_, more, _ := strings.Cut(typed.String(), "\r")
		_, _ = io.WriteString(w, s+"\n"+strings.TrimSpace(more))
		w.CloseWithError(err)
	}()
	return r, func() { _ = term.Restore(terminal, oldState) }, nil
}
