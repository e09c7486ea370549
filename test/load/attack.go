package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
)

// large sends 30 requests of 4 MB at once and reports the memory they take.
func large(binary, base string) error {
	s, err := start(binary, base, 256)
	if err != nil {
		return err
	}
	defer s.kill()
	query := strings.Repeat("x", 4_000_000)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() {
			r, err := toolCall(s.url, query)
			if err != nil {
				return
			}
			res, err := client.Do(r)
			if err == nil {
				io.Copy(io.Discard, res.Body)
				res.Body.Close()
			}
		})
	}
	all.Wait()
	memory, err := s.peak()
	fmt.Printf("30 requests of 4 MB at once: peak memory %d MiB\n", memory)
	if memory > maxLarge {
		err = errors.Join(err, fmt.Errorf("%d MiB of %d", memory, maxLarge))
	}
	return err
}

// half sends 150 requests without a token and with half a body or half a
// header. They must not delay a call, and are closed.
func half(binary, base string, deadlines bool) error {
	s, err := start(binary, base, 256)
	if err != nil {
		return err
	}
	defer s.kill()
	alone, err := ask(s.url)
	if err != nil {
		return err
	}
	const (
		header = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
		body   = header + "Content-Length: 1000\r\n\r\n"
	)
	began := time.Now()
	var open []net.Conn
	for i := range 150 {
		c, err := net.Dial("tcp", s.address())
		if err != nil {
			return err
		}
		defer c.Close()
		open = append(open, c)
		if _, err := io.WriteString(c, []string{body, header}[i%2]); err != nil {
			return err
		}
	}
	took, err := ask(s.url)
	if err != nil {
		return fmt.Errorf("a call beside half-sent requests: %w", err)
	}
	delay := max(0, took-alone)
	if delay > time.Second {
		return fmt.Errorf("half-sent requests delay a call by %v", delay)
	}
	if !deadlines {
		fmt.Printf("150 half-sent requests: they delay a call by %v\n", delay.Round(time.Millisecond))
		return nil
	}
	for _, c := range open {
		c.SetReadDeadline(began.Add(giveUp))
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			return fmt.Errorf("a half-sent request is open after %v", giveUp)
		}
	}
	fmt.Printf("150 half-sent requests: they delay a call by %v and are closed after %v\n",
		delay.Round(time.Millisecond), time.Since(began).Round(time.Second))
	return nil
}

// unread takes places with responses that are not read, and waits until all are
// free again.
func unread(binary, base string, deadlines bool) error {
	if !deadlines {
		return nil
	}
	const calls = 4
	s, err := start(binary, base, calls)
	if err != nil {
		return err
	}
	defer s.kill()
	r, err := http.NewRequest(http.MethodPost, s.url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	var text strings.Builder
	if err := r.Write(&text); err != nil {
		return err
	}
	var all sync.WaitGroup
	for range 2 * calls {
		c, err := net.Dial("tcp", s.address())
		if err != nil {
			return err
		}
		defer c.Close()
		all.Go(func() {
			for err := error(nil); err == nil; { // until the server does not read either
				c.SetWriteDeadline(time.Now().Add(2 * time.Second))
				_, err = io.WriteString(c, text.String())
			}
		})
	}
	all.Wait()
	began := time.Now()
	held, most := calls, 0
	for held > 0 {
		if held, err = s.inFlight(); err != nil {
			return err
		}
		most = max(most, held)
		if time.Since(began) > 2*giveUp { // at first the buffers of the connections grow
			return fmt.Errorf("unread responses hold %d places after %v", held, 2*giveUp)
		}
		time.Sleep(time.Second)
	}
	fmt.Printf("%d clients that do not read: they hold %d places and give them back after %v\n", 2*calls, most, time.Since(began).Round(time.Second))
	_, err = ask(s.url)
	return err
}

// inFlight is the number of requests in the metrics.
func (s *process) inFlight() (n int, err error) {
	r, err := http.NewRequest(http.MethodGet, "http://"+s.address()+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(body), "openai_responses_mcp_requests_in_flight ")
	_, err = fmt.Sscan(after, &n)
	return n, err
}
