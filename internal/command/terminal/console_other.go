//go:build !windows

package terminal

// enableSequences returns true: terminals obey control sequences.
func enableSequences() bool { return true }
