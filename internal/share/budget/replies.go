package budget

import (
	"errors"
	"net"
	"strings"
)

// Bounds of a reply, in bytes: of one of take.lua, and of one of INFO.
const (
	maxReply     = 4 << 10
	maxInfoReply = 12 << 10
)

// scriptArray begins a reply of take.lua: an array of six numbers.
const scriptArray = "*6\r"

// replyConn is a connection whose Read fails at a reply that the store cannot give. redigo trusts
// replies: for $100000000 it allocates 100 MB at once, and it nests arrays as deep as the reply
// does. Replies to AUTH and SELECT, and errors, have no length.
type replyConn struct {
	net.Conn
	form      replyForm
	size      int    // of the present reply, in bytes
	lineStart []byte // of the present line, at most maxStart bytes
}

// replyForm is which replies a connection may have.
type replyForm int

const (
	scriptReplies replyForm = iota // of take.lua
	infoReplies                    // of INFO
	anyReplies                     // of the commands of a report, which an operator starts
)

// maxStart is how many bytes of a line accepts sees: enough to tell $9999\r, the longest length
// that it accepts, from $10000.
const maxStart = 6

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
		case len(rc.lineStart) < maxStart:
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
	if rc.form == anyReplies {
		return true
	}
	isArray := strings.HasPrefix(start, "*")
	isBulk := strings.HasPrefix(start, "$")
	if rc.form == infoReplies {
		isLong := len(strings.TrimSuffix(start, "\r")) == maxStart
		return !isArray && !(isBulk && isLong) && rc.size <= maxInfoReply
	}
	isOther := isArray && !strings.HasPrefix(scriptArray, start) &&
		!strings.HasPrefix(start, scriptArray)
	return !isOther && !isBulk && rc.size <= maxReply
}
