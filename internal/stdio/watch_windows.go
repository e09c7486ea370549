package stdio

import (
	"context"
	"io"
	"os"
	"time"

	"golang.org/x/sys/windows"
)

// watchInterval is how often the session is looked at.
const watchInterval = time.Second

// watch takes the end of an ancestor for the end of the input, as it is on
// Unix. A process keeps the id of its parent here when that has ended, so each
// is held by a handle. Node ends the children of a process that is killed, but
// not theirs: npm takes its cmd.exe along, which is our launcher's parent.
//
// A reader that has gone is not seen here: the first answer that cannot be
// written ends the session.
func (c *conn) watch(pids []int) {
	if len(pids) == 0 || pids[0] != os.Getppid() {
		return
	}
	var held []windows.Handle
	for _, pid := range pids {
		h, err := windows.OpenProcess(windows.SYNCHRONIZE, false, uint32(pid))
		if err != nil {
			c.log.Debug("watching a process", "pid", pid, "err", err)
			continue
		}
		defer func() { _ = windows.CloseHandle(h) }()
		held = append(held, h)
	}
	for len(held) > 0 && c.ctx.Err() == nil {
		n, err := windows.WaitForMultipleObjects(held, false, uint32(watchInterval/time.Millisecond))
		if err != nil {
			c.log.Debug("watching processes", "err", err)
			return
		}
		if int(n) < len(held) { // windows.WAIT_OBJECT_0 is 0
			c.log.Debug("an ancestor has ended", "ancestors", pids)
			close(c.over)
			return
		}
	}
}

// WaitGone cannot tell: it returns false.
func WaitGone(context.Context, io.Writer) bool { return false }
