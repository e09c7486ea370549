package terminal

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console interpret control sequences, and reports whether it does.
func enableSequences() bool {
	for _, f := range []*os.File{os.Stdout, os.Stderr} {
		var mode uint32
		console := windows.Handle(f.Fd())
		err := windows.GetConsoleMode(console, &mode)
		if err != nil { // f is no console
			continue
		}

		mode |= windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING
		err = windows.SetConsoleMode(console, mode)
		if err != nil {
			return false
		}
	}
	return true
}
