//go:build unix

package stdio

import (
	"io"
	"os"
	"runtime"

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

// FIONREAD of ioctl(2), which x/sys does not have for all systems.
const (
	fionreadLinux = 0x541b
	fionreadBSD   = 0x4004667f
)

// Unread reports whether r is a file or pipe from which something can be read now.
func Unread(r io.Reader) bool {
	file, ok := r.(*os.File)
	if !ok {
		return false
	}
	conn, err := file.SyscallConn()
	if err != nil {
		return false
	}

	n := 0 // bytes: poll(2) also reports the end
	err = conn.Control(func(fd uintptr) {
		if runtime.GOOS == "linux" {
			n, _ = unix.IoctlGetInt(int(fd), fionreadLinux)
		} else {
			n, _ = unix.IoctlGetInt(int(fd), fionreadBSD)
		}
	})
	return err == nil && n > 0
}
