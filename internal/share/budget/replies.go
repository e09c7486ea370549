package budget

import (
	"errors"
	"net"
	"strings"
)

// maxReply bounds a reply, in bytes.
const maxReply = 4096

// numbers is the line before the four of take.lua.
const numbers = "*4\r"

// replies is a connection that ends at a reply that the store cannot give. redigo allocates what a
// length says before that much has come, and nests arrays as deep as the stream does. AUTH,
// SELECT and errors have no length.
type replies struct {
	net.Conn
	form  form
	size  int    // of the reply, in bytes
	start []byte // of the current line, at most maxStart
}

// form is what the replies of a connection are.
type form int

const (
	ofScript form = iota
	ofInfo
	anyReply // of a command for operators
)

// maxStart is the length of the longest line that begins a reply, $9999\r.
const maxStart = 6

func (r *replies) Write(command []byte) (int, error) {
	r.size = 0
	return r.Conn.Write(command)
}

func (r *replies) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	for _, b := range p[:n] {
		r.size++
		switch {
		case b == '\n':
			r.start = r.start[:0]
		case len(r.start) < maxStart:
			r.start = append(r.start, b)
		}
		if !r.fits(string(r.start)) {
			return 0, errors.New("reading a reply: it is not one of the script")
		}
	}
	return n, err
}

// fits reports whether a reply may have a line that starts so, and its size.
func (r *replies) fits(start string) bool {
	if r.form == anyReply {
		return true
	}
	isArray := strings.HasPrefix(start, "*")
	isText := strings.HasPrefix(start, "$")
	if r.form == ofInfo {
		isLong := len(strings.TrimSuffix(start, "\r")) == maxStart
		return !isArray && !(isText && isLong) && r.size <= 3*maxReply
	}
	isOther := isArray && !strings.HasPrefix(numbers, start) && !strings.HasPrefix(start, numbers)
	return !isOther && !isText && r.size <= maxReply
}
