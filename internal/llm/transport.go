package llm

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
)

// NewHTTPClient returns the HTTP client that a Client uses when it is given none: proxies from the
// environment, TLS 1.2 or later, HTTP/2, and bundled root certificates where the system has none
// (an image made from scratch). It bounds connecting; the context bounds the wait for a response.
// dial connects; nil: package net does.
func NewHTTPClient(
	dial func(ctx context.Context, network, address string) (net.Conn, error),
) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	if dial != nil {
		base.DialContext = dial
	}
	base.OnProxyConnectResponse = checkTunnel
	base.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	base.MaxIdleConns = 256
	base.MaxIdleConnsPerHost = 256
	base.MaxResponseHeaderBytes = 1 << 20

	// A model may think for minutes without a byte: a ping shows whether the connection works.
	// Hundreds of calls would otherwise buffer up to 4 MiB each.
	base.HTTP2 = &http.HTTP2Config{
		SendPingTimeout:           30 * time.Second,
		PingTimeout:               15 * time.Second,
		MaxReceiveBufferPerStream: 256 << 10,
	}
	return &http.Client{Transport: &transport{Transport: base}}
}

// checkTunnel turns a proxy's refusal into an error with its status.
func checkTunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return call.TunnelError(resp.StatusCode)
	}
	return nil
}

// transport looks for root certificates at the first request over TLS, because they cost
// milliseconds and megabytes that a start does not need, and plain HTTP never does.
type transport struct {
	*http.Transport
	roots sync.Once
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, _ := t.Proxy(req) // RoundTrip reports its error
	if req.URL.Scheme == "https" || proxy != nil && proxy.Scheme == "https" {
		t.roots.Do(func() { t.TLSClientConfig.RootCAs = Roots() })
	}
	return t.Transport.RoundTrip(req)
}

// Roots returns bundled root certificates where the system has none, and nil where it has.
var Roots = sync.OnceValue(func() *x509.CertPool {
	if needRoots(x509.SystemCertPool()) {
		return bundledRoots()
	}
	return nil
})

// needRoots reports whether a system has no certificates. On macOS and Windows, which verify by
// themselves, the pool is not equal to an empty one.
func needRoots(system *x509.CertPool, err error) bool {
	return err != nil || system.Equal(x509.NewCertPool())
}

// bundledRoots returns Mozilla's list as golang.org/x/crypto has it.
func bundledRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err == nil { // else the others still work
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}

// checkRedirect follows a redirect only where the same request goes to the same scheme, host and
// port (307 and 308). Others are an error: the key and the question are for the configured host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	sameServer := req.URL.Scheme == from.URL.Scheme && req.URL.Host == from.URL.Host
	if req.Method != from.Method || !sameServer || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}
