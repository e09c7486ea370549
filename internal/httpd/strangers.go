package httpd

import (
	"cmp"
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Connections that have shown no valid token take at most 64 MiB: one needs 19 KiB, and net/http 40
// times the bytes of tiny header lines.
const (
	maxHeader    = 12 << 10  // bytes of the header of a request; net/http accepts 4 KiB more
	maxHeaders   = 160 << 10 // bytes of all, in which 200 ordinary requests fit
	maxStrangers = 200

	tokenTime = 2 * time.Second // until a connection is closed when others wait
)

// strangers are the connections that have shown no valid token, the oldest first. A further one
// waits until one of them has shown its token or has had time for it. When their headers have too
// many bytes, the connection with the most is closed.
type strangers struct {
	mu    sync.Mutex // guards the fields of all
	conns []*stranger
}

type stranger struct {
	net.Conn
	all   *strangers
	since time.Time // when the server first waited for bytes: it may be busy before
	bytes int       // read since the last request
}

// listener makes strangers of the connections to ln.
type listener struct {
	net.Listener
	all *strangers
}

func (l listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.all.add(c), nil
}

func (s *strangers) add(c net.Conn) net.Conn {
	s.mu.Lock()
	defer s.mu.Unlock()

	for len(s.conns) >= maxStrangers {
		oldest := s.conns[0]
		if !oldest.since.IsZero() && time.Since(oldest.since) > tokenTime {
			s.closeLocked(oldest)
			continue
		}
		s.mu.Unlock()
		time.Sleep(time.Millisecond)
		s.mu.Lock()
	}
	added := &stranger{Conn: c, all: s}
	s.conns = append(s.conns, added)
	return added
}

func (c *stranger) Read(p []byte) (int, error) {
	s := c.all
	s.mu.Lock()
	if c.since.IsZero() {
		c.since = time.Now()
	}
	s.mu.Unlock()

	n, err := c.Conn.Read(p)
	s.mu.Lock()
	defer s.mu.Unlock()
	c.bytes += n
	total := 0
	for _, other := range s.conns {
		total += other.bytes
	}
	if total > maxHeaders {
		s.closeLocked(slices.MaxFunc(s.conns, func(a, b *stranger) int {
			return cmp.Compare(a.bytes, b.bytes)
		}))
	}
	return n, err
}

func (s *strangers) closeLocked(c *stranger) {
	_ = c.Close()
	s.deleteLocked(func(other *stranger) bool { return other == c })
}

// watch is the ConnState of a server.
func (s *strangers) watch(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()

	switch state {
	case http.StateIdle:
		c.(*stranger).bytes = 0
	case http.StateClosed:
		s.deleteLocked(func(other *stranger) bool { return other == c })
	}
}

// trust takes out the connection from an address, which has shown a valid token.
func (s *strangers) trust(remote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleteLocked(func(c *stranger) bool { return c.RemoteAddr().String() == remote })
}

func (s *strangers) deleteLocked(isOut func(*stranger) bool) {
	s.conns = slices.DeleteFunc(s.conns, isOut)
}
