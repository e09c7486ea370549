// Package terminal shows a question and its answer in a terminal, and the report of doctor.
//
//	screen.go     the status line, and the answer while it is written
//	markdown.go   Markdown as blocks, and limits for the parser
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
	redrawInterval = 100 * time.Millisecond // between two updates of the status line
	dumbLineDelay  = 2 * time.Second        // until a terminal without a status line gets a line
	defaultWidth   = 80
	manySources    = 500 // sources that are listed after an interrupt
	maxStage       = 500 // characters of a query or URL in the status line
)

var spinner = []rune("⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏") // shown in turn before the status line

// Screen shows a question in a terminal: blocks of the answer on stdout as soon as they are
// complete, and a status line below them on stderr.
//
// Text is written to the terminal only after the status line has been removed. The methods that run
// while the call does (StartRefreshing, AddEvent, Finish and Write) lock mu, and the unexported
// methods that they call expect that mu is held. The result of written begins with shown, unless
// markers of the API were cut out of the shown text later.
type Screen struct {
	stdout    io.Writer
	stderr    io.Writer
	showsText bool // the answer is shown on stdout
	hasStatus bool // the status line is shown on stderr
	lacksLine bool // stderr is a terminal without control sequences that has not got its line yet
	mono      bool // no control sequences
	width     func() int

	// interrupted reports whether the call has been interrupted. Then a rest of the text of more
	// than maxBlock bytes is not shown, and at most manySources sources are.
	interrupted func() bool

	mu       sync.Mutex
	begin    time.Time
	finished bool
	stage    string          // what the call is doing, with the query or URL
	drawn    string          // the status line that is on the terminal
	message  strings.Builder // the last message of the model
	shown    string          // the part of message that is on the terminal
	previous string          // the message before, or a part of the same one
	layout   renderer        // lays out the answer of this attempt
	hasText  bool            // there is text on the terminal
}

// Options are where a Screen writes, and what the terminal understands.
type Options struct {
	Stdout io.Writer // gets the answer, if it is a terminal
	Stderr io.Writer // gets the status line, if it is a terminal
	Term   string    // the variable TERM; "dumb" understands no control sequences
	Color  string    // "always": Term does not matter; "never": no control sequences
	NoText bool      // only the status line is shown
}

// New returns a Screen for a call that is interrupted by the end of ctx.
func New(ctx context.Context, o Options) *Screen {
	hasSequences := o.Term != "dumb" && enableSequences()
	formats := hasSequences || o.Color == "always"
	onStderr := Columns(o.Stderr) > 0

	return &Screen{
		stdout:    o.Stdout,
		stderr:    o.Stderr,
		showsText: Columns(o.Stdout) > 0 && formats && !o.NoText,
		hasStatus: onStderr && hasSequences,
		lacksLine: onStderr && !hasSequences,
		mono:      o.Color == "never",
		stage:     "asking",
		begin:     time.Now(),
		width: func() int {
			return cmp.Or(Columns(o.Stdout), Columns(o.Stderr), defaultWidth)
		},
		interrupted: func() bool {
			return ctx.Err() != nil
		},
	}
}

// Columns returns the width of the terminal w in cells, or 0 if w is no terminal.
func Columns(w io.Writer) int {
	f, _ := w.(*os.File)
	n, _, err := term.GetSize(int(f.Fd())) // -1 for nil
	if err != nil {
		return 0
	}
	return cmp.Or(n, defaultWidth)
}

// Configure keeps pages of the blocked domains out of the list of sources. With debug the Screen
// shows only notes, because the log on stderr shows everything.
func (s *Screen) Configure(blocked []string, debug bool) {
	s.layout.sources.blocked = cite.NewDomainSet(blocked)
	if debug {
		s.showsText = false
		s.hasStatus = false
		s.lacksLine = false
	}
}

// ShowsText reports whether the Screen shows the answer: stdout is a terminal that understands
// control sequences, unless the options say otherwise.
func (s *Screen) ShowsText() bool {
	return s.showsText
}

