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
)

// NewHTTPClient returns the HTTP client that a Client uses when it is given none: proxies from the
// environment, TLS 1.2 or later, HTTP/2, and bundled root certificates where the system has none
// (an image made from scratch). It bounds connecting; the context bounds the wait for an answer.
func NewHTTPClient() *http.Client {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	base := &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		OnProxyConnectResponse: checkTunnel,
		DialContext:            dialer.DialContext,
		TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:    15 * time.Second,
		ForceAttemptHTTP2:      true,
		MaxIdleConns:           256,
		MaxIdleConnsPerHost:    256,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}

	// A model may think for minutes without a byte: a ping shows whether the connection works.
	base.HTTP2 = &http.HTTP2Config{
		SendPingTimeout: 30 * time.Second,
		PingTimeout:     15 * time.Second,
	}
	return &http.Client{Transport: &transport{Transport: base}}
}

// checkTunnel turns a proxy's refusal into an error with its status.
func checkTunnel(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return TunnelError(resp.StatusCode)
	}
	return nil
}

// transport looks for root certificates at the first request, because they cost milliseconds and
// megabytes that a start does not need.
type transport struct {
	*http.Transport
	roots sync.Once
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	t.roots.Do(func() {
		if needRoots(x509.SystemCertPool()) {
			t.TLSClientConfig.RootCAs = bundledRoots()
		}
	})
	return t.Transport.RoundTrip(req)
}

// needRoots reports whether a system has no certificates. On macOS and Windows, which verify by
// themselves, the pool is not equal to an empty one.
func needRoots(system *x509.CertPool, err error) bool {
	return err != nil || system == nil || system.Equal(x509.NewCertPool())
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
	const most = 5

	from := via[len(via)-1]
	sameServer := req.URL.Scheme == from.URL.Scheme && req.URL.Host == from.URL.Host
	if req.Method != from.Method || !sameServer || len(via) > most {
		return http.ErrUseLastResponse
	}
	return nil
}
