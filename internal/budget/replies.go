package budget

import (
	"bytes"
	"errors"
	"net"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// maxReply bounds a reply, in bytes.
const maxReply = 4096

// lengths matches the lengths of a stream that are not those of take.lua, which returns two
// numbers. AUTH, SELECT and errors have none.
var lengths = text.Regexp(`(?:^|\n)(?:\$|\*[^2]|\*2[^\r])`)

// replies is a connection that ends at a reply that the store cannot give. redigo allocates what a
// length says before that much has come, and nests arrays as deep as the stream does.
type replies struct {
	net.Conn
	reply []byte // since the last command, and the line that it found unfinished
}

func (r *replies) Write(command []byte) (int, error) {
	r.reply = r.reply[bytes.LastIndexByte(r.reply, '\n')+1:]
	return r.Conn.Write(command)
}

func (r *replies) Read(p []byte) (int, error) {
	n, err := r.Conn.Read(p)
	r.reply = append(r.reply, p[:n]...)
	if len(r.reply) > maxReply || lengths().Match(r.reply) {
		return 0, errors.New("reading a reply: it is not one of the script")
	}
	return n, err
}