// StartRefreshing shows new blocks and updates the status line, and again every 100 ms
// (redrawInterval), until Finish.
func (s *Screen) StartRefreshing() {
	s.mu.Lock()
	defer s.mu.Unlock()

	if s.finished {
		return
	}
	s.showBlocks()
	s.drawStatus()
	if s.lacksLine && time.Since(s.begin) > dumbLineDelay {
		fmt.Fprintln(s.stderr, cells.Truncate(s.stage, s.width()-1, "…"))
		s.lacksLine = false
	}
	time.AfterFunc(redrawInterval, s.StartRefreshing)
}

// AddEvent is the sink of the call's events. It notes them for the next refresh.
func (s *Screen) AddEvent(ev call.Event) {
	s.mu.Lock()
	defer s.mu.Unlock()

	stage, detail := answer.Stage(ev)
	if detail != "" {
		stage += ": " + text.Truncate(detail, maxStage)
	}
	// The API names the query only when the search is over. So a stage without a query does not
	// replace the same stage with a query.
	if stage != "" && !strings.HasPrefix(s.stage, stage+": ") {
		s.stage = stage
	}

	switch e := ev.(type) {
	case call.BlockStart:
		if e.Kind == call.BlockText {
			s.showMarkdown(strings.TrimPrefix(s.written(), s.shown))
			s.previous = s.written()
			s.message.Reset()
			s.shown = ""
		}
	case call.BlockDelta:
		s.message.WriteString(e.Text)
		if e.Text != "" {
			s.stage = "writing" // ends the stage of reconnecting, too
		}
	case call.Retrying:
		s.divide("starting again")
	}
}

// Finish removes the status line, and shows the rest of the answer and its sources. ans is nil if
// the call has failed: then Finish shows the text that has come so far.
func (s *Screen) Finish(ans *answer.Answer) {
	s.mu.Lock()
	defer s.mu.Unlock()

	s.finished = true
	s.replaceStatus("")
	if !s.showsText {
		return
	}
	if ans == nil {
		ans = &answer.Answer{Text: s.written()}
		s.layout.sources.cut = strings.TrimRight(ans.Text, cite.Punctuation)
	}

	// The answer usually contains the last message, perhaps after other messages.
	before, after, found := strings.Cut(ans.Text, s.written())
	isMessage := before == "" || strings.HasSuffix(before, "\n\n")
	isPart := s.previous != "" && strings.HasSuffix(strings.TrimSpace(before), s.previous)
	found = found && (isMessage || isPart) // else these are words inside a text
	rest := strings.TrimPrefix(s.written()+after, s.shown)
	if !found {
		s.divide("the answer")
		rest = ans.Text
	}

	var names []string
	for _, c := range ans.Citations {
		if !c.IsPage() {
			names = append(names, c.URL)
		}
	}
	doc := cite.NewDocument(rest, names...)
	end := len(rest)
	if doc.EndsWithDatedList && !doc.ListSaysMore(strings.TrimSuffix(ans.Text, rest[doc.ListStart:])) {
		end = doc.ListStart
	}
	s.showMarkdown(rest[:end])
	if s.hasText && s.interrupted() {
		s.write(styledText(dim, "interrupted").paint() + "\n")
	}
	s.showSources(ans, rest[end:])
}

// FinishToString returns an answer as a terminal shows it. The Screen must not have shown a part of
// it.
func (s *Screen) FinishToString(ans *answer.Answer) string {
	var out strings.Builder
	s.stdout = &out
	s.showsText = true
	s.startAgain()
	s.Finish(ans)
	return out.String()
}

