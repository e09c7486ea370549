package fakeapi

import (
	"context"
	"io"
	"net/http"
	"strconv"
	"time"
)

// Recorded is one request as it arrived, whatever came of it.
type Recorded struct {
	Method  string
	Path    string
	Header  http.Header
	Body    []byte // as it came, JSON or not
	Aborted bool   // the client went away before the answer was out
	At      time.Time
}

// Requests returns what arrived so far, oldest first, at most Options.Keep of
// them. The result is a copy.
func (s *Server) Requests() []Recorded {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]Recorded, len(s.log))
	for i, r := range s.log {
		out[i] = *r
	}
	return out
}

// WaitRequests returns when n requests have arrived since the start, or with
// the context's error.
func (s *Server) WaitRequests(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.arrived >= n })
}

// WaitAborted returns when the clients of n requests have gone away before
// their answer was out, or with the context's error.
func (s *Server) WaitAborted(ctx context.Context, n int) error {
	return s.await(ctx, func() bool { return s.aborted >= n })
}

// await returns once cond, which is called under the lock, holds.
func (s *Server) await(ctx context.Context, cond func() bool) error {
	for {
		s.mu.Lock()
		ok, changed := cond(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// arrive records a request and, when it came whole, takes its step: whoever has
// waited for the request may count on the next one to find the next step.
func (s *Server) arrive(x *exchange, whole bool) *Recorded {
	rec := &Recorded{
		Method: x.r.Method,
		Path:   x.r.URL.Path,
		Header: x.r.Header.Clone(),
		Body:   x.body,
		At:     s.o.Now(),
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.log) >= s.o.Keep {
		s.log = append(s.log[:0], s.log[1:]...)
	}
	s.log = append(s.log, rec)
	s.arrived++
	x.seed = strconv.Itoa(s.arrived)
	if whole {
		x.step, x.nth = s.next(x.body)
	}
	s.notify()
	return rec
}

// abort marks a request whose client went away.
func (s *Server) abort(rec *Recorded) {
	s.mu.Lock()
	defer s.mu.Unlock()
	rec.Aborted = true
	s.aborted++
	s.notify()
}

// notify wakes everyone in await; the lock is held.
func (s *Server) notify() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// readBody reads the whole body: net/http watches for the client's departure
// only after that.
func readBody(r *http.Request) ([]byte, error) {
	return io.ReadAll(io.LimitReader(r.Body, maxBody))
}
