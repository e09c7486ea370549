package fakeapi

import (
	"fmt"
	"net"
	"net/http"
	"sync"
	"time"
)

// Listen serves s on a free loopback port and returns the base URL, such as
// "http://127.0.0.1:49152/v1", for the client. stop closes the port and every
// connection, and returns when the serving has ended; it may be called again.
// Listen fails where neither loopback, of IPv4 or IPv6, has a port.
func (s *Server) Listen() (baseURL string, stop func(), err error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		// A host without IPv4 still has its own loopback.
		var err6 error
		if l, err6 = net.Listen("tcp", "[::1]:0"); err6 != nil {
			return "", nil, fmt.Errorf("listening on loopback: %w", err)
		}
	}
	// The header timeout only keeps a stray local connection from staying forever.
	srv := &http.Server{Handler: s, ReadHeaderTimeout: 10 * time.Second}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = srv.Serve(l) // always ends with an error, and stop is the only cause
	}()
	var once sync.Once
	stop = func() {
		once.Do(func() {
			s.Close()
			_ = srv.Close() // the connections end with it, whatever it says
		})
		<-done
	}
	return "http://" + l.Addr().String() + "/v1", stop, nil
}
