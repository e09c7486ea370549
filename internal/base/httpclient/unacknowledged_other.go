//go:build !linux && !darwin

package httpclient

// limitUnacknowledged does nothing: Windows gives up after some 20 s by itself.
func limitUnacknowledged(uintptr) {}
