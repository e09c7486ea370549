// Picture draws docs/images/ask.svg: what ask shows in a terminal while it searches and when it has
// answered. The answer is testdata, served by the fake API. Run it on Linux, from the root of the
// repository:
//
//	go run ./test/picture
//
// The terminal comes from script, a program of util-linux.
package main

import (
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

const (
	picture  = "docs/images/ask.svg"
	program  = "openai-responses-mcp"
	question = "When was HTTP/3 published, and as which RFC?"
	steps    = "slow=60ms+delay=500ms+file=test/picture/answer.json"
)

func main() {
	log.SetFlags(0)
	err := os.WriteFile(picture, []byte(draw(session())), 0o644)
	if err != nil {
		log.Fatal(err)
	}
}

// session returns the lines of the terminal.
func session() []string {
	api := must(apitest.Start("always", steps))
	defer api.Close()
	dir := must(os.MkdirTemp("", "picture-"))
	defer os.RemoveAll(dir)
	must(exec.Command("go", "build", "-o", dir, "./cmd/"+program).Output())

	ask := fmt.Sprintf("%s ask %q", program, question)
	during, after := "", ""
	for i := 0; i < 20 && during == ""; i++ { // a busy machine may not show the search
		during, after = frames(record(dir, api.URL, ask))
	}

	lines := []string{"\x1b[1m$ " + ask + "\x1b[0m", during, ""}
	return append(lines, strings.Split(after+"$", "\n")...)
}

// record runs a command in a terminal, with the program of folder dir, and returns what it writes.
func record(dir, base, command string) string {
	inTerminal := fmt.Sprintf("stty cols %d -onlcr; %s", columns, command)
	cmd := exec.Command("script", "-qec", inTerminal, "/dev/null")
	cmd.Env = []string{ // not that of the developer, which may have NO_COLOR
		"HOME=" + dir,
		"PATH=" + dir + string(filepath.ListSeparator) + os.Getenv("PATH"),
		"TERM=xterm-256color",
		"OPENAI_API_KEY=picture",
		"OPENAI_BASE_URL=" + base,
	}
	return string(must(cmd.Output()))
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatalf("picture: %v", err)
	}
	return v
}

// frames returns the status line with the query of the search, and what the terminal shows at the
// end. A carriage return begins a row again.
func frames(out string) (during, after string) {
	for line := range strings.SplitSeq(out, "\n") {
		states := strings.Split(line, "\r")
		for _, state := range states {
			if strings.Contains(state, "searching: ") {
				during = state
			}
		}
		after += states[len(states)-1] + "\n"
	}
	return during, strings.TrimSuffix(after, "\n")
}

// The size of the picture, in pixels except for the columns.
const (
	columns    = 92
	width      = 2*margin + columns*843/100 // common monospaced fonts of 14 px
	lineHeight = 21
	margin     = 20
	bar        = 36 // with the title
)

const head = `<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]d" viewBox="0 0 %[1]d %[2]d" role="img">
  <title>A sample of openai-responses-mcp ask in a terminal: the status line during the search, then the answer with its sources</title>
  <style>
    .window { fill: #ffffff; stroke: #d0d7de; }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre; }
    .bold { font-weight: bold; }
    .italic { font-style: italic; }
    .underlined { text-decoration: underline; }
    .faint { fill: #59636e; }
    .cyan { fill: #1b7c83; }
    .blue { fill: #0969da; }
    circle, line { fill: #d0d7de; stroke: #d0d7de; }
    @media (prefers-color-scheme: dark) {
      .window { fill: #0d1117; stroke: #3d444d; }
      text { fill: #e6edf3; }
      .faint { fill: #9198a1; }
      .cyan { fill: #39c5cf; }
      .blue { fill: #58a6ff; }
      circle, line { fill: #3d444d; stroke: #3d444d; }
    }
  </style>
  <rect class="window" x="0.5" y="0.5" width="%[3]d" height="%[4]d" rx="8"/>
  <circle cx="22" cy="18" r="6"/>
  <circle cx="42" cy="18" r="6"/>
  <circle cx="62" cy="18" r="6"/>
  <text class="faint" x="82" y="23">a sample: the answer was written by hand</text>
`

// draw returns the picture of a terminal with these lines. The first empty line separates the two
// frames.
func draw(lines []string) string {
	height := bar + len(lines)*lineHeight + margin
	var svg strings.Builder
	fmt.Fprintf(&svg, head, width, height, width-1, height-1)

	divider := slices.Index(lines, "")
	for i, line := range lines {
		y := bar + lineHeight*i + 22
		switch {
		case i == divider:
			fmt.Fprintf(&svg, `  <line x1="%d" x2="%d" y1="%[3]d" y2="%[3]d"/>`+"\n",
				margin, width-margin, y-5)
		case line != "":
			fmt.Fprintf(&svg, `  <text x="%d" y="%d" xml:space="preserve">%s</text>`+"\n",
				margin, y, spans(line))
		}
	}
	return svg.String() + "</svg>\n"
}

// classes are the styles of the picture, by the parameter of the control sequence SGR.
var classes = map[string]string{
	"1":  "bold",
	"2":  "faint",
	"3":  "italic",
	"4":  "underlined",
	"36": "cyan",
	"94": "blue",
}

// sequence matches a control sequence: SGR, or OSC 8 with the URL of a link, or without one at its
// end.
var sequence = regexp.MustCompile("\x1b\\[([0-9;]*)m|\x1b\\]8;;([^\x1b]*)\x1b\\\\")

// spans returns a line with its control sequences as SVG. A span is in those that began before it.
// Links are around spans, which end where a link begins or ends, and begin again.
func spans(line string) string {
	begun := ""
	return sequence.ReplaceAllStringFunc(html.EscapeString(line), func(s string) string {
		found := sequence.FindStringSubmatch(s)
		end := strings.Repeat("</tspan>", strings.Count(begun, "<"))
		switch {
		case found[2] != "":
			return end + `<a href="` + found[2] + `">` + begun
		case found[1] == "":
			return end + "</a>" + begun
		}

		begun = ""
		for code := range strings.SplitSeq(found[1], ";") {
			if code != "0" { // which begins each
				begun += fmt.Sprintf(`<tspan class="%s">`, classes[code])
			}
		}
		return end + begun
	})
}
