package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// network is a network in a synctest bubble: hosts by address.
type network struct {
	mu    sync.Mutex
	hosts map[string]*host
	pipes []*pipe
}

// host listens on an address. A host that is down refuses connections, a silent one says nothing.
type host struct {
	conns        chan net.Conn
	closed       chan struct{}
	close        func()
	down, silent bool
}

// pipe is one end of a connection. owner is the host that made it.
type pipe struct {
	net.Conn
	owner string
}

func (n *network) listen(address string) *host {
	n.mu.Lock()
	defer n.mu.Unlock()
	closed := make(chan struct{})
	h := &host{
		conns:  make(chan net.Conn),
		closed: closed,
		close:  sync.OnceFunc(func() { close(closed) }),
	}
	n.hosts[address] = h
	return h
}

var errRefused = &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}

// dialer returns what connects on a host.
func (n *network) dialer(owner string) func(context.Context, string, string) (net.Conn, error) {
	return func(ctx context.Context, _, address string) (net.Conn, error) {
		n.mu.Lock()
		h, from := n.hosts[address], n.hosts[owner]
		if h == nil || h.down || from != nil && from.down {
			n.mu.Unlock()
			return nil, errRefused
		}
		here, there := net.Pipe()
		near := &pipe{here, owner}
		far := &pipe{there, address}
		n.pipes = append(n.pipes, near, far)
		silent := h.silent
		n.mu.Unlock()
		if silent {
			return near, nil
		}

		select {
		case h.conns <- far:
			return near, nil
		case <-h.closed:
			return nil, errRefused
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// set changes a host; "": all. Its connections end.
func (n *network) set(address string, down, silent bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for name, h := range n.hosts {
		if name == address {
			h.down, h.silent = down, silent
		}
	}
	for _, p := range n.pipes {
		if p.owner == address || address == "" {
			_ = p.Close()
		}
	}
}

func (h *host) Accept() (net.Conn, error) {
	select {
	case c := <-h.conns:
		return c, nil
	case <-h.closed:
		return nil, net.ErrClosed
	}
}

func (h *host) Close() error {
	h.close()
	return nil
}

func (h *host) Addr() net.Addr { return &net.TCPAddr{Port: 8080} }

// valkey is the store of the limits. It does what take.lua does.
type valkey struct {
	mu     sync.Mutex
	full   map[string]int64 // when a bucket is full again, by key
	late   time.Duration    // before each reply
	noRoom bool
}

func (v *valkey) serve(ln net.Listener) {
	for {
		c, err := ln.Accept()
		if err != nil {
			return
		}
		go v.talk(c)
	}
}

func (v *valkey) talk(c net.Conn) {
	defer c.Close()
	in := redis.NewConn(c, 0, 0) // parses commands, which have the form of replies
	out := bufio.NewWriter(c)
	for {
		words, err := redis.ByteSlices(in.Receive())
		if err != nil {
			return
		}
		reply := "+OK\r\n"
		switch string(words[0]) {
		case "EVALSHA", "EVAL":
			reply = v.take(words[2:])
		}
		v.mu.Lock()
		late := v.late
		v.mu.Unlock()
		time.Sleep(late)
		_, _ = out.WriteString(reply)
		if out.Flush() != nil {
			return
		}
	}
}

func (v *valkey) take(words [][]byte) string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.noRoom {
		return "-OOM command not allowed when used memory > 'maxmemory'\r\n"
	}
	var n, refused int
	var wait int64
	n, _ = strconv.Atoi(string(words[0]))
	keys, values := words[1:1+n], make([]int64, 3*n) // period, need and what is taken
	for i, word := range words[1+n:] {
		values[i], _ = strconv.ParseInt(string(word), 10, 64)
	}
	now := time.Now().UnixMicro()
	missing := make([]int64, n)
	for i, key := range keys {
		period := values[3*i]
		missing[i] = min(max(v.full[string(key)]-now, 0), 2*period)
		over := missing[i] + values[3*i+1] - period
		if over > wait {
			refused, wait = i+1, over
		}
	}
	for i, key := range keys {
		if refused == 0 {
			v.full[string(key)] = now + min(max(missing[i]+values[3*i+2], 0), 2*values[3*i])
		}
	}
	return fmt.Sprintf("*2\r\n:%d\r\n:%d\r\n", refused, wait)
}
