package httpclient

import (
	"crypto/x509"
	"errors"
	"testing"

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
