package main

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// drain ends a server while people call it on connections that a gateway keeps. A call is answered, or
// refused with 503 so that the gateway asks another replica. None is accepted and then killed.
func drain(server program) error {
	s, err := server.start(anyPort, "--drain", "4s", "--notice", "500ms")
	if err != nil {
		return err
	}
	defer s.kill()

	var answered, refused, lost atomic.Int64
	var over atomic.Bool
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			var c net.Conn
			for !over.Load() {
				var response string
				var err error
				c, response, err = post(c, s.address, "alice", "load")
				switch {
				case err != nil: // the server is gone, or closed the connection first
				case strings.HasPrefix(response, "503"):
					refused.Add(1)
				case isAnswer(response):
					answered.Add(1)
				default:
					lost.Add(1)
				}
				time.Sleep(time.Duration(i) * 100 * time.Millisecond) // some beyond the notice
			}
		})
	}

	time.Sleep(3 * time.Second)
	err = s.stop()
	over.Store(true)
	users.Wait()
	fmt.Printf("a drain under load: %d calls answered, %d refused, %d lost\n",
		answered.Load(), refused.Load(), lost.Load())
	if lost.Load() > 0 {
		err = errors.Join(err, fmt.Errorf("%d calls were accepted and killed", lost.Load()))
	}
	return err
}
