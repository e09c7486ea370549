//go:build !windows

package cli

// understandsSequences reports whether the terminal obeys control sequences.
func understandsSequences() bool { return true }
