package advice

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// wsaRefused is ECONNREFUSED on Windows, where the name in syscall has another
// value (https://learn.microsoft.com/windows/win32/winsock/windows-sockets-error-codes-2).
const wsaRefused = syscall.Errno(10061)

// proxyOrScheme explains an error of a proxy or of the wrong scheme, of any kind. Others get no
// explanation.
func (v Advisor) proxyOrScheme(e *llm.Error) explanation {
	tunnel, tunneled := errors.AsType[llm.TunnelError](e)
	password := e.Status == http.StatusProxyAuthRequired || tunnel == http.StatusProxyAuthRequired
	scheme := errors.Is(e, llm.ErrPlainHTTP) || errors.Is(e, http.ErrSchemeMismatch)

	switch {
	case password:
		hint := "put user and password into " + v.Proxy
		return explanation{"the proxy requires a password", hint, ""}
	case tunneled:
		problem := "the proxy does not connect to " + v.host()
		hint := "check " + v.Proxy + " and NO_PROXY, or ask the administrator of the proxy"
		return explanation{problem, hint, e.Message}
	case scheme:
		hint := "check http or https in " + v.base()
		return explanation{"http and https are mixed up", hint, e.Message}
	}
	return explanation{}
}

// connection explains a request that got no answer.
func (v Advisor) connection(e *llm.Error) explanation {
	op, dialed := errors.AsType[*net.OpError](e)
	dns, unresolved := errors.AsType[*net.DNSError](e)
	refused := errors.Is(e, syscall.ECONNREFUSED) || errors.Is(e, wsaRefused)

	switch {
	case dialed && op.Op == "proxyconnect":
		hint := "check " + v.Proxy + " and NO_PROXY"
		return explanation{"cannot reach the proxy", hint, e.Message}
	case unresolved:
		problem := "cannot resolve " + strconv.Quote(text.Truncate(dns.Name, 60))
		hint := "check the network, openai.base_url and " + v.Proxy
		return explanation{problem, hint, ""}
	case refused:
		hint := "check openai.base_url, " + v.Proxy + " and the firewall"
		return explanation{"connection refused by " + v.host(), hint, ""}
	}

	x := v.certificate(e)
	if x.problem != "" {
		return x
	}
	hint := "check the network, openai.base_url, " + v.Proxy + " and the firewall"
	connected := !dialed || op.Op != "dial"
	if connected {
		hint = v.orPlain(hint)
	}
	return explanation{"connection failed", hint, e.Message}
}

// certificate explains a certificate that was not accepted. Other errors get no explanation.
func (v Advisor) certificate(e *llm.Error) explanation {
	_, unverified := errors.AsType[*tls.CertificateVerificationError](e)
	_, otherHost := errors.AsType[x509.HostnameError](e)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](e)

	switch {
	case otherHost:
		problem := "the certificate of " + v.host() + " is for another host"
		hint := "check openai.base_url and " + v.Proxy + ", or log in to the network with a browser"
		return explanation{problem, hint, ""}

	case invalid.Reason == x509.Expired: // or the clock: a machine without a battery starts in 1970
		from := invalid.Cert.NotBefore.Format(time.DateOnly)
		to := invalid.Cert.NotAfter.Format(time.DateOnly)
		today := time.Now().Format(time.DateOnly)
		problem := "the certificate of " + v.host() + " is valid from " + from + " to " + to
		return explanation{problem, "check the clock of this machine, which says " + today, ""}

	case unverified:
		problem := "cannot verify the TLS certificate of " + v.host()
		return explanation{problem, v.trust(), ""}
	}
	return explanation{}
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

	flaw := v.RootsFlaw()
	if flaw != "" {
		return "correct SSL_CERT_FILE: it names " + v.RootsFile + ", and " + flaw
	}
	return add + v.RootsFile + " (SSL_CERT_FILE): it has no CA that signed this"
}
