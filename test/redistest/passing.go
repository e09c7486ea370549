package redistest

import (
	"context"
	"fmt"
	"net"
	"strings"
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
				n, err := server.Read(command)
				if err != nil {
					return
				}
				time.Sleep(takes)

				var keys, marks int // take.lua has a key for a mark, two for a bucket
				lines := strings.Split(string(command[:n]), "\r\n")
				_, _ = fmt.Sscan(lines[6], &keys)
				marksAt := min(8+2*keys, len(lines)-1) // inspectScript has no marks
				_, _ = fmt.Sscan(lines[marksAt], &marks)
				buckets := (keys - marks) / 2
				_, _ = fmt.Fprintf(server, "*%d\r\n%s", 1+buckets, strings.Repeat(":0\r\n", 1+buckets))
			}
		}()
		return client, nil
	}
}
