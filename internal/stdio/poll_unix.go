//go:build unix

package stdio

import (
	"os"

	"golang.org/x/sys/unix"
)

const pollIn, pollOut = unix.POLLIN, unix.POLLOUT

// poll waits up to a second for events on f (poll(2)) and returns those that occurred. ok is
// false if f is not an open file.
func poll(f any, events int16) (got int16, ok bool) {
	file, ok := f.(*os.File)
	if !ok {
		return 0, false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return 0, false
	}
	err = conn.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd), Events: events}}
		if _, err := unix.Poll(p, 1000); err == nil { // else a signal arrived
			got = p[0].Revents
		}
	})
	return got, err == nil
}
