package main

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"
)

// churn is a lane of one server after another, each with other habits of its
// client and another end.
func (k *soak) churn(ctx context.Context) error {
	a, err := newAPI(k.tally)
	if err != nil {
		return err
	}
	defer a.close()
	for n := uint64(1); time.Now().Before(k.end) && ctx.Err() == nil; n++ {
		rng := k.random("churn", n)
		st := style{
			name:      fmt.Sprintf("churn %d", n),
			framing:   []string{"framed", "line", "mixed"}[rng.IntN(3)],
			lineMode:  rng.IntN(5) == 0,
			debug:     rng.IntN(6) == 0,
			home:      rng.IntN(len(k.homes)),
			stateless: rng.IntN(4) == 0,
			timeout:   []time.Duration{10 * time.Minute, 500 * time.Millisecond}[rng.IntN(2)],
			pause:     time.Duration(rng.IntN(10)) * time.Millisecond,
		}
		s, err := k.start(ctx, st, a, rng)
		if err != nil {
			return err
		}
		if err := s.visit(ctx, time.Duration(rng.IntN(1500))*time.Millisecond); err != nil && ctx.Err() == nil {
			s.fail("%v", err)
		}
		_ = s.cmd.Process.Kill() // after a breach it may still be there
		<-s.ended
	}
	return nil
}

// open begins the session as its client does.
func (s *session) open() error {
	r := &request{id: s.freshID()}
	if s.stateless {
		r.check = wantResult(`"2026-07-28"`)
		s.send(s.enter(r, s.message(r.id, "server/discover", "")))
	} else {
		r.check = wantResult(`"protocolVersion":"2025-06-18"`)
		s.send(s.enter(r, s.message(r.id, "initialize", "", `"protocolVersion":"2025-06-18"`, `"capabilities":{}`, `"clientInfo":{"name":"soak","version":"1"}`)))
	}
	ctx, cancel := context.WithTimeoutCause(context.Background(), patience, errors.New("it takes too long"))
	defer cancel()
	if err := s.settle(ctx); err != nil {
		return err
	}
	if !s.stateless {
		s.send(s.notify("notifications/initialized"))
	}
	return nil
}

// visit uses the server for a while and ends it in one of the ways in which
// servers end.
func (s *session) visit(ctx context.Context, length time.Duration) error {
	if err := s.open(); err != nil {
		return err
	}
	if err := s.drive(ctx, time.Now().Add(length)); err != nil {
		return err
	}
	for range s.rng.IntN(20) { // calls to leave behind
		s.send(s.call())
	}
	switch s.rng.IntN(5) {
	case 0:
		return s.gone(ctx, true)
	case 1:
		return s.gone(ctx, false)
	case 2:
		return s.terminate()
	case 3:
		return s.counted(ctx)
	}
	return s.eof(ctx)
}

// eof closes the server's input: every call in flight is still answered.
func (s *session) eof(ctx context.Context) error {
	s.tally.add(endedEOF)
	if err := s.in.Close(); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, patience, errors.New("it takes too long"))
	defer cancel()
	if err := s.settle(ctx); err != nil {
		return err
	}
	if err := s.wait(); err != nil {
		return fmt.Errorf("after the end of its input the server ended with: %w", err)
	}
	return s.abandoned(ctx)
}

// gone is the client killed: both pipes break, or the one that it reads first.
// Nobody is left to answer, so the server ends, calls in flight or not.
func (s *session) gone(ctx context.Context, both bool) error {
	s.tally.add(endedGone)
	s.leaving.Store(true)
	if both {
		_ = s.in.Close()
	}
	_ = s.out.Close()
	err := s.wait()
	_ = s.in.Close()
	if err != nil {
		return fmt.Errorf("without a client the server ended with: %w", err)
	}
	return s.abandoned(ctx)
}

// terminate asks the server to end.
func (s *session) terminate() error {
	s.tally.add(endedTerm)
	s.leaving.Store(true)
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := s.wait(); err != nil {
		return fmt.Errorf("after SIGTERM the server ended with: %w", err)
	}
	return s.abandoned(context.Background())
}

// counted ends the server when it has nothing to do, and counts its goroutines.
func (s *session) counted(ctx context.Context) error {
	s.tally.add(endedDump)
	goroutines, err := s.dump(ctx)
	if err != nil {
		return err
	}
	idle, own := s.soak.idle.Load(), 0
	if idle == nil {
		return nil // the long sessions have not found out yet
	}
	if s.debug {
		own = 1 // the log's
	}
	return alike(*idle, goroutines, own)
}

// abandoned forgets the calls of a server that has gone, and waits for the end of
// its requests at the API.
func (s *session) abandoned(ctx context.Context) error {
	for _, nonce := range s.left() {
		s.tally.add(callsLeft)
		s.api.finish(nonce)
	}
	deadline := time.Now().Add(patience)
	for !s.api.quiet() {
		if time.Now().After(deadline) || ctx.Err() != nil {
			return errors.New("requests of a server that has gone are still at the API")
		}
		time.Sleep(10 * time.Millisecond)
	}
	return nil
}
