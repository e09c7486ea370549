//go:build !windows

package terminal

// understandsSequences reports whether the terminal obeys control sequences.
func understandsSequences() bool { return true }
