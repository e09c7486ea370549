package advice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"syscall"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// causes are what the tables name as the causes of errors.
var causes = map[string]error{
	"lost":       answer.ErrResponseLost,
	"restart":    call.ErrShutdown,
	"deadline":   context.DeadlineExceeded,
	"canceled":   context.Canceled,
	"time limit": call.TimeoutError(1500 * time.Millisecond),
	"queued":     call.QueuedError(12),
	"roots":      call.RootsError("ca.pem"),
	"page":       call.ErrWebPage,
	"encoding":   call.ErrEncoding,

	"no host":       &net.DNSError{Name: "api.invalid"},
	"dial refused":  &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
	"dial timeout":  &net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded},
	"reset":         &net.OpError{Op: "read", Err: syscall.ECONNRESET},
	"TLS alert":     &net.OpError{Op: "remote error", Err: tls.AlertError(40)},
	"TLS timeout":   os.ErrDeadlineExceeded,
	"proxy refused": &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED},
	"on Windows":    os.NewSyscallError("connectex", wsaRefused),
	"EOF":           io.ErrUnexpectedEOF,

	"another host": certificate(x509.HostnameError{}),
	"unknown CA":   certificate(x509.UnknownAuthorityError{}),
	"expired": certificate(x509.CertificateInvalidError{
		Cert: &x509.Certificate{
			NotBefore: time.Unix(0, 0).UTC(),
			NotAfter:  time.Unix(1e9, 0).UTC(),
		},
		Reason: x509.Expired,
	}),
	"no TLS":     tls.RecordHeaderError{},
	"mixed up":   http.ErrSchemeMismatch,
	"plain HTTP": call.ErrPlainHTTP,

	"403":              call.TunnelError(403),
	"407":              call.TunnelError(407),
	"a proxy":          call.ProxyError{},
	"wrong password":   call.ProxyError{Refused: true},
	"NTLM":             call.ProxyError{Schemes: "NTLM"},
	"Kerberos refused": call.ProxyError{Schemes: "Negotiate or NTLM", Refused: true},
}

// certificate is the cause of a TLS certificate that was not accepted.
func certificate(cause error) error { return &tls.CertificateVerificationError{Err: cause} }

// The cause of a failed connection is a word.
func TestCause(t *testing.T) {
	for _, row := range compare.Table(t, "causes", 2) {
		t.Run(row[0], func(t *testing.T) {
			compare.Equal(t, "cause", ConnectionCause(listed(t, row[0])), row[1])
		})
	}
}

// A gateway that cannot pass a stream ends it early or fails.
func TestGatewayWithoutStreams(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Base  string
		Streams     bool
		Error, Hint string
	}](t, "gateways") {
		t.Run(tt.Name, func(t *testing.T) {
			v := advisorFor(tt.Base)
			v.Streams = tt.Streams
			_, hint := v.Advise("answer", listed(t, tt.Error))
			compare.Equal(t, "hint", hint, tt.Hint)
		})
	}
}
