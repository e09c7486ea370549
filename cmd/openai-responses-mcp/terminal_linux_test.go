package main

import (
	"fmt"
	"io"
	"os"
	"regexp"
	"testing"

	"golang.org/x/sys/unix"
)

// In a terminal smoke shows a line for each response, and doctor has color.
func TestTerminal(t *testing.T) {
	for command, want := range map[string]string{
		"smoke":  `(?s)^initialize +\d+ ms  {"name":.*\ntools/list +\d+ ms  \["answer",.*\ntools/call `,
		"doctor": `(?m)^\x1b\[0;32mok\x1b\[0m    version `,
	} {
		t.Run(command, func(t *testing.T) {
			terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				t.Fatal(err)
			}
			defer terminal.Close()
			fd := int(terminal.Fd())
			unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
			n, _ := unix.IoctlGetInt(fd, unix.TIOCGPTN)
			tty, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				t.Fatal(err)
			}

			cmd := program(t.TempDir(), command, "--offline")
			cmd.Stdout = tty
			runErr := cmd.Run()
			tty.Close()
			got, _ := io.ReadAll(terminal) // ends with EIO

			if runErr != nil || !regexp.MustCompile(want).Match(got) {
				t.Errorf("%v, shown are\n%s\nwant %s", runErr, got, want)
			}
		})
	}
}
