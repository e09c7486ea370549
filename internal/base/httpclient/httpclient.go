// Package httpclient makes the HTTP clients of the program: for the Responses API, and for the
// identity providers of people who sign in. Its root certificates also serve the connection to the
// store.
//
//	httpclient.go       New, proxies, root certificates
//	dial.go             connections that end if their other end is gone
//	unacknowledged_*.go the socket option for that, by system
package httpclient

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/x509roots/fallback/bundle"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// New returns an HTTP client with proxies from the environment, TLS 1.2 or later, HTTP/2, and
// bundled root certificates where the system has none (an image made from scratch). The client
// bounds connecting; the context of a request bounds the wait for the HTTP response. connect
// connects; nil: dial does.
func New(
	connect func(ctx context.Context, network, address string) (net.Conn, error),
) *http.Client {
	base := http.DefaultTransport.(*http.Transport).Clone()
	base.DialContext = dial
	if connect != nil {
		base.DialContext = connect
	}
	base.Proxy = Proxy
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
	return &http.Client{Transport: &Transport{Transport: base}}
}

// Proxy returns the proxy of the environment for a request, but none whose variable is a reference that
// the client has not replaced.
func Proxy(req *http.Request) (*url.URL, error) {
	name := strings.ToUpper(req.URL.Scheme) + "_PROXY"
	value := cmp.Or(os.Getenv(name), os.Getenv(strings.ToLower(name)))
	if text.IsUnreplaced(value) {
		return nil, nil
	}
	return http.ProxyFromEnvironment(req)
}

// checkTunnel turns a proxy's refusal into an error with its status.
func checkTunnel(_ context.Context, _ *url.URL, req *http.Request, resp *http.Response) error {
	switch resp.StatusCode {
	case http.StatusOK:
		return nil
	case http.StatusProxyAuthRequired:
		return ProxyError(resp.Header, req.Header.Get("Proxy-Authorization") != "")
	}
	return call.TunnelError(resp.StatusCode)
}

// quotedText matches a quoted value of a challenge, which may contain commas and blanks.
var quotedText = text.LazyRegexp(`"[^"]*"`)

// ProxyError returns the error of a proxy that requires a password; hadPassword says that the
// request had a password. The challenges in h begin with their schemes: Negotiate, NTLM, Basic
// realm= (RFC 9110 section 11.6.1). net/http supports Basic only.
func ProxyError(h http.Header, hadPassword bool) call.ProxyError {
	challenges := strings.Join(h.Values("Proxy-Authenticate"), ",")
	var schemes []string
	for part := range strings.SplitSeq(quotedText().ReplaceAllString(challenges, ""), ",") {
		name, _, _ := strings.Cut(strings.TrimSpace(part), " ")
		switch {
		case strings.EqualFold(name, "Basic"):
			return call.ProxyError{Refused: hadPassword}
		case name == "", len(name) > 20, strings.Contains(name, "="):
		case len(schemes) < 3 && !slices.Contains(schemes, name):
			schemes = append(schemes, name)
		}
	}
	return call.ProxyError{
		Schemes: strings.Join(schemes, " or "),
		Refused: hadPassword,
	}
}

// Transport waits for the root certificates at the first request over TLS, not at the start: they
// cost milliseconds and megabytes, and plain HTTP does not need them.
type Transport struct {
	*http.Transport
	roots sync.Once
}

// RoundTrip makes a request.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	proxy, _ := t.Proxy(req) // RoundTrip reports its error
	if req.URL.Scheme == "https" || proxy != nil && proxy.Scheme == "https" {
		pool, err := Roots(req.Context())
		if err != nil {
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, err
		}
		t.roots.Do(func() { t.TLSClientConfig.RootCAs = pool })
	}
	return t.Transport.RoundTrip(req)
}

// systemRoots are the root certificates of the process. One goroutine reads them for all calls,
// because crypto/x509 reads them only once.
var systemRoots = roots{read: make(chan struct{})} // made here: synctest bubbles of tests share it

// roots are root certificates that a goroutine reads. The read may hang: the file may be a pipe, or
// on a file system that does not answer.
type roots struct {
	begin sync.Once      // starts the goroutine
	began time.Time      // set before the goroutine starts
	read  chan struct{}  // closed when the goroutine has set pool
	pool  *x509.CertPool // nil: crypto/x509 uses the certificates of the system
}

// rootsTime is how long a read of root certificates may take until it counts as one that does not
// end. It usually takes 30 ms.
const rootsTime = 300 * time.Millisecond

// Roots waits until the root certificates of the system are read, and returns bundled certificates
// if the system has none, else nil. If ctx ends first, the error is a call.RootsError, or that of
// ctx if the read began less than rootsTime ago.
func Roots(ctx context.Context) (*x509.CertPool, error) {
	r := &systemRoots
	r.begin.Do(func() {
		r.began = time.Now()
		go func() {
			defer close(r.read)
			if lacksRoots(x509.SystemCertPool()) {
				r.pool = bundledRoots()
			}
		}()
	})
	return r.await(ctx)
}

// await is Roots after the start of the read.
func (r *roots) await(ctx context.Context) (*x509.CertPool, error) {
	select {
	case <-r.read:
	case <-ctx.Done():
		select {
		case <-r.read: // ctx has ended, but the read has, too
		default:
			if time.Since(r.began) < rootsTime {
				return nil, ctx.Err()
			}
			file := cmp.Or(os.Getenv("SSL_CERT_FILE"), os.Getenv("SSL_CERT_DIR"), "the system")
			return nil, call.RootsError(file)
		}
	}
	return r.pool, nil
}

// lacksRoots reports whether a system has no certificates. On macOS and Windows, which verify by
// themselves, the pool is not equal to an empty one.
func lacksRoots(system *x509.CertPool, err error) bool {
	return err != nil || system.Equal(x509.NewCertPool())
}

// bundledRoots returns Mozilla's list of roots, as golang.org/x/crypto contains it.
func bundledRoots() *x509.CertPool {
	pool := x509.NewCertPool()
	for root := range bundle.Roots() {
		cert, err := x509.ParseCertificate(root.Certificate)
		if err == nil { // else the other roots still work
			pool.AddCertWithConstraint(cert, root.Constraint)
		}
	}
	return pool
}
