package llm

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// NewHTTPClient returns the HTTP client that a Client uses when it is given
// none: proxy from the environment, HTTP/2, connections kept for many calls
// side by side, and root certificates of our own where the system has none (a
// container made from scratch). It bounds the making of a connection but not
// the wait for an answer, which is the caller's context's to bound. Client adds
// the redirect rule and the bound on bodies to any HTTP client.
func NewHTTPClient() *http.Client {
	return &http.Client{
		Transport:     &transport{plain: newTransport(), secure: newTransport()},
		CheckRedirect: checkRedirect,
	}
}

// transport looks for root certificates at the first TLS request: reading them
// costs milliseconds and megabytes that a start, or a call to a plain loopback
// server, has no use for. Two transports, so that the secure one can be changed
// before its first use while the other one works.
type transport struct {
	plain, secure *http.Transport
	roots         sync.Once
}

func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.URL.Scheme != "https" {
		return t.plain.RoundTrip(req)
	}
	t.roots.Do(func() {
		if needRoots(x509.SystemCertPool()) {
			t.secure.TLSClientConfig.RootCAs = bundledRoots()
		}
	})
	return t.secure.RoundTrip(req)
}

// CloseIdleConnections serves http.Client.CloseIdleConnections.
func (t *transport) CloseIdleConnections() {
	t.plain.CloseIdleConnections()
	t.secure.CloseIdleConnections()
}

// needRoots reports that a system has no certificates. Where the platform
// verifies by itself (macOS, Windows) the pool is not equal to an empty one.
func needRoots(system *x509.CertPool, err error) bool {
	return err != nil || system == nil || system.Equal(x509.NewCertPool())
}

// bundledRoots is Mozilla's list as golang.org/x/crypto carries it.
func bundledRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		switch {
		case err != nil: // one certificate less: the others still work
		case root.Constraint != nil:
			pool.AddCertWithConstraint(cert, root.Constraint)
		default:
			pool.AddCert(cert)
		}
	}
	return pool
}

// TunnelError is the HTTP status with which a proxy refused to connect us
// (CONNECT, RFC 9110 section 9.3.6). It is the Err of an Error of KindConnection.
type TunnelError int

// Error is the name of the status alone, which is what net/http says of it.
func (s TunnelError) Error() string {
	return cmp.Or(http.StatusText(int(s)), "HTTP "+strconv.Itoa(int(s)))
}

// tunnelled looks at the answer of a proxy to CONNECT.
func tunnelled(_ context.Context, _ *url.URL, _ *http.Request, resp *http.Response) error {
	if resp.StatusCode != http.StatusOK {
		return TunnelError(resp.StatusCode)
	}
	return nil
}

func newTransport() *http.Transport {
	dialer := &net.Dialer{Timeout: 15 * time.Second, KeepAlive: 30 * time.Second}
	return &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           dialer.DialContext,
		TLSClientConfig:       &tls.Config{MinVersion: tls.VersionTLS12},
		TLSHandshakeTimeout:   15 * time.Second,
		ForceAttemptHTTP2:     true,
		MaxIdleConns:          256,
		MaxIdleConnsPerHost:   256,
		IdleConnTimeout:       90 * time.Second,
		ExpectContinueTimeout: time.Second,
		WriteBufferSize:       8 << 10, // a question with its instructions goes out in one piece

		MaxResponseHeaderBytes: maxHeaders,
		OnProxyConnectResponse: tunnelled,
		// A model may think for minutes without a byte: a ping finds out
		// whether the connection under the call is still there.
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second},
	}
}
