package httpclient

import "golang.org/x/sys/unix"

// limitUnacknowledged ends a connection whose bytes are not acknowledged for maxUnacknowledged.
// Linux would send them again for a quarter of an hour.
func limitUnacknowledged(fd uintptr) {
	ms := int(maxUnacknowledged.Milliseconds())
	_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, ms)
}
