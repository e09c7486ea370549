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
	size  int    // of the reply, in bytes
	start []byte // of the current line, as long as numbers at most
}

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
		case len(r.start) < len(numbers):
			r.start = append(r.start, b)
		}
		start := string(r.start)
		otherArray := strings.HasPrefix(start, "*") && start != numbers[:len(start)]
		if otherArray || strings.HasPrefix(start, "$") || r.size > maxReply {
			return 0, errors.New("reading a reply: it is not one of the script")
		}
	}
	return n, err
}
