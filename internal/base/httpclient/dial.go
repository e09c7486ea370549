package httpclient

import (
	"context"
	"net"
	"syscall"
	"time"
)

// maxUnacknowledged is how long a connection lasts whose other end acknowledges neither bytes nor
// probes, as long as one without replies to the pings of HTTP/2 (New). It is not shorter, because a
// network may come back, and a stream that breaks is paid twice.
const maxUnacknowledged = 45 * time.Second

var dialer = net.Dialer{
	Timeout: 30 * time.Second,
	KeepAliveConfig: net.KeepAliveConfig{
		Enable:   true,
		Idle:     15 * time.Second,
		Interval: 10 * time.Second,
		Count:    3,
	},
}

// dial connects to a server. After a change of network, such as by a VPN, or the death of a
// machine, nothing comes on a connection any more, not even its end. HTTP/2 finds out by pings;
// HTTP/1.1 has none, and a call would wait for its time limit. So TCP ends such a connection:
// probes find it while a call waits, and limitUnacknowledged while it sends (RFC 5482).
func dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := dialer.DialContext(ctx, network, address)
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return conn, err
	}
	control, controlErr := raw.SyscallConn()
	if controlErr == nil {
		_ = control.Control(limitUnacknowledged) // without it a call may wait longer
	}
	return conn, err
}
