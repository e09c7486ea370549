// Package terminal shows a question and its answer in a terminal, and the report of doctor.
//
//	screen.go     the status line, and the answer while it is written
//	markdown.go   Markdown as blocks, and the limits of what is parsed
//	layout.go     blocks as rows
//	table.go      tables as rows
//	inline.go     the text of a block, with its links
//	report.go     the checks of doctor as rows
//	sources.go    the numbers of pages, and the list of sources
//	styled.go     text with styles and links: its width, rows and control sequences
//	password.go   a key that is typed without being shown
//	console_*.go  control sequences in the console of Windows
package terminal

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

const (
	redraw       = 100 * time.Millisecond // between two updates of the status line
	patience     = 2 * time.Second        // until a terminal without a status line gets a line
	defaultWidth = 80
	manySources  = 500 // in a list that an interrupt ends
	maxStage     = 500 // characters of a query or URL in the status line
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") // before the status line, in turn

// Screen shows a question in a terminal: blocks of the answer on stdout as soon
// as they are complete, and below them a status line on stderr.
//
// A text is written to the terminal only after the status line has been removed.
// message begins with shown, unless the API's markers were cut out of it later.
// Exported methods lock mu. The others expect that it is held where calls can run side by side.
type Screen struct {
	stdout io.Writer
	shows  bool      // the answer is shown on stdout
	status io.Writer // nil: no status line
	plain  io.Writer // a terminal without control sequences, until it has its line; else nil
	stderr io.Writer
	mono   bool // no control sequences
	width  func() int

	// interrupted reports whether the call has been interrupted. Then no more than maxBlock bytes
	// and manySources are shown.
	interrupted func() bool

	mu       sync.Mutex
	begin    time.Time
	finished bool
	stage    string          // what the call is doing, with the query or URL
	drawn    string          // the status line on the terminal
	message  strings.Builder // the last message of the model
	shown    string          // what of it is on the terminal
	layout   renderer        // of this attempt
	hasText  bool            // there is text on the terminal
}

// Options say where a Screen writes and what the terminal understands.
type Options struct {
	Stdout io.Writer // gets the answer, if it is a terminal
	Stderr io.Writer // gets the status line, if it is a terminal
	Term   string    // the variable TERM; "dumb" knows no control sequences
	Color  string    // "always": Term does not matter; "never": no control sequences
	NoText bool      // shows the status line only
}

// New returns a Screen for a call that the end of ctx interrupts.
func New(ctx context.Context, o Options) *Screen {
	s := &Screen{
		stdout: o.Stdout,
		stderr: o.Stderr,
		mono:   o.Color == "never",
		stage:  "asking",
		begin:  time.Now(),
		interrupted: func() bool {
			return ctx.Err() != nil
		},
	}

	obeys := o.Term != "dumb" && understandsSequences()
	switch {
	case Columns(o.Stderr) == 0:
	case obeys:
		s.status = o.Stderr
	default:
		s.plain = o.Stderr
	}
	formats := obeys || o.Color == "always"
	s.shows = Columns(o.Stdout) > 0 && formats && !o.NoText
	s.width = func() int {
		return cmp.Or(Columns(o.Stdout), Columns(o.Stderr), defaultWidth)
	}

	return s
}

// Columns returns the width of the terminal w in cells, or 0 if w is not one.
func Columns(w io.Writer) int {
	f, _ := w.(*os.File)
	n, _, err := term.GetSize(int(f.Fd())) // -1 for nil
	if err != nil {
		return 0
	}
	return cmp.Or(n, defaultWidth)
}

// Configure keeps pages of these domains out of the list of sources. In debug, where the log has
// everything, the Screen shows only notes.
func (s *Screen) Configure(blocked []string, debug bool) {
	s.layout.sources.blocked = cite.NewHosts(blocked)
	if debug {
		s.shows = false
		s.status = nil
		s.plain = nil
	}
}

// ShowsText reports whether the Screen shows the answer, which it does in a terminal that
// understands control sequences.
func (s *Screen) ShowsText() bool {
	return s.shows
}

// Refresh shows what is new, and does so again until the call is finished.
func (s *Screen) Refresh() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.finished {
		return
	}
	s.showBlocks()
	s.drawStatus()
	if s.plain != nil && time.Since(s.begin) > patience {
		fmt.Fprintln(s.plain, cells.Truncate(s.stage, s.width()-1, "…"))
		s.plain = nil
	}
	time.AfterFunc(redraw, s.Refresh)
}

// Watch notes what an event means for the screen.
func (s *Screen) Watch(ev call.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()

	stage, what := answer.Stage(ev)
	if what != "" {
		stage += ": " + text.Truncate(what, maxStage)
	}
	// The API names the query when the search is over, so it stays on the line until the next one.
	if stage != "" && !strings.HasPrefix(s.stage, stage+": ") {
		s.stage = stage
	}

	switch e := ev.(type) {
	case call.BlockStart:
		if e.Kind == call.BlockText {
			s.showMarkdown(strings.TrimPrefix(s.written(), s.shown))
			s.message.Reset()
			s.shown = ""
		}
	case call.BlockDelta:
		s.message.WriteString(e.Text)
		if e.Text != "" {
			s.stage = "writing" // also after reconnecting
		}
	case call.Retrying:
		s.divide("starting again")
	}
}

