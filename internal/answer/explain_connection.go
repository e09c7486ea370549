package answer

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"net/http"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// explainConnection looks for the cause that somebody can do something about.
func (g *Guide) explainConnection(e *llm.Error) remedy {
	var (
		dns    *net.DNSError
		op     *net.OpError
		record tls.RecordHeaderError
	)
	words := e.Error()
	tunnel, refused := errors.AsType[llm.TunnelError](e)
	switch {
	case tunnel == http.StatusProxyAuthRequired:
		return g.proxyPassword("")
	case errors.As(e, &op) && (op.Op == "proxyconnect" || op.Op == "socks connect"), strings.Contains(words, "proxyconnect"):
		return remedy{what: "cannot reach the proxy", cure: "check " + g.proxy() + " and NO_PROXY", said: e.Message}
	case tunnel >= 400:
		return remedy{what: "the proxy does not connect to " + g.host(), cure: "check " + g.proxy() + " and NO_PROXY, or ask who runs the proxy", said: e.Message}
	case refused: // it leads to the page of a login
		return remedy{what: "the proxy does not connect to " + g.host(), cure: "check " + g.proxy() + " and NO_PROXY, or log in to the network with a browser", said: e.Message}
	case errors.As(e, &dns):
		return remedy{what: "cannot resolve " + strconv.Quote(Cut(dns.Name, 60)), cure: "check the network, openai.base_url and " + g.proxy()}
	case errors.As(e, &record), strings.Contains(words, "HTTP response to HTTPS client"): // net/http keeps the words alone
		return remedy{what: g.dialled(e) + " does not speak TLS", cure: "check http or https in openai.base_url", said: e.Message}
	case errors.Is(e, syscall.ECONNREFUSED), strings.Contains(words, "refused"): // Windows has its own number
		return remedy{what: "connection refused by " + g.dialled(e), cure: "check openai.base_url, " + g.proxy() + " and the firewall"}
	case errors.Is(e, syscall.ENETUNREACH), errors.Is(e, syscall.EHOSTUNREACH), strings.Contains(words, "unreachable"): // Windows again
		return remedy{what: "no way through the network to " + g.dialled(e), cure: "check the network: cable, VPN, IPv4 and IPv6; behind a proxy set " + g.proxy()}
	case op != nil && op.Op == "dial" && op.Timeout():
		return remedy{what: g.dialled(e) + " does not take connections" + attempts(e), cure: "check openai.base_url, " + g.proxy() + " and the firewall"}
	}
	if r, ok := g.explainCertificate(e); ok {
		return r
	}
	return remedy{what: "connection failed" + attempts(e), cure: "check the network and openai.base_url", said: e.Message}
}

// explainCertificate is about a handshake that came as far as the certificate
// of the API, or of what stands in its way.
func (g *Guide) explainCertificate(e *llm.Error) (r remedy, ok bool) {
	var (
		verify  *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		name    x509.HostnameError
		invalid x509.CertificateInvalidError
	)
	switch {
	case errors.As(e, &name):
		return remedy{what: "the certificate of " + g.host() + " is for another host", cure: "check openai.base_url and " + g.proxy() + ", or log in to the network with a browser"}, true
	case errors.As(e, &invalid) && invalid.Reason == x509.Expired:
		return g.explainDates(invalid.Cert), true
	case errors.As(e, &verify), errors.As(e, &unknown):
		r := remedy{what: "cannot verify the TLS certificate of " + g.host()}
		r.cure, r.brief = g.trust()
		return r, true
	}
	return remedy{}, false
}

// explainDates is about a certificate that is not of this day. The day may be
// wrong: a machine without a battery begins in 1970.
func (g *Guide) explainDates(cert *x509.Certificate) remedy {
	r := remedy{what: "the certificate of " + g.host() + " is not valid now"}
	if cert == nil {
		r.cure = "check the clock of this machine"
		return r
	}
	now := time.Now().UTC()
	day := func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04") }
	if now.Before(cert.NotBefore) {
		r.what += ", but from " + day(cert.NotBefore)
		r.cure = "set the clock of this machine, which says " + day(now) + " UTC"
		return r
	}
	r.what += ", only until " + day(cert.NotAfter)
	r.cure = "check the clock of this machine, which says " + day(now) + " UTC; if it is right, " + g.host() + " has to renew"
	return r
}

func (g *Guide) proxyPassword(status string) remedy {
	return remedy{what: "the proxy wants a password" + status, cure: "put user and password into " + g.proxy()}
}

// dialled names the address that was dialled. The URL is not in the error: llm
// takes it out, as it may hold a password.
func (g *Guide) dialled(e *llm.Error) string {
	var op *net.OpError
	if errors.As(e, &op) && op.Addr != nil {
		return op.Addr.String()
	}
	return g.host()
}
