package advice

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// wsaRefused is ECONNREFUSED on Windows, where the name in syscall has another
// value (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const wsaRefused = syscall.Errno(10061)

// proxyOrScheme explains an error of a proxy or of the wrong scheme, of any kind. Others have no
// problem.
func (v Advisor) proxyOrScheme(e *llm.Error) (problem, hint, message string) {
	tunnel, tunneled := errors.AsType[llm.TunnelError](e)

	switch {
	case e.Status == http.StatusProxyAuthRequired, tunnel == http.StatusProxyAuthRequired:
		return "the proxy requires a password", "put user and password into " + v.Proxy, ""
	case tunneled:
		hint = "check " + v.Proxy + " and NO_PROXY, or ask the administrator of the proxy"
		return "the proxy does not connect to " + v.host(), hint, e.Message
	case errors.Is(e, llm.ErrPlainHTTP), errors.Is(e, http.ErrSchemeMismatch):
		return "http and https are mixed up", "check http or https in " + v.base(), e.Message
	}
	return "", "", ""
}

// Cause returns what went wrong with a connection in a word, for logs: it has nothing of the error.
func Cause(err error) string {
	op, isOp := errors.AsType[*net.OpError](err)

	switch {
	case strings.Contains(err.Error(), syscall.EMFILE.Error()): // as text in errors of DNS
		return "descriptors"
	case isOp && op.Op == "proxyconnect",
		errors.As(err, new(llm.TunnelError)):
		return "proxy"
	case errors.As(err, new(*net.DNSError)):
		return "dns"
	case errors.Is(err, syscall.ECONNREFUSED),
		errors.Is(err, wsaRefused):
		return "refused"
	case isOp && op.Op == "remote error",
		errors.As(err, new(*tls.CertificateVerificationError)),
		errors.As(err, new(tls.RecordHeaderError)), // no TLS at all
		errors.Is(err, http.ErrSchemeMismatch):     // which net/http makes of some of them
		return "tls"
	case isOp && op.Timeout():
		return "timeout"
	}
	return "broken"
}

// connection explains a request that got no answer.
func (v Advisor) connection(e *llm.Error) (problem, hint, message string) {
	switch Cause(e) {
	case "descriptors":
		hint = "raise its limit of open files (ulimit -n, LimitNOFILE)"
		return "this server has too many open files", hint, ""
	case "proxy":
		return "cannot reach the proxy", "check " + v.Proxy + " and NO_PROXY", e.Message
	case "dns":
		dns, _ := errors.AsType[*net.DNSError](e)
		problem = "cannot resolve " + strconv.Quote(text.Truncate(dns.Name, 60))
		return problem, "check the network, openai.base_url and " + v.Proxy, ""
	case "refused":
		hint = "check openai.base_url, " + v.Proxy + " and the firewall"
		return "connection refused by " + v.host(), hint, ""
	}

	invalid, _ := errors.AsType[x509.CertificateInvalidError](e)
	switch {
	case errors.As(e, new(x509.HostnameError)):
		hint = "check openai.base_url and " + v.Proxy + ", or log in to the network with a browser"
		return "the certificate of " + v.host() + " is for another host", hint, ""
	case invalid.Reason == x509.Expired: // or the clock: a machine without a battery starts in 1970
		problem = fmt.Sprintf("the certificate of %s is valid from %s to %s", v.host(),
			invalid.Cert.NotBefore.Format(time.DateOnly),
			invalid.Cert.NotAfter.Format(time.DateOnly))
		hint = "check the clock of this machine, which says " + time.Now().Format(time.DateOnly)
		return problem, hint, ""
	case errors.As(e, new(*tls.CertificateVerificationError)):
		return "cannot verify the TLS certificate of " + v.host(), v.trust(), ""
	}

	hint = "check the network, openai.base_url, " + v.Proxy + " and the firewall"
	op, dialed := errors.AsType[*net.OpError](e)
	connected := !dialed || op.Op != "dial"
	if connected {
		hint = v.orPlain(hint)
	}
	return "connection failed", hint, e.Message
}

// trust says how to add a root certificate. On macOS and Windows Go asks the
// system and reads no file.
func (v Advisor) trust() string {
	const add = "add the CA of your network to "
	if v.GOOS == "darwin" || v.GOOS == "windows" {
		return add + "the certificate store of the system (SSL_CERT_FILE is not read there)"
	}
	if v.RootsFile == "" {
		return "set SSL_CERT_FILE to a file with the CA of your network"
	}

	pem, _ := os.ReadFile(v.RootsFile) // Go ignores such a file without an error
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "correct SSL_CERT_FILE: it names " + v.RootsFile +
			", and it cannot be read or has no certificate in PEM form"
	}
	return add + v.RootsFile + " (SSL_CERT_FILE): it has no CA that signed this"
}