// Finish removes the status line, and shows the rest of the answer and its
// sources. ans is nil if the call has failed: then it shows what there is.
func (s *Screen) Finish(ans *answer.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.finished = true
	s.replaceStatus("")
	if !s.shows {
		return
	}
	if ans == nil {
		ans = &answer.Answer{Text: s.written()}
		s.layout.sources.cut = strings.TrimRight(ans.Text, cite.Punctuation)
	}

	// The answer has the last message, with others before it or without.
	_, after, found := strings.Cut(ans.Text, s.written())
	rest := strings.TrimPrefix(s.written()+after, s.shown)
	if !found {
		s.divide("the answer")
		rest = ans.Text
	}

	doc := cite.NewDocument(rest)
	at := len(rest)
	if doc.Closing {
		at = doc.ListStart
	}
	s.showMarkdown(rest[:at])
	if s.hasText && s.interrupted() {
		s.write(in(dim, "interrupted").paint() + "\n")
	}
	s.showSources(ans, rest[at:])
}

// Format returns an answer as a terminal shows it. The Screen has shown nothing of it.
func (s *Screen) Format(ans *answer.Answer) string {
	var out strings.Builder
	s.stdout = &out
	s.shows = true
	s.startAgain()
	s.Finish(ans)
	return out.String()
}

// showSources shows the list of sources: the pages that the text links to, the citations, and those
// of the answer's own list, if it has one.
func (s *Screen) showSources(ans *answer.Answer, own string) {
	r := &s.layout
	pages := &r.sources
	for _, c := range ans.Citations {
		pages.add(c)
	}
	for _, c := range cite.NewDocument(own).ListedPages() {
		if pages.page(c.URL) != "" {
			pages.add(c)
		}
	}
	for _, c := range ans.Sources {
		n := pages.numbers[cite.PageKey(c.URL)]
		if n > 0 {
			pages.list[n-1].Title = c.Title
		}
	}
	if len(pages.list) == 0 {
		return
	}

	line, _, _ := strings.Cut(own, "\n")
	heading := cmp.Or(strings.Trim(line, cite.Marks), "Sources")
	r.width = s.width()
	r.out.Reset()
	r.paragraph(in(bold, heading+":"))

	for i, c := range pages.list {
		if i >= manySources && s.interrupted() {
			break
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.hang(number, func() {
			r.within(c.URL, func() {
				r.paragraph(sourceEntry(c))
			})
		})
	}
	s.write(r.out.String())
}

// written returns the last message, as the answer has it.
func (s *Screen) written() string {
	return strings.TrimSpace(cite.Clean(s.message.String()))
}

// showBlocks shows those that are complete. A list of sources at the end is shown
// with the titles and dates of the citations, which come last.
func (s *Screen) showBlocks() {
	all := s.written()
	limit := cite.NewDocument(all).ListStart
	for strings.HasPrefix(all, s.shown) && !s.interrupted() {
		begin := len(s.shown)
		end := begin + blockEnd(all[begin:])
		if end == len(all) || end > limit {
			return
		}
		s.showMarkdown(all[begin:end])
		s.shown = all[:end]
	}
}

// divide separates the text so far, if any, from what follows it.
func (s *Screen) divide(words string) {
	if s.hasText {
		s.showMarkdown("--- " + words + " ---")
	}
	s.startAgain()
}

// startAgain forgets the text so far and its pages.
func (s *Screen) startAgain() {
	s.message.Reset()
	s.shown = ""
	s.layout.sources = sources{blocked: s.layout.sources.blocked}
}

// showMarkdown shows a part of the answer, block by block.
func (s *Screen) showMarkdown(body string) {
	for s.shows && body != "" {
		if len(body) > maxBlock && s.interrupted() {
			return
		}
		end := blockEnd(body)
		s.write(s.layout.render(body[:end], s.width()))
		body = body[end:]
	}
}

// write writes rows to the terminal, below an empty one.
func (s *Screen) write(rows string) {
	if rows == "" {
		return
	}
	if s.hasText {
		rows = "\n" + rows
	}

	s.hasText = true
	s.replaceStatus("")
	_, _ = io.WriteString(s.stdout, s.inColor(rows))
}

// inColor returns rows, without control sequences if the Screen has none.
func (s *Screen) inColor(rows string) string {
	if s.mono {
		return sequences().ReplaceAllString(rows, "")
	}
	return rows
}

// drawStatus shows what the call is doing.
func (s *Screen) drawStatus() {
	age := time.Since(s.begin)
	frame := spinner[int(age/redraw)%len(spinner)]
	line := fmt.Sprintf("%c %v %s", frame, age.Truncate(time.Second), s.stage)
	s.replaceStatus(cells.Truncate(line, s.width()-3, "…"))
}

// replaceStatus replaces the status line, and the ^C that a terminal may have written after it. It
// works in every terminal.
func (s *Screen) replaceStatus(line string) {
	if s.status == nil || line == s.drawn {
		return
	}
	spaces := strings.Repeat(" ", cells.StringWidth(s.drawn)+2)
	shown := "\r" + spaces + "\r" + in(dim, line).paint()
	_, _ = io.WriteString(s.status, s.inColor(shown))
	s.drawn = line
}

// Note shows a line on stderr below the answer.
func (s *Screen) Note(line string) {
	if s.status != nil {
		line = s.inColor(in(dim, line).paint())
	}
	fmt.Fprintln(s.stderr, line)
}

// Write writes to stderr what others write while the screen is shown, such as warnings of the log.
func (s *Screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.replaceStatus("")
	return s.stderr.Write(p)
}
