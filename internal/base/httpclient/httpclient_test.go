package httpclient

import (
	"context"
	"crypto/x509"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// An image made from scratch has no roots; the bundled ones replace them.
func TestRoots(t *testing.T) {
	got := map[string]bool{
		"empty":   lacksRoots(x509.NewCertPool(), nil),
		"error":   lacksRoots(nil, errors.New("no roots")),
		"bundled": lacksRoots(bundledRoots(), nil),
	}

	want := map[string]bool{"empty": true, "error": true, "bundled": false}
	compare.Equal(t, "lacksRoots", got, want)
}

// A time limit that is shorter than a read does not say that the read hangs.
func TestRootsUnread(t *testing.T) {
	t.Setenv("SSL_CERT_FILE", "ca.pem")
	synctest.Test(t, func(t *testing.T) {
		unread := roots{read: make(chan struct{})}
		for limit, want := range map[time.Duration]error{
			20 * time.Millisecond: context.DeadlineExceeded,
			time.Second:           call.RootsError("ca.pem"),
		} {
			unread.began = time.Now()
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			_, err := unread.await(ctx)
			cancel()
			compare.Equal(t, limit.String(), err, want)
		}
	})
}
