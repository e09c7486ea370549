package main

import (
	"errors"
	"fmt"
	"io"
	"net/http"
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
	for range 20 {
		users.Go(func() {
			client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 1}}
			for !over.Load() {
				status, body, err := post(client, s.address)
				switch {
				case err != nil: // the server is gone, or closed the connection first
				case status == http.StatusServiceUnavailable:
					refused.Add(1)
				case strings.Contains(body, `"content":[`):
					answered.Add(1)
				default:
					lost.Add(1)
				}
				time.Sleep(10 * time.Millisecond)
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

// post makes a call on a connection that client keeps.
func post(client *http.Client, address string) (status int, body string, err error) {
	req, err := http.NewRequest(http.MethodPost, "http://"+address+"/mcp", strings.NewReader(message("load")))
	if err != nil {
		return 0, "", err
	}
	for name, value := range headers("alice") {
		req.Header.Set(name, value)
	}
	res, err := client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}
