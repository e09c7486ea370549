package httpclient

import (
	"net"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A connection whose other end is gone ends after 45 s, while a call waits and while it
// sends.
func TestUnacknowledged(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	transport := New(nil).Transport.(*Transport)
	conn, err := transport.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	control, err := conn.(syscall.Conn).SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	_ = control.Control(func(fd uintptr) {
		for name, option := range map[string]int{
			"first probe, in s":  unix.TCP_KEEPIDLE,
			"next probes, in s":  unix.TCP_KEEPINTVL,
			"probes":             unix.TCP_KEEPCNT,
			"unacknowledged, ms": unix.TCP_USER_TIMEOUT,
		} {
			got[name], _ = unix.GetsockoptInt(int(fd), unix.IPPROTO_TCP, option)
		}
	})
	compare.Equal(t, "options", got, map[string]int{
		"first probe, in s":  15,
		"next probes, in s":  10,
		"probes":             3,
		"unacknowledged, ms": 45_000,
	})
}
