package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// screen is how the answer is shown to a person; nil when nobody is there. What
// others write to stderr from now on goes through it.
func (a *app) screen(f *asking) *screen {
	stdout, stderr := a.stdout, a.stderr
	_, text := columns(stdout)
	line := a.obeys(stderr)
	if text && (f.json || f.events) {
		a.stdout, text = escaper{stdout}, false
	}
	if f.events || !text && !line {
		return nil
	}
	s := &screen{other: stderr, style: a.variable("NO_COLOR") == ""}
	if text {
		s.text = stdout
		s.style = s.style && a.obeys(stdout)
	}
	if !line {
		return s
	}
	s.line = stderr
	s.width = func() int {
		n, _ := columns(stderr)
		return n
	}
	if !a.debugging(f) { // the debug log wants the terminal itself
		a.stderr = s
	}
	return s
}

// obeys reports whether w is a terminal that carries out control sequences.
func (a *app) obeys(w io.Writer) bool {
	_, ok := columns(w)
	return ok && obeys(w.(*os.File), a.variable("TERM"))
}

// debugging reports what flags and environment say of debug; the rest is known
// when the configuration was read.
func (a *app) debugging(f *asking) bool {
	if f.config.DebugSet {
		return f.config.Debug
	}
	text := a.variable("DEBUG")
	on, _ := config.Debugging(text)
	return on && text != ""
}

// print writes an answer to stdout: its text, or the JSON of spec §3.2. What is
// no terminal is cleaned as well: a pipe or a file ends at one soon enough.
func (a *app) print(ans *answer.Answer, asJSON bool) error {
	if !asJSON {
		_, err := fmt.Fprintln(a.stdout, printable(ans.Text))
		return written(err)
	}
	e := json.NewEncoder(a.stdout)
	e.SetEscapeHTML(false)
	return written(e.Encode(ans))
}

// errWriting marks the errors of written.
var errWriting = errors.New("writing the answer to stdout")

func written(err error) error {
	if err != nil {
		return fmt.Errorf("%w: %w", errWriting, err)
	}
	return nil
}

// printUsage writes what an answer took to stderr, in a line.
func (a *app) printUsage(m answer.Meta) error {
	searches := "searches"
	if m.Searches == 1 {
		searches = "search"
	}
	_, err := fmt.Fprintf(a.stderr, "usage: %d tokens (%d in, %d out), %d %s, %.1f s\n",
		m.Usage.Total, m.Usage.Input, m.Usage.Output, m.Searches, searches, m.Elapsed.Seconds())
	return err
}

// advise makes an error of what went wrong, with the settings of this
// configuration in its hint.
func (w *wiring) advise(err error, profile string) error {
	guide := w.guide()
	text, hint := guide.Advise(profile, err)
	return &hinted{errors.New(w.redact(text)), w.redact(hint)}
}
