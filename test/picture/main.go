// Picture draws docs/images/ask.svg: `ask` in a terminal, as the program that
// stands here shows it. The picture follows the reader's light or dark scheme.
//
//	go run ./test/picture           draws it
//	go run ./test/picture --check   fails when it is not what would be drawn
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/test/pty"
)

const (
	picture  = "docs/images/ask.svg"
	name     = "openai-responses-mcp"
	question = "What is the weather in Tokyo today?"
)

func main() {
	check := flag.Bool("check", false, "do not write, compare")
	flag.Parse()
	if err := run(context.Background(), *check); err != nil {
		fmt.Fprintln(os.Stderr, "picture:", err)
		os.Exit(1)
	}
}

// run draws the picture, or checks it, from the root of the repository.
func run(ctx context.Context, check bool) error {
	shown, err := ask(ctx)
	if err != nil {
		return err
	}
	svg := draw(fmt.Sprintf("$ %s ask --offline --usage %q\n%s$ ", name, question, shown))
	if !check {
		return os.WriteFile(picture, []byte(svg), 0o644)
	}
	old, err := os.ReadFile(picture)
	if err != nil {
		return err
	}
	if steady(string(old)) != steady(svg) {
		return fmt.Errorf("%s is not what ask shows now: go run ./test/picture", picture)
	}
	return nil
}

// steady takes out what is another at each run: dates and what was used.
func steady(svg string) string {
	return regexp.MustCompile(`\d{4}-\d\d-\d\d|usage: [^<]*`).ReplaceAllString(svg, "")
}

// ask returns what stands on the terminal of a user who has asked.
func ask(ctx context.Context) (string, error) {
	dir, err := os.MkdirTemp("", "picture-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, name)
	if out, err := exec.CommandContext(ctx, "go", "build", "-o", binary, "./cmd/"+name).CombinedOutput(); err != nil {
		return "", fmt.Errorf("building the program: %w\n%s", err, out)
	}
	person, program, err := pty.Open(columns, 24)
	if err != nil {
		return "", err
	}
	defer person.Close()
	cmd := exec.CommandContext(ctx, binary, "ask", "--offline", "--usage", question)
	cmd.Env = []string{"HOME=" + dir, "TERM=xterm-256color"}
	cmd.Stdout, cmd.Stderr = program, program
	err = cmd.Start()
	_ = program.Close()
	if err != nil {
		return "", fmt.Errorf("starting the program: %w", err)
	}
	screen := pty.NewScreen()
	_, _ = io.Copy(screen, person) // ends with EIO when the program has gone
	if err := cmd.Wait(); err != nil {
		return "", fmt.Errorf("asking: %w\n%s", err, screen)
	}
	if f := screen.Foreign(); len(f) > 0 {
		return "", errors.New("sequences that the picture cannot show: " + strings.Join(f, " "))
	}
	return screen.String(), nil
}
