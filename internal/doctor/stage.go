package doctor

import (
	"crypto/tls"
	"fmt"
	"net"
	"net/http/httptrace"
	"strings"
	"time"
)

// The stages of a request, as the report names them.
const (
	stageProxy = "proxy"
	stageDNS   = "dns"
	stageTCP   = "tcp"
	stageTLS   = "tls"
	stageHTTP  = "http"
)

// trace follows the connection. With a proxy, the first stages are those of
// the way to the proxy: the target's name is resolved there.
func (p *probe) trace() *httptrace.ClientTrace {
	near := func(stage string) string {
		if p.proxy != nil {
			return stageProxy
		}
		return stage
	}
	return &httptrace.ClientTrace{
		DNSStart: func(httptrace.DNSStartInfo) { p.begin(near(stageDNS), dnsLimit) },
		DNSDone: func(i httptrace.DNSDoneInfo) {
			if i.Err == nil && p.proxy == nil {
				p.pass(stageDNS, "%s is %s", p.target.Hostname(), addresses(i.Addrs))
			}
		},
		ConnectStart: func(string, string) { p.begin(near(stageTCP), tcpLimit) },
		ConnectDone: func(_, addr string, err error) {
			if err == nil {
				p.pass(near(stageTCP), "connected to %s", addr)
			}
		},
		TLSHandshakeStart: func() { p.begin(stageTLS, tlsLimit) },
		TLSHandshakeDone: func(s tls.ConnectionState, err error) {
			if err == nil {
				p.pass(stageTLS, "%s", described(s))
			}
		},
		GotConn:              func(httptrace.GotConnInfo) { p.begin(stageHTTP, httpLimit) },
		GotFirstResponseByte: func() { p.pass(stageHTTP, "answers in %d ms", p.elapsed().Milliseconds()) },
	}
}

// addresses are the first few of a host.
func addresses(list []net.IPAddr) string {
	const few = 3
	var names []string
	for _, a := range list[:min(len(list), few)] {
		names = append(names, a.String())
	}
	if len(list) > few {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// described names the protocol and who vouches for the server: behind a proxy
// that looks into TLS it is not who one expects.
func described(s tls.ConnectionState) string {
	text := tls.VersionName(s.Version)
	if len(s.PeerCertificates) == 0 {
		return text
	}
	leaf := s.PeerCertificates[0]
	issuer := leaf.Issuer.CommonName
	if len(leaf.Issuer.Organization) > 0 {
		issuer = leaf.Issuer.Organization[0]
	}
	return fmt.Sprintf("%s, certificate by %s until %s", text, issuer, leaf.NotAfter.UTC().Format(time.DateOnly))
}

// report turns what was seen into checks, down to the stage that failed. A
// proxy that is reached may still refuse to connect; that is its failure too.
func (p *probe) report(f *Fault) []Check {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f != nil && f.Status == 0 && p.stage == "" { // nothing was dialled
		return []Check{p.failure(stageHTTP, f)}
	}
	var checks []Check
	for _, stage := range p.stages() {
		text := p.passed[stage]
		if f != nil && f.Status == 0 && stage == p.stage {
			return append(checks, p.failure(stage, f))
		}
		if stage == stageProxy {
			text = fmt.Sprintf("%s (%s)", p.address(), p.variable)
		}
		if text == "" {
			text = p.unseen(stage)
		}
		checks = append(checks, Check{Name: stage, Verdict: OK, Text: text})
	}
	last := &checks[len(checks)-1]
	switch {
	case f == nil || f.About == AboutKey || f.About == AboutModel:
	case f.About == AboutScope:
		*last = Check{Name: stageHTTP, Verdict: Warn, Text: f.Text, Cure: f.Cure}
	default:
		*last = Check{Name: stageHTTP, Verdict: Fail, Text: f.Text, Cure: f.Cure}
	}
	return checks
}

// stages are those that the report has lines for.
func (p *probe) stages() []string {
	list := []string{stageDNS, stageTCP, stageTLS, stageHTTP}
	if p.proxy != nil {
		list = []string{stageProxy, stageDNS, stageTLS, stageHTTP}
	}
	return list
}

// failure is the check of the stage that failed.
func (p *probe) failure(stage string, f *Fault) Check {
	c := Check{Name: stage, Verdict: Fail, Text: f.Text, Cure: f.Cure}
	if stage == stageProxy {
		c.Text = fmt.Sprintf("%s: %s", p.address(), f.Text)
		if !strings.Contains(c.Cure, p.variable) {
			c.Cure = "check " + p.variable + " and NO_PROXY"
		}
	}
	if stage == stageTLS && !strings.Contains(f.Text, p.target.Host) {
		c.Text = fmt.Sprintf("%s: %s", p.target.Host, f.Text)
	}
	if !p.slow {
		return c
	}
	switch stage {
	case stageProxy:
		c.Text = fmt.Sprintf("%s does not answer within %v", p.address(), tcpLimit)
	case stageDNS:
		c.Text = fmt.Sprintf("%s is not resolved within %v", p.target.Hostname(), dnsLimit)
		c.Cure = "check the network and its name server, openai.base_url and HTTPS_PROXY"
	case stageTCP:
		c.Text = fmt.Sprintf("%s does not take connections within %v", p.target.Host, tcpLimit)
		c.Cure = "check the firewall, openai.base_url and HTTPS_PROXY"
	case stageTLS:
		c.Text = fmt.Sprintf("%s does not finish the TLS handshake within %v", p.target.Host, tlsLimit)
		c.Cure = "check what stands between: a firewall, a proxy (HTTPS_PROXY), http or https in openai.base_url"
	default:
		c.Text = fmt.Sprintf("%s takes the request and does not answer within %v", p.target.Host, httpLimit)
		c.Cure = "try again later; if it stays so, check openai.base_url"
	}
	return c
}

// trusted warns of a file with root certificates that Go has passed over,
// though the handshake went well without it.
func (o *Options) trusted(checks []Check) []Check {
	for i, c := range checks {
		if c.Name == stageTLS && c.Verdict == OK && o.RootsFlaw != "" && strings.HasPrefix(c.Text, "TLS") {
			checks[i].Verdict, checks[i].Text, checks[i].Cure = Warn, c.Text+"; "+o.RootsFlaw, "correct SSL_CERT_FILE, or unset it: it has no effect"
		}
	}
	return checks
}

// unseen explains a stage that there was nothing to see of.
func (p *probe) unseen(stage string) string {
	switch {
	case stage == stageDNS && p.proxy != nil:
		return "left to the proxy"
	case stage == stageDNS:
		return "not needed"
	case stage == stageTLS && p.target.Scheme != "https":
		return "not used: plain http"
	}
	return "done"
}
