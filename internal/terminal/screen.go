package terminal

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// cells measures text. Characters of ambiguous width take one cell, as current
// terminals show them in every locale.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// columns returns the width of the terminal w in cells, or 0 if w is not one.
func columns(w io.Writer) int {
	f, ok := w.(*os.File)
	if !ok || !term.IsTerminal(int(f.Fd())) {
		return 0
	}
	n, _, _ := term.GetSize(int(f.Fd()))
	return cmp.Or(max(n, 0), 80)
}

const redraw = 100 * time.Millisecond // between two updates of the status line

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") // before the status line, in turn

// Screen shows a question in a terminal: blocks of the answer on stdout as soon
// as they are complete, and below them a status line on stderr.
type Screen struct {
	text   io.Writer // nil: it is no terminal
	status io.Writer // nil: no status line
	stderr io.Writer
	plain  bool   // no control sequences: the text as it is
	faint  string // the style of the status line
	width  func() int

	mu       sync.Mutex
	begin    time.Time
	finished bool
	stage    string          // what the call is doing, with the query or URL
	drawn    string          // the status line on the terminal
	message  strings.Builder // the last message of the model
	shown    string          // what of it is on the terminal
	rows     renderer        // of this try
	started  bool            // there is text on the terminal
}

// Options say where a Screen writes and what the terminal understands.
type Options struct {
	Stdout  io.Writer // gets the answer, if it is a terminal
	Stderr  io.Writer // gets the status line, if it is a terminal
	Term    string    // the variable TERM; "dumb" knows no control sequences
	NoColor bool      // the variable NO_COLOR is set (https://no-color.org)
	NoText  bool      // shows the status line only
}

// New returns a Screen.
func New(o Options) *Screen {
	s := &Screen{
		stderr: o.Stderr,
		stage:  "asking",
		faint:  dim,
		begin:  time.Now(),
	}

	dumb := o.Term == "dumb"
	if dumb || o.NoColor || !understandsSequences() {
		s.plain = true
		s.faint = ""
	}

	terminal := o.Stderr
	if columns(o.Stderr) > 0 && !dumb {
		s.status = o.Stderr
	}
	if columns(o.Stdout) > 0 && !o.NoText {
		s.text = o.Stdout
		terminal = o.Stdout
	}
	s.width = func() int { return columns(terminal) }

	return s
}

// Hide stops the Screen from showing anything but notes.
func (s *Screen) Hide() {
	s.text = nil
	s.status = nil
}

// ShowsText reports whether the Screen shows the answer, which it does in a terminal.
func (s *Screen) ShowsText() bool { return s.text != nil }

// Refresh shows what is new, and does so again until the call is finished.
func (s *Screen) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.finished {
		s.blocks()
		s.draw()
		time.AfterFunc(redraw, s.Refresh)
	}
}

// Watch notes what an event means for the screen.
func (s *Screen) Watch(ev llm.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	stage, what := answer.Stage(ev)
	if what != "" {
		stage += ": " + what
	}
	// The API names the query when the search is over, so it stays on the line until the next one.
	if stage != "" && !strings.HasPrefix(s.stage, stage+": ") {
		s.stage = stage
	}
	switch e := ev.(type) {
	case llm.BlockStart:
		if e.Kind == llm.BlockText {
			s.stage = "writing"
			s.print(strings.TrimPrefix(s.written(), s.shown))
			s.message.Reset()
			s.shown = ""
		}
	case llm.BlockDelta:
		s.message.WriteString(e.Text)
	case llm.Retrying:
		s.divide("starting again")
	}
}

// written returns the last message, as the answer has it.
func (s *Screen) written() string { return strings.TrimSpace(cite.Clean(s.message.String())) }

// blocks shows those that are complete. A list of sources at the end is shown
// with the titles and dates of the citations, which come last.
func (s *Screen) blocks() {
	all := s.written()
	limit, _ := cite.SourcesAt(all)
	for strings.HasPrefix(all, s.shown) {
		begin := len(s.shown)
		end := begin + blockEnd(all[begin:])
		if end == len(all) || end > limit {
			return
		}
		s.print(all[begin:end])
		s.shown = all[:end]
	}
}

// Finish removes the status line, and shows the rest of the answer and its
// sources. ans is nil if the call has failed: then it shows what there is.
func (s *Screen) Finish(ans *answer.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.finished = true
	s.replace("")
	if s.text == nil {
		return
	}
	if ans == nil {
		ans = &answer.Answer{Text: s.written()}
	}
	// The answer has the last message, with others before it or without.
	rest := ans.Text
	if at := strings.Index(rest, s.written()); at >= 0 {
		rest = strings.TrimPrefix(rest[at:], s.shown)
	} else {
		s.divide("the answer")
	}
	at, closing := cite.SourcesAt(rest)
	if s.plain || !closing {
		at = len(rest)
	}
	s.print(rest[:at])
	for _, c := range append(ans.Citations, cite.Listed(rest[at:])...) {
		s.rows.cite(c)
	}
	if len(s.rows.sources) > 0 && !s.plain {
		line, _, _ := strings.Cut(rest[at:], "\n")
		heading := cmp.Or(strings.Trim(line, "#*_:： \t\r"), "Sources")
		s.write(s.rows.sourceRows(heading+":", s.width()))
	}
}

// divide separates the text so far, if any, from what follows it.
func (s *Screen) divide(words string) {
	if s.started {
		s.print("--- " + words + " ---")
	}
	s.message.Reset()
	s.shown, s.rows = "", renderer{}
}

// print shows Markdown.
func (s *Screen) print(body string) {
	body = strings.Trim(body, "\n")
	switch {
	case s.text == nil || body == "":
	case s.plain:
		s.write(text.Printable(body) + "\n")
	default:
		s.write(s.rows.render(body, s.width()))
	}
}

// write writes rows to the terminal, below an empty one.
func (s *Screen) write(rows string) {
	if s.started {
		rows = "\n" + rows
	}
	s.started = true
	s.replace("")
	_, _ = io.WriteString(s.text, rows)
}

// draw shows what the call is doing.
func (s *Screen) draw() {
	age := time.Since(s.begin)
	line := fmt.Sprintf("%v %s", age.Truncate(time.Second), s.stage)
	if !s.plain {
		line = string(spinner[int(age/redraw)%len(spinner)]) + " " + line
	}
	s.replace(cells.Truncate(line, s.width()-3, "…"))
}

// replace replaces the status line, and the ^C that a terminal may have written after it. It works
// in every terminal.
func (s *Screen) replace(line string) {
	if s.status != nil && line != s.drawn {
		blank := strings.Repeat(" ", cells.StringWidth(s.drawn)+2)
		_, _ = io.WriteString(s.status, "\r"+blank+"\r"+in(s.faint, line).paint())
		s.drawn = line
	}
}

// Note shows a line on stderr below the answer.
func (s *Screen) Note(line string) {
	if s.status != nil {
		r := renderer{width: s.width()}
		r.wrap(in(s.faint, line))
		line = strings.TrimSuffix(r.out.String(), "\n")
	}
	fmt.Fprintln(s.stderr, line)
}

// Write writes to stderr what others write while the screen is shown, such as warnings of the log.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.replace("")
	return s.stderr.Write(p)
}
