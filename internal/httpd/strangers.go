package httpd

import (
	"bytes"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"time"
)

// Connections that have shown no valid token take less than 64 MiB together: net/http needs 19 KiB
// for each and about 150 bytes more for each line of its header, and garbage doubles that.
const (
	maxHeader    = 12 << 10 // bytes of the header of a request; net/http accepts 4 KiB more
	maxLines     = 500      // of what such a connection has sent since its last response
	maxAllLines  = 60_000   // of one connection, times their number
	maxStrangers = 600

	// tokenTime is how long they have for their tokens when another one waits. With all lateReads,
	// and half a second in which net/http closes a connection, 400 new ones a second do not wait.
	tokenTime = 500 * time.Millisecond

	// Bytes that arrived before a deadline are read after it, too: this server was busy. Go's
	// network poller does not look for them. A header takes four reads.
	lateReads = 5
	lateTime  = 100 * time.Millisecond // of each
)

// strangers is a listener that knows the connections that have shown no valid token. A further one
// waits until one of them has shown its token, or has had time for it and is closed.
type strangers struct {
	net.Listener

	mu    sync.Mutex // guards the fields below, and end of each connection
	conns []*stranger
	room  sync.Cond // one has left conns
}

// stranger is a connection that has shown no valid token, until trust.
type stranger struct {
	net.Conn
	of     *strangers
	remote string    // its address
	end    time.Time // of its time for a token; zero: it has shown one, or no other has waited

	// The goroutine that serves the connection owns these fields.
	lines int
	late  int // reads after a deadline
}

// Accept waits for a connection.
func (s *strangers) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.room.L = &s.mu
	for len(s.conns) == maxStrangers {
		for _, c := range s.conns {
			if c.end.IsZero() {
				c.end = time.Now().Add(tokenTime)
				_ = c.Conn.SetReadDeadline(c.end)
			}
		}
		s.room.Wait()
	}

	c := &stranger{
		Conn:   conn,
		of:     s,
		remote: conn.RemoteAddr().String(),
	}
	s.conns = append(s.conns, c)
	return c, nil
}

// trust takes out the connection from an address, which has shown a valid token.
func (s *strangers) trust(remote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.conns, func(c *stranger) bool { return c.remote == remote })
	if i >= 0 {
		s.conns[i].end = time.Time{}
		s.conns = slices.Delete(s.conns, i, i+1)
		s.room.Signal()
	}
}

// Close closes the connection.
func (c *stranger) Close() error {
	c.of.trust(c.remote)
	return c.Conn.Close()
}

// SetReadDeadline sets a deadline that is not after the end.
func (c *stranger) SetReadDeadline(t time.Time) error {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	switch {
	case c.end.IsZero():
		c.late = 0
	case t.After(c.end):
		t = c.end
	}
	return c.Conn.SetReadDeadline(t)
}

// Read returns what arrives before the deadline, also after it. It fails after too many lines: net/http
// takes 30 times the memory of a header of tiny lines.
func (c *stranger) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)

	// During a handler net/http reads one byte, and ends that with a deadline.
	if errors.Is(err, os.ErrDeadlineExceeded) && len(p) > 1 && c.late < lateReads {
		c.late++
		_ = c.Conn.SetReadDeadline(time.Now().Add(lateTime))
		n, err = c.Conn.Read(p)
	}

	header, _, _ := bytes.Cut(p[:n], []byte("\r\n\r\n"))
	c.lines += bytes.Count(header, []byte("\n"))
	if c.hasManyLines() {
		return 0, errors.New("a header with too many lines")
	}
	return n, err
}

// hasManyLines reports whether a stranger has sent more lines than its share.
func (c *stranger) hasManyLines() bool {
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	most := maxAllLines / max(maxAllLines/maxLines, len(c.of.conns))
	return c.lines > most && slices.Contains(c.of.conns, c)
}
