package cli

import (
	"os"

	"golang.org/x/sys/windows"
)

// enableSequences makes the console f carry out control sequences, which
// Windows 10 and later can do.
func enableSequences(f *os.File) bool {
	var mode uint32
	h := windows.Handle(f.Fd())
	if windows.GetConsoleMode(h, &mode) != nil {
		return false
	}
	return windows.SetConsoleMode(h, mode|windows.ENABLE_VIRTUAL_TERMINAL_PROCESSING) == nil
}
