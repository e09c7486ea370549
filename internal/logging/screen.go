package logging

import (
	"fmt"
	"io"
	"sync"
	"time"
)

const (
	maxLines = 1024    // lines that wait for their reader
	maxBytes = 4 << 20 // and their size; a longer line waits alone

	// stuck is how long closing waits for a reader who takes no line. One who
	// goes on taking them gets three times as long, so that the process still
	// ends within a second of its signal (transports.md §1.7).
	stuck = 200 * time.Millisecond
)

// screen is stderr. A client may start the server and never read its stderr:
// once the pipe is full a write would stop whoever logs, and with it the
// protocol. So a goroutine writes, the others only queue; lines that find no
// room are dropped and counted. The goroutine ends with the queue.
type screen struct {
	w io.Writer

	mu      sync.Mutex
	queue   [][]byte
	size    int           // bytes in queue
	lost    int           // lines dropped since the last one that was queued
	taken   int           // writes that are done
	writing chan struct{} // closed when the goroutine ends; nil while there is none
	closed  bool          // no line is taken any more
	quit    bool          // nobody waits for those in queue
}

func newScreen(w io.Writer) *screen { return &screen{w: w} }

// Write queues p, which is one whole line. It never waits and never fails.
func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case len(s.queue) >= maxLines, len(s.queue) > 0 && s.size+len(p) > maxBytes:
		s.lost++
	default:
		s.add(append(s.gap(), p...))
	}
	return len(p), nil
}

// add queues a line for the goroutine. The caller holds the lock.
func (s *screen) add(line []byte) {
	s.queue = append(s.queue, line)
	s.size += len(line)
	if s.writing == nil {
		s.writing = make(chan struct{})
		go s.run(s.writing)
	}
}

// gap is the line that stands for those dropped, if any. The caller holds the lock.
func (s *screen) gap() []byte {
	if s.lost == 0 {
		return nil
	}
	n := s.lost
	s.lost = 0
	return fmt.Appendf(nil, "... %d lines dropped: nobody was reading stderr\n", n)
}

// run writes what is queued, a call a line, until nothing is.
func (s *screen) run(ended chan<- struct{}) {
	defer close(ended)
	for line := s.next(); line != nil; line = s.next() {
		_, _ = s.w.Write(line) // who would be told?
		s.mu.Lock()
		s.taken++
		s.mu.Unlock()
	}
}

// next takes the first line. With nil the goroutine is not there any more.
func (s *screen) next() []byte {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.quit || len(s.queue) == 0 {
		s.writing = nil
		return nil
	}
	line := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	s.size -= len(line)
	return line
}

// wait waits until all is written, for a while. It reports whether it is, and
// how many lines have been taken until now.
func (s *screen) wait() (taken int, done bool) {
	s.mu.Lock()
	writing := s.writing
	s.mu.Unlock()
	if writing == nil {
		return 0, true
	}
	select {
	case <-writing:
		return 0, true
	case <-time.After(stuck):
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.taken, false
}

// Close writes out what is queued. Later lines are dropped. When the reader is
// stuck it gives up, and the goroutine ends with the write that it is in: at
// once where the system can break off a write.
func (s *screen) Close() {
	s.mu.Lock()
	if g := s.gap(); g != nil && !s.closed {
		s.add(g)
	}
	s.closed = true
	seen := s.taken
	s.mu.Unlock()
	for range 3 {
		taken, done := s.wait()
		if done {
			return
		}
		if taken == seen {
			break
		}
		seen = taken
	}
	s.mu.Lock()
	s.quit = true
	s.mu.Unlock()
	if f, ok := s.w.(interface{ SetWriteDeadline(time.Time) error }); ok {
		_ = f.SetWriteDeadline(time.Now())
	}
}

// Patient is stderr for what a server has to say to people: each line is written
// when Write returns, unless its reader takes none. Then Write returns all the
// same, soon, and the line follows when it can. It may be used by several
// goroutines.
type Patient struct{ screen *screen }

// NewPatient returns a Patient that writes to w.
func NewPatient(w io.Writer) *Patient { return &Patient{screen: newScreen(w)} }

// Write writes one whole line, or some, and returns how many bytes they have. It
// never fails: nobody could be told.
func (p *Patient) Write(line []byte) (int, error) {
	n, err := p.screen.Write(line)
	p.screen.wait()
	return n, err
}
