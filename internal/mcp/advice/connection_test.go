package advice

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// connection is the error of a request without an answer.
func connection(message string, cause error) error {
	return &call.APIError{Kind: call.KindConnection, Message: message, Err: cause}
}

// certificate is that of a TLS certificate that was not accepted.
func certificate(cause error) error {
	return connection("", &tls.CertificateVerificationError{Err: cause})
}

func TestConnection(t *testing.T) {
	password := advice{"the proxy requires a password", "put user and password into HTTPS_PROXY"}
	scheme := advice{
		"http and https are mixed up",
		"check http or https in openai.base_url (OPENAI_BASE_URL)",
	}
	expired := x509.CertificateInvalidError{
		Cert: &x509.Certificate{
			NotBefore: time.Unix(0, 0).UTC(),
			NotAfter:  time.Unix(1e9, 0).UTC(),
		},

		Reason: x509.Expired,
	}

	advises(t, map[error]advice{
		connection("the answer was cut off", nil): {
			"connection failed: the answer was cut off",
			"check the network, openai.base_url, HTTPS_PROXY and the firewall",
		},
		connection("", &net.DNSError{Name: "api.invalid"}): {
			`cannot resolve "api.invalid"`,
			"check the network, openai.base_url and HTTPS_PROXY",
		},
		connection("lookup api.invalid: dial udp: too many open files", nil): {
			"this server has too many open files",
			"raise its limit of open files (ulimit -n, LimitNOFILE)",
		},
		connection("", os.NewSyscallError("connectex", wsaRefused)): {
			"connection refused by api.openai.com",
			"check openai.base_url, HTTPS_PROXY and the firewall",
		},

		certificate(x509.HostnameError{}): {
			"the certificate of api.openai.com is for another host",
			"check openai.base_url and HTTPS_PROXY, or log in to the network with a browser",
		},
		certificate(expired): {
			"the certificate of api.openai.com is valid from 1970-01-01 to 2001-09-09",
			"check the clock of this machine, which says " + time.Now().Format(time.DateOnly),
		},

		certificate(x509.UnknownAuthorityError{}): {
			"cannot verify the TLS certificate of api.openai.com",
			"set SSL_CERT_FILE to a file with the CA of your network",
		},

		connection("Forbidden", call.TunnelError(403)): {
			"the proxy does not connect to api.openai.com: Forbidden",
			"check HTTPS_PROXY and NO_PROXY, or ask the administrator of the proxy",
		},
		connection("", call.TunnelError(407)): password,
		connection("", call.ProxyError{}):     password,
		connection("", call.ProxyError{Refused: true}): {
			"the proxy refused user and password",
			"correct user and password in HTTPS_PROXY, with special characters as in %40",
		},
		connection("", call.ProxyError{Schemes: "NTLM"}): {
			"the proxy takes NTLM only",
			"set HTTPS_PROXY to a local proxy that signs in, such as px or cntlm",
		},
		&call.APIError{Kind: call.KindBadResponse, Status: 407, Err: errors.Join(
			call.ErrWebPage, call.ProxyError{Schemes: "Negotiate or NTLM", Refused: true})}: {
			"the proxy takes Negotiate or NTLM only",
			"set HTTPS_PROXY to a local proxy that signs in, such as px or cntlm",
		},
		&call.APIError{Kind: call.KindBadResponse, Message: "the server sends Content-Encoding br",
			Status: 200, Err: call.ErrEncoding}: {
			"the server sends Content-Encoding br",
			"let the server behind openai.base_url (OPENAI_BASE_URL), or a proxy before it, " +
				"send gzip or nothing",
		},
		connection("", http.ErrSchemeMismatch): scheme,
		connection("", call.ErrPlainHTTP):      scheme,
	})
}

// The cause of a failed connection is a word.
func TestCause(t *testing.T) {
	for err, want := range map[error]string{
		connection("socket: too many open files", nil): "descriptors",

		connection("", &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}): "proxy",
		connection("", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}):         "refused",
		connection("", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}):       "timeout",

		connection("", &net.DNSError{}):         "dns",
		certificate(x509.HostnameError{}):       "tls",
		connection("", tls.RecordHeaderError{}): "tls",
		connection("", io.ErrUnexpectedEOF):     "broken",
	} {
		t.Run(want, func(t *testing.T) {
			if got := ConnectionCause(err); got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		})
	}
}

// A gateway that cannot pass a stream ends it early or fails.
func TestGatewayWithoutStreams(t *testing.T) {
	const (
		check = "check the network, openai.base_url, HTTPS_PROXY and the firewall"
		plain = ", or set responses.stream: false if this server cannot stream"
	)
	cutOff := connection("the answer was cut off", nil)
	failed := refused(call.KindServer, 500, "")
	dial := connection("", &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded})

	for name, tt := range map[string]struct {
		base    string
		streams bool
		err     error
		want    string
	}{
		"cut off":     {"http://gateway.example/v1", true, cutOff, check + plain},
		"failed":      {"http://gateway.example/v1", true, failed, "try again later" + plain},
		"not reached": {"http://gateway.example/v1", true, dial, check},
		"no stream":   {"http://gateway.example/v1", false, failed, "try again later"},
		"OpenAI":      {"https://api.openai.com/v1", true, failed, "try again later"},
	} {
		t.Run(name, func(t *testing.T) {
			v := advisorFor(tt.base)
			v.Streams = tt.streams

			_, hint := v.Advise("answer", tt.err)
			compare.Equal(t, "hint", hint, tt.want)
		})
	}
}
