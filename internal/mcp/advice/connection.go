package advice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// wsaRefused is WSAECONNREFUSED, which Windows returns in place of syscall.ECONNREFUSED
// (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const wsaRefused = syscall.Errno(10061)

// ConnectionCause returns what went wrong with a connection in one word. The word is for logs: it
// contains no text of the error.
func ConnectionCause(err error) string {
	op, ok := errors.AsType[*net.OpError](err)
	timed, mayTimeOut := errors.AsType[net.Error](err) // a TLS handshake that times out is no OpError

	switch {
	case strings.Contains(err.Error(), syscall.EMFILE.Error()): // errors of DNS have only the text
		return "descriptors"
	case ok && op.Op == "proxyconnect",
		!ok && errors.Is(err, context.DeadlineExceeded), // no answer to CONNECT for a minute
		errors.As(err, new(call.TunnelError)):
		return "proxy"
	case errors.As(err, new(*net.DNSError)):
		return "dns"
	case errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, wsaRefused):
		return "refused"
	case ok && op.Op == "remote error",
		errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(tls.RecordHeaderError)), // no TLS at all
		errors.Is(err, http.ErrSchemeMismatch):     // in place of some RecordHeaderErrors
		return "tls"
	case mayTimeOut && timed.Timeout():
		return "timeout"
	}
	return "broken"
}

// connectionDetail returns the detail of a request that got no answer: its ConnectionCause or, if
// that is tls, what is wrong with the certificate of the server.
func (a Advisor) connectionDetail(e *call.APIError) string {
	cause := ConnectionCause(e)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](e)
	switch {
	case cause != "tls":
		return cause
	case errors.As(e, new(x509.HostnameError)):
		return "host"
	case invalid.Reason == x509.Expired:
		return "expired"
	case errors.As(e, new(*tls.CertificateVerificationError)):
		return "untrusted" + a.rootsDetail()
	}
	return cause
}

// rootsDetail says where the root certificates come from, or that RootsFile has none. It returns ""
// if RootsFile has some, or is a pipe, which can be read only once. On macOS and Windows, Go asks the
// system and reads no file.
func (a Advisor) rootsDetail() string {
	switch {
	case a.GOOS == "darwin", a.GOOS == "windows":
		return " by the system"
	case a.RootsFile == "":
		return " without roots"
	}
	info, err := os.Stat(a.RootsFile)
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 { // a pipe can be read only once
		return ""
	}
	pem, _ := os.ReadFile(a.RootsFile) // Go ignores a file without certificates, without an error
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return " with bad roots"
	}
	return ""
}
