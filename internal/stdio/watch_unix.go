//go:build unix

package stdio

import (
	"context"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// watchInterval is how often the ancestors are looked at. The reader of stdout is
// noticed at once: poll(2) waits for it.
const watchInterval = time.Second

// watch ends the session when nobody reads its answers: a client that was
// killed leaves calls behind that nothing else would end before they time out.
//
// It also takes the end of an ancestor for the end of the input: npx that was
// killed passes our end on to nobody, and its client may keep the pipes open.
// What was asked is still answered.
func (c *conn) watch(pids []int) {
	out := descriptor(c.out)
	if out == nil {
		return
	}
	above := trace(pids)
	if above != nil {
		c.log.Debug("session", "ancestors", []int(above))
	}
	for c.ctx.Err() == nil {
		if !above.whole() {
			c.log.Debug("an ancestor has ended", "ancestors", []int(above))
			close(c.over)
			above = nil
		}
		if readerGone(out) {
			c.stop(ErrGone)
			return
		}
	}
}

// WaitGone waits until nobody reads w any more, and then returns true. It
// returns false within a second of the end of ctx, and at once where it cannot
// tell: w is no file, or the system is not Unix.
func WaitGone(ctx context.Context, w io.Writer) bool {
	out := descriptor(w)
	if out == nil {
		return false
	}
	for ctx.Err() == nil {
		if readerGone(out) {
			return true
		}
	}
	return false
}

// descriptor is what poll(2) can look at of w; nil when w is no open file.
func descriptor(w io.Writer) syscall.RawConn {
	f, ok := w.(*os.File)
	if !ok {
		return nil
	}
	c, err := f.SyscallConn()
	if err != nil {
		return nil
	}
	return c
}

// readerGone waits for a watchInterval and reports whether the other end of
// out is closed.
func readerGone(out syscall.RawConn) bool {
	gone := false
	err := out.Control(func(fd uintptr) {
		p := []unix.PollFd{{Fd: int32(fd)}} // no events: errors are always told
		n, err := unix.Poll(p, int(watchInterval/time.Millisecond))
		gone = err == nil && n > 0 && p[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0
	})
	return gone || err != nil
}
