package httpclient

import "golang.org/x/sys/unix"

// limitUnacknowledged ends a connection whose bytes are not acknowledged for maxUnacknowledged.
// macOS would send them again for minutes.
func limitUnacknowledged(fd uintptr) {
	seconds := int(maxUnacknowledged.Seconds())
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_RXT_CONNDROPTIME, seconds)
}
