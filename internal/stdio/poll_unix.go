//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

const pollIn, pollOut = unix.POLLIN, unix.POLLOUT

// poll waits up to a second for events on f (poll(2)) and returns those that occurred, or -1 if f is
// not an open file.
func poll(f any, events int16) (got int16) {
	file, ok := f.(*os.File)
	if !ok {
		return -1
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return -1
	}
	err = conn.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		if _, err := unix.Poll(p, 1000); err == nil { // else a signal arrived
			got = p[0].Revents
		}
	})
	if err != nil {
		return -1
	}
	return got
}
