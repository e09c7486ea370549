//go:build unix

package main

import (
	"io"
	"net"
	"sync/atomic"
	"time"
)

// proxy is a network between the replicas and a server.
type proxy struct {
	address string
	silent  atomic.Bool  // connections are accepted, and bring nothing
	delay   atomic.Int64 // of what the server sends
}

// newProxy starts a proxy to a server. It ends with the process.
func newProxy(to string) (*proxy, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{address: ln.Addr().String()}
	go func() {
		for {
			c, err := ln.Accept()
			if err != nil {
				return
			}
			go p.connect(c, to)
		}
	}()
	return p, nil
}

func (p *proxy) connect(c net.Conn, to string) {
	defer c.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer c.Close()
		p.copy(c, server)
	}()
	_, _ = io.Copy(server, c)
}

func (p *proxy) copy(to, from net.Conn) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		for p.silent.Load() {
			time.Sleep(10 * time.Millisecond)
		}
		time.Sleep(time.Duration(p.delay.Load()))
		_, err = to.Write(buf[:n])
		if err != nil {
			return
		}
	}
}
