//go:build linux

package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// In a terminal smoke shows a line for each response. The rows of doctor have color, and fit.
func TestTerminal(t *testing.T) {
	const ok = `\x1b\[0;32mok\x1b\[0m    `
	for _, tt := range []struct {
		command string
		columns uint16
		want    string
	}{
		{"smoke", 80, `^initialize +\d+ ms  {"name":.*\r\ntools/list +\d+ ms  \["answer",.*\r\ntools/call`},
		{"doctor", 80, ok + `location {15}search.user_location is .* searches\r\n {29}as if`},
		{"doctor", 40, ok + `version: openai-responses-mcp\r\n {6}\d`},
		{"doctor", 40, `\r\n {6}model_profiles\S+_effort\r\n {6}from ANSWER`},
	} {
		t.Run(fmt.Sprint(tt.command, tt.columns, tt.want), func(t *testing.T) {
			terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			fd := int(terminal.Fd())
			unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
			unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Col: tt.columns})
			n, _ := unix.IoctlGetInt(fd, unix.TIOCGPTN)
			tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				t.Fatal(err)
			}

			alike := []string{"ANSWER_EFFORT=low", "ANSWER_VERBOSITY=low"} // is a warning
			cmd := program(t.TempDir(), append(alike, tt.command, "--offline")...)
			cmd.Stdout = tty
			runErr := cmd.Run()
			tty.Close()
			got, _ := io.ReadAll(terminal) // ends with EIO

			if runErr != nil || !regexp.MustCompile(tt.want).Match(got) {
				t.Errorf("%v, shown are\n%s\nwant %s", runErr, got, tt.want)
			}
		})
	}
}
