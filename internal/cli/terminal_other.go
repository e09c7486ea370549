//go:build !windows

package cli

import "os"

// enableSequences is for Windows: other terminals carry out control sequences.
func enableSequences(*os.File) bool { return true }
