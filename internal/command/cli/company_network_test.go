package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/gomodule/redigo/redis"
)

// network is a network in a synctest bubble: hosts by address.
type network struct {
	mu    sync.Mutex
	hosts map[string]*host
	pipes map[*pipe]bool // that are open
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
	owner   string
	network *network
}

func (p *pipe) Close() error {
	p.network.mu.Lock()
	defer p.network.mu.Unlock()
	delete(p.network.pipes, p)
	return p.Conn.Close()
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
		near := &pipe{here, owner, n}
		far := &pipe{there, address, n}
		n.pipes[near], n.pipes[far] = true, true
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
	for p := range n.pipes {
		if p.owner == address || address == "" {
			_ = p.Conn.Close()
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
	stored map[string]quota
	states map[string]string // of marks
	late   time.Duration     // before each reply
	noRoom bool
}

// quota is a bucket in the store. It forgets no reservation of a call that does not end.
type quota struct {
	used     float64
	reserved int64
	at       time.Time
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
		if string(words[0]) == "EVALSHA" { // with EVAL the clock and the policy are asked for
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
	n, _ := strconv.Atoi(string(words[0]))
	keys := words[1 : 1+n]
	marks, _ := strconv.Atoi(string(words[1+n]))
	args := words[3+n:] // of marks: the state that follows, a time, and whether it must be taken
	for i, key := range keys[:marks] {
		state := v.states[string(key)]
		needsTaken := string(args[3*i+2]) == "1"
		if needsTaken {
			v.states[string(key)] = string(args[3*i])
		}
		if state == "settled" || needsTaken && state != "taken" {
			return "*1\r\n:-1\r\n"
		}
	}
	states, keys := keys[:marks], keys[marks:(marks+n)/2]
	var values []float64 // period, limit, need, use, reserve and name
	for _, word := range args[3*marks:] {
		value, _ := strconv.ParseFloat(string(word), 64)
		values = append(values, value)
	}

	now := time.Now()
	found := make([]quota, len(keys))
	refused, wait, used := 0, -1.0, 0.0
	for i, key := range keys {
		c := values[6*i:]
		q := v.stored[string(key)]
		refilled := float64(now.Sub(q.at).Microseconds()) * c[1] / c[0]
		q.used = max(q.used-refilled, min(q.used, 0))
		missing := q.used + c[2] - c[1]
		time := max(math.Ceil(missing*c[0]/c[1]), 0)
		if c[2] > 0 && missing+float64(q.reserved) > 0 && time > wait {
			refused, wait, used = i+1, time, max(math.Ceil(q.used), 0)
		}
		found[i] = q
	}
	if refused > 0 {
		return fmt.Sprintf("*3\r\n:%d\r\n:%.0f\r\n:%.0f\r\n", refused, wait, used)
	}
	for i, key := range states {
		v.states[string(key)] = string(args[3*i])
	}
	for i, key := range keys {
		c := values[6*i:]
		least := min(found[i].used, 0)
		if c[4] == 0 {
			least = -float64(found[i].reserved)
		}
		v.stored[string(key)] = quota{
			used:     max(found[i].used+c[3], least),
			reserved: max(found[i].reserved+int64(c[4]), 0),
			at:       now,
		}
	}
	return fmt.Sprintf("*%d\r\n:0\r\n", 1+len(keys)) + strings.Repeat(":0\r\n", len(keys))
}
