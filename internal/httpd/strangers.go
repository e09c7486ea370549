package httpd

import (
	"net"
	"net/http"
	"slices"
	"sync"
	"time"
)

const (
	maxHeader = 12 << 10 // bytes of the header of a request; net/http accepts 4 KiB more

	// maxStrangers is how many of them take less than 64 MiB: net/http needs half a MiB for the
	// tiny lines of a header.
	maxStrangers = 40

	// tokenTime is how long a connection has for its token when others wait.
	tokenTime = 100 * time.Millisecond
)

// strangers are the connections that have shown no valid token, the oldest first. A further one
// waits until one of them has shown its token or has had time for it.
type strangers struct {
	mu    sync.Mutex // guards conns
	conns []stranger
}

type stranger struct {
	net.Conn
	since time.Time
}

// watch is the ConnState of a server, which accepts no connection while it waits.
func (s *strangers) watch(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()

	switch state {
	case http.StateNew:
		for len(s.conns) >= maxStrangers {
			s.closeOldestLocked()
		}
		s.conns = append(s.conns, stranger{c, time.Now()})
	case http.StateClosed:
		s.deleteLocked(func(other stranger) bool { return other.Conn == c })
	}
}

// closeOldestLocked closes the oldest connection if it has had time for its token. Otherwise it
// waits a moment without the lock.
func (s *strangers) closeOldestLocked() {
	if time.Since(s.conns[0].since) > tokenTime {
		_ = s.conns[0].Close()
		s.conns = s.conns[1:]
		return
	}

	s.mu.Unlock()
	time.Sleep(time.Millisecond)
	s.mu.Lock()
}

// trust takes out the connection from an address, which has shown a valid token.
func (s *strangers) trust(remote string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.deleteLocked(func(c stranger) bool { return c.RemoteAddr().String() == remote })
}

func (s *strangers) deleteLocked(isOut func(stranger) bool) {
	s.conns = slices.DeleteFunc(s.conns, isOut)
}
