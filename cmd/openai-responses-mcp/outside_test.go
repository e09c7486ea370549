package main_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"runtime"
	"sync"
	"testing"
)

// The tests in outside_*_test.go are about what the program cannot help: who
// does not read, files that are full or change, a network that is not there,
// and answers that are none. It must name each, and go on.

// rawAPI is an API whose answers a test writes by itself.
func rawAPI(t *testing.T, answer http.HandlerFunc) *api {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Unread, the question would cut off the answer.
		_, _ = io.Copy(io.Discard, r.Body)
		answer(w, r)
	}))
	t.Cleanup(func() {
		s.CloseClientConnections()
		s.Close()
	})
	return &api{url: s.URL + "/v1"}
}

// deafen makes the client one that does not read its answers, until it listens
// again.
func (c *client) deafen() (listen func()) {
	deaf := make(chan struct{})
	c.mu.Lock()
	c.deaf = deaf
	c.mu.Unlock()
	listen = sync.OnceFunc(func() { close(deaf) })
	c.t.Cleanup(listen)
	return listen
}

// checkPeak holds the memory that a program has taken to a bound in MiB; the
// race detector keeps a shadow of all of it.
func checkPeak(t *testing.T, c *client, limit int) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Log("memory not looked at: it is read from /proc, which only Linux has")
		return
	}
	if raced {
		limit *= 10
	}
	peak := peakMiB(t, c.cmd.Process.Pid)
	t.Logf("peak %d MiB", peak)
	if peak > limit {
		t.Errorf("the program has taken %d MiB, want at most %d", peak, limit)
	}
}
