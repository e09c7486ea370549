// Package main_test runs the real program, as its users get it, against an API
// of its own. Nothing in here calls into the program: what it tests goes
// through the command line, the environment, the pipes and the exit code.
//
//	main_test.go          builds the program
//	process_test.go       a running program and the far end of its pipes
//	wire_test.go          the two framings, read strictly
//	client_test.go        a process in a test: environment, API, what must never happen
//	script_test.go        the commands of testdata/script
//	terminal_test.go      a question at a terminal, and its screen
//	conversation_test.go  the language of the scripts' `mcp` command
//
// The other files are the tests, by subject.
package main_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"testing"
)

// key is the API key of all tests. It must turn up in no output.
const key = "sk-canary-Zq7XbT0wPl94mKfR"

// binary is the program under test; TestMain builds it.
var binary string

func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == saveEnviron {
		os.Exit(environ(os.Args[2]))
	}
	if len(os.Args) > 2 && os.Args[1] == runCommand {
		os.Exit(runner(os.Args[2:]))
	}
	os.Exit(testMain(m))
}

func testMain(m *testing.M) int {
	dir, err := os.MkdirTemp("", "openai-responses-mcp-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	binary = filepath.Join(dir, "openai-responses-mcp")
	if runtime.GOOS == "windows" {
		binary += ".exe"
	}
	if out, err := build().CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "building the program: %v\n%s", err, out)
		return 1
	}
	// The tests wait for a program much more than they work.
	flag.Parse()
	if n := runtime.GOMAXPROCS(0); flag.Lookup("test.parallel").Value.String() == strconv.Itoa(n) {
		if err := flag.Set("test.parallel", strconv.Itoa(3*n)); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
	}
	return m.Run()
}

// build is the command that makes the binary: a release, or one that reports
// data races.
func build() *exec.Cmd {
	if raced {
		return exec.Command("go", "build", "-race", "-o", binary, ".")
	}
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	return cmd
}

// TestLooksAtSources looks at every folder that the program is built from: the
// go command keeps the results of a package's tests until a file changes that
// they have looked at, and does not see what another go command reads.
func TestLooksAtSources(t *testing.T) {
	for _, folder := range []string{".", "../../internal"} {
		err := filepath.WalkDir(filepath.FromSlash(folder), func(_ string, _ fs.DirEntry, err error) error { return err })
		if err != nil {
			t.Error(err)
		}
	}
}