// showSources shows the list of sources: the pages that the text links to, the citations, and the
// pages of ownList. ownList is the list of sources at the end of the answer's text, or "".
func (s *Screen) showSources(ans *answer.Answer, ownList string) {
	r := &s.layout
	pages := &r.sources
	for _, c := range ans.Citations {
		pages.add(c)
	}
	for _, c := range cite.NewDocument(ownList).DatedListPages() {
		if pages.page(c.URL) != "" {
			pages.add(c)
		}
	}
	for _, c := range ans.Sources {
		n := pages.numbers[cite.PageKey(c.URL)]
		if n > 0 {
			pages.list[n-1].Title = cmp.Or(c.Title, pages.list[n-1].Title)
		}
	}
	if len(pages.list) == 0 {
		return
	}

	line, _, _ := strings.Cut(ownList, "\n")
	heading := cmp.Or(strings.Trim(line, cite.HeadingMarks), "Sources")
	r.width = s.width()
	r.out.Reset()
	r.paragraph(styledText(bold, heading+":"))

	for i, c := range pages.list {
		if i >= manySources && s.interrupted() {
			break
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.hang(number, func() {
			r.showOrPlain(c.URL, func() {
				r.paragraph(sourceEntry(c))
			})
		})
	}
	s.write(r.out.String())
}

// written returns the last message as it is in the answer: without markers, and without white space
// around it.
func (s *Screen) written() string {
	return strings.TrimSpace(cite.Clean(s.message.String()))
}

// showBlocks shows the blocks of the message that are complete, except a list of sources at its
// end: Finish shows that with the titles and dates of the citations, which come last.
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

// divide separates the text so far, if any, from the text that follows, by a line with words.
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
	s.previous = ""
	s.layout.sources = sources{blocked: s.layout.sources.blocked}
}

// showMarkdown shows a part of the answer, block by block.
func (s *Screen) showMarkdown(body string) {
	for s.showsText && body != "" {
		if len(body) > maxBlock && s.interrupted() {
			return
		}
		end := blockEnd(body)
		s.write(s.layout.render(body[:end], s.width()))
		body = body[end:]
	}
}

// write writes rows to the terminal, below an empty row if there is text above.
func (s *Screen) write(rows string) {
	if rows == "" {
		return
	}
	if s.hasText {
		rows = "\n" + rows
	}

	s.hasText = true
	s.replaceStatus("")
	_, _ = io.WriteString(s.stdout, s.stripIfMono(rows))
}

// stripIfMono returns rows without their control sequences if the Screen is mono, else unchanged.
func (s *Screen) stripIfMono(rows string) string {
	if s.mono {
		return sequences().ReplaceAllString(rows, "")
	}
	return rows
}

// drawStatus shows the status line: what the call is doing, and for how long it has run.
func (s *Screen) drawStatus() {
	age := time.Since(s.begin)
	frame := spinner[int(age/redrawInterval)%len(spinner)]
	line := fmt.Sprintf("%c %v %s", frame, age.Truncate(time.Second), s.stage)
	s.replaceStatus(cells.Truncate(line, s.width()-3, "…"))
}

// replaceStatus replaces the status line, and the ^C that a terminal may have written after it. It
// overwrites them with spaces, which works in every terminal.
func (s *Screen) replaceStatus(line string) {
	if !s.hasStatus || line == s.drawn {
		return
	}
	spaces := strings.Repeat(" ", cells.StringWidth(s.drawn)+2)
	shown := "\r" + spaces + "\r" + styledText(dim, line).paint()
	_, _ = io.WriteString(s.stderr, s.stripIfMono(shown))
	s.drawn = line
}

// Note writes a line to stderr, below the answer.
func (s *Screen) Note(line string) {
	if s.hasStatus {
		line = s.stripIfMono(styledText(dim, line).paint())
	}
	fmt.Fprintln(s.stderr, line)
}

// Write writes to stderr, after it has removed the status line. It is for other output while the
// Screen is in use, such as warnings of the log. Without a status line the call
// goes on if nothing reads stderr.
func (s *Screen) Write(p []byte) (int, error) {
	if s.hasStatus {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.replaceStatus("")
	}
	return s.stderr.Write(p)
}
