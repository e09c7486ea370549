package httpd

import (
	"bytes"
	"errors"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Connections that have shown no valid token take less than 64 MiB together: net/http needs 19 KiB
// for each and about 150 bytes more for each line of its header.
const (
	maxHeader    = 12 << 10 // bytes of the header of a request; net/http accepts 4 KiB more
	maxLines     = 500      // of what such a connection has sent since its last response
	maxStrangers = 400

	// tokenTime is how long a connection has for its token when others wait, so that up to 800 new ones
	// a second do not.
	tokenTime = 500 * time.Millisecond
)

// strangers is a listener that knows the connections that have shown no valid token. A further one
// waits until one of them has shown its token, or has had time for it and is closed.
type strangers struct {
	net.Listener

	mu    sync.Mutex  // guards conns
	conns []*stranger // the oldest first
}

// stranger is a connection that has shown no valid token, until trust.
type stranger struct {
	net.Conn
	of     *strangers
	remote string // its address
	since  time.Time
	lines  atomic.Int64
	known  atomic.Bool
}

// Accept waits for a connection.
func (s *strangers) Accept() (net.Conn, error) {
	conn, err := s.Listener.Accept()
	if err != nil {
		return nil, err
	}

	c := &stranger{
		Conn:   conn,
		of:     s,
		remote: conn.RemoteAddr().String(),
	}
	for !s.add(c) {
		time.Sleep(time.Millisecond)
	}
	return c, nil
}

// add takes in a connection if there is room. It closes the oldest one to make room.
func (s *strangers) add(c *stranger) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.conns) == maxStrangers {
		oldest := s.conns[0]
		if time.Since(oldest.since) < tokenTime {
			return false
		}
		_ = oldest.Conn.Close()
		s.conns = s.conns[1:]
	}
	c.since = time.Now()
	s.conns = append(s.conns, c)
	return true
}

// trust takes out the connection from an address, which has shown a valid token.
func (s *strangers) trust(remote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.conns, func(c *stranger) bool { return c.remote == remote })
	if i >= 0 {
		s.conns[i].known.Store(true)
		s.conns = slices.Delete(s.conns, i, i+1)
	}
}

// Close closes the connection.
func (c *stranger) Close() error {
	c.of.trust(c.remote)
	return c.Conn.Close()
}

// Read fails after too many lines: net/http takes 30 times the memory of a header of tiny lines.
func (c *stranger) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	header, _, _ := bytes.Cut(p[:n], []byte("\r\n\r\n"))
	more := bytes.Count(header, []byte("\n"))
	lines := c.lines.Add(int64(more))
	if lines > maxLines && !c.known.Load() {
		return 0, errors.New("a header with too many lines")
	}
	return n, err
}
