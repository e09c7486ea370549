//go:build !unix

package stdio

import "io"

const pollIn, pollOut = 1, 2

// poll always returns false, because poll(2) is not available: only a failing write shows that
// stdout has no reader.
func poll(any, int16) (occurred int16, ok bool) {
	return 0, false
}

// HasInput always returns false: it is not available on this system.
func HasInput(io.Reader) bool { return false }
