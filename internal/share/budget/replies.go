package budget

import (
	"errors"
	"net"
	"strings"
)

// maxReply bounds a reply to a script, in bytes.
const maxReply = 4 << 10

// lineStartSize is how many bytes of a line replyConn.accepts looks at. A reply of take.lua is an
// array of at most nine numbers.
const lineStartSize = len("*9\r")

// replyForm is which replies a connection may have.
type replyForm int

const (
	scriptReplies replyForm = iota // those that replyConn accepts
	anyReplies                     // of the commands of a report, which an operator starts
)

// replyConn is a connection whose Read fails at a reply that a script of this package cannot give.
// redigo trusts replies: for $100000000 it allocates 100 MB at once, and it nests arrays as deep as
// the reply does. Replies to AUTH and SELECT, and errors, have no length, and pass.
type replyConn struct {
	net.Conn
	size      int    // of the present reply, in bytes
	lineStart []byte // of the present line, at most lineStartSize
}

func (rc *replyConn) Write(command []byte) (int, error) {
	rc.size = 0
	return rc.Conn.Write(command)
}

func (rc *replyConn) Read(p []byte) (int, error) {
	n, err := rc.Conn.Read(p)
	for _, b := range p[:n] {
		rc.size++
		switch {
		case b == '\n':
			rc.lineStart = rc.lineStart[:0]
		case len(rc.lineStart) < lineStartSize:
			rc.lineStart = append(rc.lineStart, b)
		}
		if !rc.accepts(string(rc.lineStart)) {
			return 0, errors.New("reading a reply: it is not one of the script")
		}
	}
	return n, err
}

// accepts reports whether a reply may have a line with this start, and the size so far.
func (rc *replyConn) accepts(start string) bool {
	isBulk := strings.HasPrefix(start, "$")
	isArray := strings.HasPrefix(start, "*")
	isLong := isArray && len(start) == lineStartSize && start[2] != '\r'
	return !isLong && !isBulk && rc.size <= maxReply
}
