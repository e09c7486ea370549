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

				var words, keys int // take.lua has 4 words for a mark, 7 for a bucket, 5 others
				_, _ = fmt.Sscanf(string(command[:n]), "*%d", &words)
				_, _ = fmt.Sscan(strings.Split(string(command[:n]), "\r\n")[6], &keys)
				buckets := (words - 5 - 4*keys) / 3
				_, _ = fmt.Fprintf(server, "*%d\r\n%s", 1+buckets, strings.Repeat(":0\r\n", 1+buckets))
			}
		}()
		return client, nil
	}
}
