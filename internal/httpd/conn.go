package httpd

import (
	"net"
	"slices"
	"time"
)

const (
	writeTime  = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk = 32 << 10
)

// listener makes a client read its responses: a connection on which a write
// makes no progress for writeTime is closed. Then its request ends, and its
// place is free.
type listener struct{ net.Listener }

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return conn{c}, nil
}

type conn struct{ net.Conn }

func (c conn) Write(b []byte) (int, error) {
	written := 0
	for chunk := range slices.Chunk(b, writeChunk) {
		if err := c.SetWriteDeadline(time.Now().Add(writeTime)); err != nil {
			return written, err
		}
		n, err := c.Conn.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
