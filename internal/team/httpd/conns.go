package httpd

import (
	"bytes"
	"errors"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Unauthenticated connections take less than 64 MiB together: net/http needs 19 KiB for each
// connection and about 150 bytes more for each line of its header, and garbage doubles that.
const (
	maxHeader          = 12 << 10 // bytes of the header of a request; net/http accepts 4 KiB more
	maxHeaderLines     = 500      // header lines of one such connection since its last response
	maxAllHeaderLines  = 60_000   // header lines of all such connections, shared evenly
	maxUnauthenticated = 600      // connections

	// authTimeout is how long a connection may take to be authenticated, once another one waits.
	// A connection that is not is closed within 2 s:
	//
	//	0.5 s  until its deadline, after authTimeout
	//	0.5 s  for reads after the deadline: maxLateReads times lateReadTime
	//	0.5 s  to write a response to each of these reads: SetWriteDeadline allows lateReadTime
	//	0.5 s  in which net/http closes the connection
	//
	// So at least 600 new connections in 2 s, 300 a second, get in.
	authTimeout = 500 * time.Millisecond

	// A busy server may come to a read only after its deadline. Go then fails the read without
	// looking for bytes, which may have arrived in time. So conn.Read reads again, for
	// lateReadTime, at most maxLateReads times for each deadline: a header takes four reads.
	maxLateReads = 5
	lateReadTime = 100 * time.Millisecond // for each read that is tried again
)

// listener bounds its unauthenticated connections. A connection is authenticated when one of its
// requests passes Access.requireToken or, where requests need no token, reaches instance.admit. So
// a connection for health alone stays unauthenticated, and one for metrics where these need no
// token. If there are maxUnauthenticated, a new connection waits until one of them is authenticated
// or closed. From then on each of them has authTimeout.
type listener struct {
	net.Listener
	numOpen atomic.Int64 // connections, the authenticated ones included; connState counts them

	mu              sync.Mutex // guards the fields below, and authDeadline of each connection
	unauthenticated []*conn    // at most maxUnauthenticated connections
	hasRoom         *sync.Cond // signaled when a connection leaves unauthenticated
}

// conn is a connection of a listener.
type conn struct {
	net.Conn
	listener     *listener
	remoteAddr   string    // of the client
	authDeadline time.Time // zero if c is authenticated, or no other conn has waited

	// One goroutine at a time uses these fields: the one that serves the connection or, while a
	// handler runs, that of the background read of net/http, which ends before the next use. A
	// background read of one byte does not use lateReads, which SetReadDeadline may set meanwhile.
	headerLines int // since the last response
	lateReads   int // reads that were tried again, since the present deadline was set
}

func newListener(ln net.Listener) *listener {
	l := &listener{Listener: ln}
	l.hasRoom = sync.NewCond(&l.mu)
	return l
}

// Accept returns the next connection, and waits while there are too many unauthenticated ones.
func (l *listener) Accept() (net.Conn, error) {
	accepted, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}

	l.mu.Lock()
	defer l.mu.Unlock()
	for len(l.unauthenticated) == maxUnauthenticated {
		for _, c := range l.unauthenticated {
			if c.authDeadline.IsZero() {
				c.authDeadline = time.Now().Add(authTimeout)
				_ = c.Conn.SetDeadline(c.authDeadline)
			}
		}
		l.hasRoom.Wait()
	}

	c := &conn{
		Conn:       accepted,
		listener:   l,
		remoteAddr: accepted.RemoteAddr().String(),
	}
	l.unauthenticated = append(l.unauthenticated, c)
	return c, nil
}

// hasManyConns reports whether more connections are open than there can be requests and
// unauthenticated connections. Then each response closes its connection: an idle one takes 29 KiB,
// and one person could open any number.
func (s *instance) hasManyConns() bool {
	return int(s.listener.numOpen.Load()) > 2*s.people.Bounds.MaxCalls+maxUnauthenticated
}

// noteAuthenticated notes that the connection from an address is authenticated.
func (l *listener) noteAuthenticated(remoteAddr string) {
	l.removeUnauthenticated(func(c *conn) bool { return c.remoteAddr == remoteAddr })
}

// removeUnauthenticated removes the connection that matches, if there is one, from the
// unauthenticated ones.
func (l *listener) removeUnauthenticated(matches func(*conn) bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	i := slices.IndexFunc(l.unauthenticated, matches)
	if i >= 0 {
		c := l.unauthenticated[i]
		if !c.authDeadline.IsZero() {
			// net/http sets the next deadline for reads itself.
			_ = c.Conn.SetWriteDeadline(time.Now().Add(writeTimeout))
		}
		c.authDeadline = time.Time{}
		l.unauthenticated = slices.Delete(l.unauthenticated, i, i+1)
		l.hasRoom.Signal()
	}
}

// Close closes the connection, which makes room for another one.
func (c *conn) Close() error {
	c.listener.removeUnauthenticated(func(other *conn) bool { return other == c })
	return c.Conn.Close()
}

// SetReadDeadline sets a deadline, but not after authDeadline. The zero time, which net/http sets
// while a handler runs, stays: no deadline.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	switch {
	case c.authDeadline.IsZero():
		// A new deadline allows maxLateReads again. But once authDeadline is set, the connection
		// keeps the reads that are left.
		c.lateReads = 0
	case t.After(c.authDeadline):
		t = c.authDeadline
	}
	return c.Conn.SetReadDeadline(t)
}

// SetWriteDeadline sets a deadline, but not after authDeadline: a client that does not read
// responses must not hold its connection. A deadline within lateReadTime from now is always
// allowed, for the response to a request that was read late.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	if c.authDeadline.IsZero() {
		return c.Conn.SetWriteDeadline(t)
	}

	last := c.authDeadline
	if soon := time.Now().Add(lateReadTime); last.Before(soon) {
		last = soon
	}
	if t.IsZero() || t.After(last) {
		t = last
	}
	return c.Conn.SetWriteDeadline(t)
}

// Read reads from the connection, and reads again after a deadline (see maxLateReads). It fails
// after too many header lines, because net/http takes 30 times the memory of a header of tiny
// lines. While the connection is unauthenticated, lines of a body count, too.
func (c *conn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)

	// During a handler net/http reads one byte, and ends the read with a deadline: no second try.
	if errors.Is(err, os.ErrDeadlineExceeded) && len(p) > 1 && c.lateReads < maxLateReads {
		c.lateReads++
		_ = c.Conn.SetReadDeadline(time.Now().Add(lateReadTime))
		n, err = c.Conn.Read(p)
	}

	header, _, _ := bytes.Cut(p[:n], []byte("\r\n\r\n"))
	c.headerLines += bytes.Count(header, []byte("\n"))
	if c.hasTooManyLines() {
		return 0, errors.New("a header with too many lines")
	}
	return n, err
}

// hasTooManyLines reports whether the connection is unauthenticated and has sent more than
// maxHeaderLines header lines, or more than its share of maxAllHeaderLines.
func (c *conn) hasTooManyLines() bool {
	c.listener.mu.Lock()
	defer c.listener.mu.Unlock()
	share := maxAllHeaderLines / max(1, len(c.listener.unauthenticated))
	limit := min(maxHeaderLines, share)
	return c.headerLines > limit && slices.Contains(c.listener.unauthenticated, c)
}
