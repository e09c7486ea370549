package advice

import (
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

// wsaRefused is ECONNREFUSED on Windows, where the name in syscall has another
// value (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const wsaRefused = syscall.Errno(10061)

// Cause returns what went wrong with a connection in a word, for logs: it has nothing of the error.
func Cause(err error) string {
	op, ok := errors.AsType[*net.OpError](err)

	switch {
	case strings.Contains(err.Error(), syscall.EMFILE.Error()): // as text in errors of DNS
		return "descriptors"
	case ok && op.Op == "proxyconnect",
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
		errors.Is(err, http.ErrSchemeMismatch):     // which net/http makes of some of them
		return "tls"
	case ok && op.Timeout():
		return "timeout"
	}
	return "broken"
}

// connection returns the detail of a request that got no answer: its cause, or what is wrong with
// the certificate.
func (v Advisor) connection(e *call.Error) string {
	cause := Cause(e)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](e)
	switch {
	case cause != "tls":
		return cause
	case errors.As(e, new(x509.HostnameError)):
		return "host"
	case invalid.Reason == x509.Expired:
		return "expired"
	case errors.As(e, new(*tls.CertificateVerificationError)):
		return "untrusted" + v.roots()
	}
	return cause
}

// roots says which root certificates are in use, unless they are those of RootsFile. On macOS and
// Windows Go asks the system and reads no file.
func (v Advisor) roots() string {
	switch {
	case v.GOOS == "darwin", v.GOOS == "windows":
		return " by the system"
	case v.RootsFile == "":
		return " without roots"
	}
	info, err := os.Stat(v.RootsFile)
	if err == nil && info.Mode()&os.ModeNamedPipe != 0 { // it was read once
		return ""
	}
	pem, _ := os.ReadFile(v.RootsFile) // Go ignores such a file without an error
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return " with bad roots"
	}
	return ""
}
