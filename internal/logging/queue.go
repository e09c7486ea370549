package logging

import (
	"bytes"
	"fmt"
	"io"
	"sync/atomic"
	"time"
)

// queue passes lines on to a goroutine that writes them to stderr. A client that
// does not read stderr would otherwise stop the server as soon as the pipe is
// full. Lines that find the queue full are dropped and counted.
type queue struct {
	lines   chan []byte // nil ends the goroutine
	dropped atomic.Int64
}

// newQueue returns the queue and a function that writes out what is in it. That
// takes at most 200 ms, because a process has to end soon after its signal.
func newQueue(w io.Writer) (q *queue, flush func()) {
	q, done := &queue{lines: make(chan []byte, 256)}, make(chan struct{})
	go func() {
		defer close(done)
		for line := <-q.lines; line != nil; line = <-q.lines {
			_, _ = w.Write(line)
			if n := q.dropped.Swap(0); n > 0 {
				fmt.Fprintf(w, "... %d lines dropped: stderr was not read\n", n)
			}
		}
	}()
	return q, func() {
		timeout := time.After(200 * time.Millisecond)
		select {
		case q.lines <- nil:
		case <-timeout:
			return
		}
		select {
		case <-done:
		case <-timeout:
		}
	}
}

func (q *queue) Write(line []byte) (int, error) {
	select {
	case q.lines <- bytes.Clone(line):
	default:
		q.dropped.Add(1)
	}
	return len(line), nil
}
