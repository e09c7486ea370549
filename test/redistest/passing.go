package redistest

import (
	"context"
	"io"
	"net"
	"testing"
	"time"
)

// Passing returns what connects to a store in which no limit is reached and no response was
// settled, until the test ends. A use takes a time, and a connection ends after half a minute
// without one.
func Passing(
	t *testing.T, takes time.Duration,
) func(ctx context.Context, network, address string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		t.Cleanup(func() { _ = server.Close() })
		go func() {
			defer server.Close()
			for command := make([]byte, 1<<16); ; {
				_ = server.SetReadDeadline(time.Now().Add(time.Minute / 2))
				_, err := server.Read(command)
				if err != nil {
					return
				}
				time.Sleep(takes)
				_, _ = io.WriteString(server, "*6\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n:0\r\n")
			}
		}()
		return client, nil
	}
}
