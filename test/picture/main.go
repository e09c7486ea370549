// Picture draws docs/images/ask.svg: what ask shows in a terminal while it
// searches and when it has answered. The answer is testdata, served by the fake
// API. Run it on Linux, from the root of the repository:
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
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

const (
	picture  = "docs/images/ask.svg"
	program  = "openai-responses-mcp"
	question = "When was HTTP/3 published, and as which RFC?"
	steps    = "slow=60ms+delay=500ms+file=test/picture/answer.json"
)

func main() {
	log.SetFlags(0)
	api := fakeapi.New(fakeapi.Options{})
	api.Always(must(fakeapi.ParseStep(steps)))
	base, stop, err := api.Listen()
	dir := must(os.MkdirTemp("", "picture-"))
	must(base, err)
	must(exec.Command("go", "build", "-o", dir, "./cmd/"+program).Output())
	ask := fmt.Sprintf("%s ask --usage %q", program, question)
	cmd := exec.Command("script", "-qec", fmt.Sprintf("stty cols %d -onlcr; %s", columns, ask), "/dev/null")
	cmd.Env = append(os.Environ(), "HOME="+dir, "PATH="+dir+string(filepath.ListSeparator)+os.Getenv("PATH"),
		"TERM=xterm-256color", "OPENAI_API_KEY=picture", "OPENAI_BASE_URL="+base)
	during, after := frames(string(must(cmd.Output())))
	svg := draw(append([]string{"$ " + ask, during, ""}, strings.Split("$ "+ask+"\n"+after+"$ ", "\n")...))
	must(dir, os.WriteFile(picture, []byte(svg), 0o644))
	must(dir, os.RemoveAll(dir))
	stop()
}

func must[T any](v T, err error) T {
	if err != nil {
		log.Fatalf("picture: %v", err)
	}
	return v
}

// status is the status line and what erases it.
var status = regexp.MustCompile(`([^\r\n]*)\r *\r`)

// frames returns the status line with the query of the search, and what the
// terminal shows at the end.
func frames(out string) (during, after string) {
	for _, m := range status.FindAllStringSubmatch(out, -1) {
		if strings.Contains(m[1], "searching: ") {
			during = m[1]
		}
	}
	return during, status.ReplaceAllString(out, "")
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
  <title>openai-responses-mcp ask in a terminal: the status line during the search, then the answer with its sources</title>
  <style>
    .window { fill: #ffffff; stroke: #d0d7de; }
    text { font: 14px ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; fill: #1f2328; white-space: pre; }
    .faint { fill: #59636e; }
    .link { fill: #0969da; }
    .prompt { font-weight: bold; }
    circle, line { fill: #d0d7de; stroke: #d0d7de; }
    @media (prefers-color-scheme: dark) {
      .window { fill: #0d1117; stroke: #3d444d; }
      text { fill: #e6edf3; }
      .faint { fill: #9198a1; }
      .link { fill: #58a6ff; }
      circle, line { fill: #3d444d; stroke: #3d444d; }
    }
  </style>
  <rect class="window" x="0.5" y="0.5" width="%[3]d" height="%[4]d" rx="8"/>
  <circle cx="22" cy="18" r="6"/>
  <circle cx="42" cy="18" r="6"/>
  <circle cx="62" cy="18" r="6"/>
`

// draw returns the picture of a terminal with these lines. The first empty line
// separates the two frames.
func draw(lines []string) string {
	height := bar + len(lines)*lineHeight + margin
	var b strings.Builder
	fmt.Fprintf(&b, head, width, height, width-1, height-1)
	divided := false
	for i, line := range lines {
		y := bar + lineHeight*i + 22
		switch {
		case line == "" && !divided:
			divided = true
			fmt.Fprintf(&b, `  <line x1="%d" x2="%d" y1="%[3]d" y2="%[3]d"/>`+"\n", margin, width-margin, y-5)
		case line != "":
			fmt.Fprintf(&b, `  <text class="%s" x="%d" y="%d" xml:space="preserve">%s</text>`+"\n", class(line), margin, y, html.EscapeString(line))
		}
	}
	return b.String() + "</svg>\n"
}

// class says how a line looks.
func class(line string) string {
	switch {
	case strings.HasPrefix(line, "$"):
		return "prompt"
	case strings.HasPrefix(line, "usage: "), strings.Contains(line, "searching: "):
		return "faint"
	case strings.Contains(line, " — https://"):
		return "link"
	}
	return "text"
}
