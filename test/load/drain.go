package main

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// drain ends a server while people call it on connections that a gateway keeps. A call is answered,
// or refused with 503 so that the gateway asks another replica. None is accepted and then killed.
func drain(server program) error {
	s, err := server.start(serving.AnyPort, "--drain 30s --notice 500ms")
	if err != nil {
		return err
	}
	defer s.Kill()

	loses := func(response string, err error) bool {
		refused := strings.HasPrefix(response, "503")
		return err == nil && !refused && !serving.IsAnswer(response) // else the connection has ended first
	}
	return inUse("a drain", s.Address, loses, func() error {
		time.Sleep(3 * time.Second)
		return s.Stop()
	})
}

// inUse does something while 20 users call a server, and fails if a call is lost.
func inUse(
	what, address string, loses func(response string, err error) bool, do func() error,
) error {
	var over atomic.Bool
	var calls, lost atomic.Int64
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			c := &http.Transport{}
			defer c.CloseIdleConnections()
			for !over.Load() {
				response, err := post(c, address, "alice", "load")
				calls.Add(1)
				if loses(response, err) {
					lost.Add(1)
					fmt.Fprintln(os.Stderr, "load: lost:", response, err)
				}
				time.Sleep(time.Duration(i+1) * 60 * time.Millisecond) // some beyond the notice
			}
		})
	}

	err := do()
	over.Store(true)
	users.Wait()
	fmt.Printf("%s under load: %d calls, %d lost\n", what, calls.Load(), lost.Load())
	if err == nil && lost.Load() > 0 {
		err = fmt.Errorf("%d calls were lost", lost.Load())
	}
	return err
}
