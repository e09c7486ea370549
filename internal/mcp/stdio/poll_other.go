//go:build !unix

package stdio

import "io"

const pollIn, pollOut = 1, 2

// poll is not available: the first failing write shows that stdout has no reader.
func poll(any, int16) (got int16, ok bool) {
	return 0, false
}

// Unread is not available: it reports false.
func Unread(io.Reader) bool { return false }
