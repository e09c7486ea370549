// Command tag plays what the push of a tag sets off:
//
//	tag REPOSITORY WORK
//
// It runs the steps of .github/workflows/release.yml as they stand there, with
// the real goreleaser and the real gh, in clones of the repository at the tag of
// its version. What they reach is a fake of GitHub on loopback; docker and
// cosign are stand-ins. The jobs are run once as they should go, and once with
// failures and the runs after them.
//
// Each proof is one line; the last line counts them. WORK keeps what the jobs
// left behind.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

// shown is how many lines of a failed proof's output are printed.
const shown = 60

func main() {
	program := filepath.Base(os.Args[0])
	if program == "docker" || program == "cosign" {
		if err := standIn(program, os.Args[1:]); err != nil {
			fmt.Fprintf(os.Stderr, "%s: error: %v\n", program, err)
			os.Exit(1)
		}
		return
	}
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: tag REPOSITORY WORK")
		os.Exit(2)
	}
	if err := run(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "tag: error:", err)
		os.Exit(1)
	}
}

func run(source, work string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var p proofs
	if err := play(ctx, &p, source, work); err != nil {
		return err
	}
	fmt.Printf("%d passed, %d failed\n", p.passed, p.failed)
	if p.failed > 0 {
		return errors.New("not all of it holds")
	}
	return nil
}

// proofs counts, and holds what the one that runs has printed.
type proofs struct {
	passed, failed int
	log            bytes.Buffer
}

// prove prints one line for what f found: its figure, or what is wrong.
func (p *proofs) prove(title string, f func() (figure string, err error)) {
	p.log.Reset()
	begin := time.Now()
	figure, err := f()
	took := time.Since(begin).Round(time.Second)
	if err == nil {
		p.passed++
		fmt.Printf("ok    %s: %s (%s)\n", title, figure, took)
		return
	}
	p.failed++
	fmt.Printf("FAIL  %s: %v (%s)\n", title, err, took)
	lines := strings.Split(strings.TrimSpace(p.log.String()), "\n")
	for _, line := range lines[max(0, len(lines)-shown):] {
		fmt.Println("      " + line)
	}
}
