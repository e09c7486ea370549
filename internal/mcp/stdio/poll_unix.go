//go:build unix

package stdio

import (
	"io"
	"os"
	"runtime"

	"golang.org/x/sys/unix"
)

const pollIn, pollOut = unix.POLLIN, unix.POLLOUT

// withFile calls do with the descriptor of f. It returns false if f is not an open file.
func withFile(f any, do func(fd int)) bool {
	file, ok := f.(*os.File)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	return err == nil && conn.Control(func(fd uintptr) { do(int(fd)) }) == nil
}

// poll waits up to a second for events on f with poll(2), and returns the events that occurred. ok
// is false if f is not an open file.
func poll(f any, events int16) (occurred int16, ok bool) {
	ok = withFile(f, func(fd int) {
		p := []unix.PollFd{{
			Fd:     int32(fd),
			Events: events,
		}}
		if _, err := unix.Poll(p, 1000); err == nil { // else a signal arrived
			occurred = p[0].Revents
		}
	})
	return occurred, ok
}

// Values of FIONREAD for ioctl(2), which x/sys does not define for all systems.
const (
	fionreadLinux = 0x541b
	fionreadBSD   = 0x4004667f
)

// HasInput reports whether r is a file or pipe from which something can be read now.
func HasInput(r io.Reader) bool {
	request := uint(fionreadBSD)
	if runtime.GOOS == "linux" {
		request = fionreadLinux
	}

	n := 0 // bytes that can be read; poll(2) would not tell them from the end of the input
	withFile(r, func(fd int) { n, _ = unix.IoctlGetInt(fd, request) })
	return n > 0
}
