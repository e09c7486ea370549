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

// Unauthenticated connections take less than 64 MiB together: net/http needs 19 KiB for each and
// about 150 bytes more for each line of its header, and garbage doubles that.
const (
	maxHeader          = 12 << 10 // bytes of the header of a request; net/http accepts 4 KiB more
	maxLines           = 500      // of what such a connection has sent since its last response
	maxAllLines        = 60_000   // of all such connections
	maxUnauthenticated = 600

	// tokenTime is how long they have for their tokens when another one waits. With all
	// overdueReads and half a second in which net/http closes a connection, each takes 1.5 s at
	// most: of 400 new ones a second, none waits.
	tokenTime = 500 * time.Millisecond

	// Bytes that arrived before a deadline are read after it, too: this server was busy. Go's
	// network poller does not look for them. A header takes four reads.
	overdueReads = 5
	overdueTime  = 100 * time.Millisecond // of each
)

// listener bounds its unauthenticated connections: those without a request that had a valid token,
// or without tokens, without one that has reached instance.admit. A further connection waits until
// one of these has had such a request, or is closed: each has tokenTime then.
type listener struct {
	net.Listener

	mu    sync.Mutex // guards the fields below, and end of each connection
	conns []*conn    // the unauthenticated ones
	room  *sync.Cond // one has left conns
}

// conn is a connection of a listener.
type conn struct {
	net.Conn
	listener *listener
	remote   string    // its address
	end      time.Time // of its time for a token; zero: it has shown one, or no other has waited

	// The goroutine that serves the connection owns these fields.
	headerLines int
	overdue     int // reads after a deadline
}

func newListener(ln net.Listener) *listener {
	l := &listener{Listener: ln}
	l.room = sync.NewCond(&l.mu)
	return l
}

// Accept waits for a connection.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.conns) == maxUnauthenticated {
		for _, c := range l.conns {
			if c.end.IsZero() {
				c.end = time.Now().Add(tokenTime)
				_ = c.Conn.SetReadDeadline(c.end)
			}
		}
		l.room.Wait()
	}

	c := &conn{
		Conn:     accepted,
		listener: l,
		remote:   accepted.RemoteAddr().String(),
	}
	l.conns = append(l.conns, c)
	return c, nil
}

// authenticated takes out the connection from an address.
func (l *listener) authenticated(remote string) {
	l.release(func(c *conn) bool { return c.remote == remote })
}

// release takes out a connection.
func (l *listener) release(is func(*conn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.conns, is)
	if i >= 0 {
		l.conns[i].end = time.Time{}
		l.conns = slices.Delete(l.conns, i, i+1)
		l.room.Signal()
	}
}

// Close closes the connection.
func (c *conn) Close() error {
	c.listener.release(func(other *conn) bool { return other == c })
	return c.Conn.Close()
}

// SetReadDeadline sets a deadline that is not after the end.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	switch {
	case c.end.IsZero(): // then each deadline has overdueReads of its own
		c.overdue = 0
	case t.After(c.end):
		t = c.end
	}
	return c.Conn.SetReadDeadline(t)
}

// Read returns what arrives before the deadline, also after it. It fails after too many lines:
// net/http takes 30 times the memory of a header of tiny lines.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)

	// During a handler net/http reads one byte, and ends that with a deadline.
	if errors.Is(err, os.ErrDeadlineExceeded) && len(p) > 1 && c.overdue < overdueReads {
		c.overdue++
		_ = c.Conn.SetReadDeadline(time.Now().Add(overdueTime))
		n, err = c.Conn.Read(p)
	}

	header, _, _ := bytes.Cut(p[:n], []byte("\r\n\r\n"))
	c.headerLines += bytes.Count(header, []byte("\n"))
	if c.hasManyLines() {
		return 0, errors.New("a header with too many lines")
	}
	return n, err
}

// hasManyLines reports whether an unauthenticated connection has sent more lines than its share.
func (c *conn) hasManyLines() bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	share := maxAllLines / max(1, len(c.listener.conns))
	most := min(maxLines, share)
	return c.headerLines > most && slices.Contains(c.listener.conns, c)
}
