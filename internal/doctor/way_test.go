package doctor

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// walk is a request that gets as far as a test lets it: it calls the hooks that
// the HTTP client would call.
type walk struct {
	*httptrace.ClientTrace
	ctx context.Context
}

func (w walk) resolve(hosts ...string) {
	w.DNSStart(httptrace.DNSStartInfo{Host: "api.example"})
	var list []net.IPAddr
	for _, h := range hosts {
		list = append(list, net.IPAddr{IP: net.ParseIP(h)})
	}
	w.DNSDone(httptrace.DNSDoneInfo{Addrs: list})
}

func (w walk) connect(addr string) {
	w.ConnectStart("tcp", addr)
	w.ConnectDone("tcp", addr, nil)
}

func (w walk) secure() {
	w.TLSHandshakeStart()
	w.TLSHandshakeDone(tls.ConnectionState{Version: tls.VersionTLS13, PeerCertificates: []*x509.Certificate{{
		Issuer:   pkix.Name{CommonName: "R3", Organization: []string{"A CA"}},
		NotAfter: time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC),
	}}}, nil)
}

// hang waits for the end of the request, as one without an answer does.
func (w walk) hang() *Fault {
	<-w.ctx.Done()
	return &Fault{Text: "cancelled"}
}

// lines lists the checks of the way, a line each.
func lines(checks []Check) []string {
	var list []string
	for _, c := range checks {
		switch c.Name {
		case "proxy", "dns", "tcp", "tls", "http":
			list = append(list, strings.TrimSuffix(string(c.Verdict)+" "+c.Name+": "+c.Text+" -> "+c.Cure, " -> "))
		}
	}
	return list
}

func TestWay(t *testing.T) {
	const through = "http://me:secret@proxy.example:3128"
	refused := &Fault{Text: "connection refused by 10.0.0.1:443", Cure: "check it"}
	tests := []struct {
		name  string
		proxy string
		walk  func(walk) *Fault
		want  []string
		took  time.Duration
	}{
		{"all the way", "", func(w walk) *Fault {
			w.resolve("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
			w.ConnectStart("tcp", "10.0.0.1:443")
			w.connect("10.0.0.2:443")
			w.ConnectDone("tcp", "10.0.0.1:443", errors.New("too late")) // the loser of two
			w.secure()
			w.GotConn(httptrace.GotConnInfo{})
			time.Sleep(25 * time.Millisecond)
			w.GotFirstResponseByte()
			return nil
		}, []string{
			"ok proxy: none",
			"ok dns: api.example is 10.0.0.1, 10.0.0.2, 10.0.0.3, …",
			"ok tcp: connected to 10.0.0.2:443",
			"ok tls: TLS 1.3, certificate by A CA until 2027-01-02",
			"ok http: answers in 25 ms",
		}, 25 * time.Millisecond},
		{"no name", "", func(w walk) *Fault {
			w.DNSStart(httptrace.DNSStartInfo{})
			w.DNSDone(httptrace.DNSDoneInfo{Err: errors.New("no such host")})
			return &Fault{Text: "cannot resolve it", Cure: "check the network"}
		}, []string{"ok proxy: none", "fail dns: cannot resolve it -> check the network"}, 0},
		{"a slow name server", "", func(w walk) *Fault {
			w.DNSStart(httptrace.DNSStartInfo{})
			return w.hang()
		}, []string{"ok proxy: none", "fail dns: api.example is not resolved within 5s -> check the network and its name server, openai.base_url and HTTPS_PROXY"}, dnsLimit},
		{"refused", "", func(w walk) *Fault {
			w.resolve("10.0.0.1")
			w.ConnectStart("tcp", "10.0.0.1:443")
			w.ConnectDone("tcp", "10.0.0.1:443", errors.New("refused"))
			return refused
		}, []string{"ok proxy: none", "ok dns: api.example is 10.0.0.1", "fail tcp: connection refused by 10.0.0.1:443 -> check it"}, 0},
		{"a firewall that drops", "", func(w walk) *Fault {
			w.resolve("10.0.0.1")
			time.Sleep(time.Second) // the limit is that of the stage alone
			w.ConnectStart("tcp", "10.0.0.1:443")
			return w.hang()
		}, []string{"ok proxy: none", "ok dns: api.example is 10.0.0.1",
			"fail tcp: api.example does not take connections within 5s -> check the firewall, openai.base_url and HTTPS_PROXY"}, tcpLimit + time.Second},
		{"a silent handshake", "", func(w walk) *Fault {
			w.connect("10.0.0.1:443")
			w.TLSHandshakeStart()
			return w.hang()
		}, []string{"ok proxy: none", "ok dns: not needed", "ok tcp: connected to 10.0.0.1:443",
			"fail tls: api.example does not finish the TLS handshake within 5s -> check what stands between: a firewall, a proxy (HTTPS_PROXY), http or https in openai.base_url"}, tlsLimit},
		{"no answer", "", func(w walk) *Fault {
			w.connect("10.0.0.1:443")
			w.secure()
			w.GotConn(httptrace.GotConnInfo{})
			return w.hang()
		}, []string{"ok proxy: none", "ok dns: not needed", "ok tcp: connected to 10.0.0.1:443", "ok tls: TLS 1.3, certificate by A CA until 2027-01-02",
			"fail http: api.example takes the request and does not answer within 7s -> try again later; if it stays so, check openai.base_url"}, httpLimit},
		{"through a proxy", through, func(w walk) *Fault {
			w.resolve("10.0.0.9")
			w.connect("10.0.0.9:3128")
			w.secure()
			w.GotConn(httptrace.GotConnInfo{})
			w.GotFirstResponseByte()
			return nil
		}, []string{"ok proxy: http://proxy.example:3128 (HTTPS_PROXY)", "ok dns: left to the proxy",
			"ok tls: TLS 1.3, certificate by A CA until 2027-01-02", "ok http: answers in 0 ms"}, 0},
		{"a proxy that refuses", through, func(w walk) *Fault {
			w.connect("10.0.0.9:3128")
			return &Fault{Text: "connection failed: Proxy Authentication Required", Cure: "check the network"}
		}, []string{"fail proxy: http://proxy.example:3128: connection failed: Proxy Authentication Required -> check HTTPS_PROXY and NO_PROXY"}, 0},
		{"a proxy that hangs", through, func(w walk) *Fault {
			w.connect("10.0.0.9:3128")
			return w.hang()
		}, []string{"fail proxy: http://proxy.example:3128 does not answer within 5s -> check HTTPS_PROXY and NO_PROXY"}, tcpLimit},
		{"nothing was sent", "", func(walk) *Fault {
			return &Fault{Text: "the request cannot be made", Cure: "report it"}
		}, []string{"ok proxy: none", "fail http: the request cannot be made -> report it"}, 0},
		{"a page of the wrong address", "", func(w walk) *Fault {
			w.connect("10.0.0.1:443")
			w.secure()
			w.GotConn(httptrace.GotConnInfo{})
			w.GotFirstResponseByte()
			return &Fault{About: AboutAddress, Status: 404, Text: "not found (404)", Cure: "check openai.base_url"}
		}, []string{"ok proxy: none", "ok dns: not needed", "ok tcp: connected to 10.0.0.1:443", "ok tls: TLS 1.3, certificate by A CA until 2027-01-02",
			"fail http: not found (404) -> check openai.base_url"}, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := healthy()
				if tt.proxy != "" {
					o.Proxy = func(*http.Request) (*url.URL, error) { return url.Parse(tt.proxy) }
				}
				var trace *httptrace.ClientTrace
				o.Model = func(ctx context.Context, _ string) (json.RawMessage, *Fault) {
					trace = httptrace.ContextClientTrace(ctx)
					return nil, tt.walk(walk{trace, ctx})
				}
				begin := time.Now()
				checks := Run(t.Context(), o)
				if took := time.Since(begin); took != tt.took {
					t.Errorf("it took %v, want %v", took, tt.took)
				}
				if diff := cmp.Diff(tt.want, lines(checks)); diff != "" {
					t.Errorf("the way (-want +got):\n%s", diff)
				}
				// The HTTP client may go on for a while.
				walk{ClientTrace: trace}.connect("10.0.0.1:443")
				time.Sleep(time.Minute)
			})
		})
	}
}

// Whatever is slow, a run without the live question ends in time.
func TestRunIsBounded(t *testing.T) {
	if most := dnsLimit + tcpLimit + tlsLimit + 2*httpLimit; most > limit {
		t.Errorf("the stages may take %v, the run %v", most, limit)
	}
	synctest.Test(t, func(t *testing.T) {
		o := healthy()
		o.Model = func(ctx context.Context, _ string) (json.RawMessage, *Fault) {
			return nil, walk{ctx: ctx}.hang() // calls no hook
		}
		o.Stdio = func(ctx context.Context, _ bool) (int, error) {
			<-ctx.Done()
			return 0, ctx.Err()
		}
		begin := time.Now()
		checks := Run(t.Context(), o)
		if took := time.Since(begin); took != limit || Failed(checks) != 2 {
			t.Errorf("%d failures after %v, want 2 after %v", Failed(checks), took, limit)
		}
		if c := find(t, checks, "http"); c.Text != "no answer came within 30s" {
			t.Errorf("http: %q -> %q", c.Text, c.Cure)
		}
	})
}

func TestDirect(t *testing.T) {
	tests := []struct {
		base    string
		env     map[string]string
		verdict Verdict
		text    string
	}{
		{"https://api.example/v1", nil, OK, "none"},
		{"https://api.example/v1", map[string]string{"HTTP_PROXY": "http://p"}, OK, "none"},
		{"http://api.example/v1", map[string]string{"http_proxy": "%zz"}, Warn, "http_proxy is set and not used: it is no URL of a proxy"},
		{"https://api.example/v1", map[string]string{"https_proxy": "http://p", "NO_PROXY": ".example"}, OK, "none, by NO_PROXY"},
		{"http://localhost/v1", map[string]string{"HTTP_PROXY": "http://p"}, OK, "none, this machine is reached directly"},
	}
	for _, tt := range tests {
		o := healthy()
		o.BaseURL = tt.base
		o.Variable = func(name string) string { return tt.env[name] }
		if c := find(t, Run(t.Context(), o), "proxy"); c.Verdict != tt.verdict || c.Text != tt.text {
			t.Errorf("%s with %v: %s %q, want %s %q", tt.base, tt.env, c.Verdict, c.Text, tt.verdict, tt.text)
		}
	}
}

// What net/http makes of an address that is none must not be shown: the
// password is in its path.
func TestProxyAddress(t *testing.T) {
	for _, tt := range []struct {
		address string
		err     error
	}{
		{"", errors.New("http://me:secret@%zz")},
		{"http://http://me:secret@proxy:port", nil},
		{"http://://me:secret@proxy", nil},
	} {
		o := healthy()
		o.Proxy = func(*http.Request) (*url.URL, error) {
			if tt.err != nil {
				return nil, tt.err
			}
			return url.Parse(tt.address)
		}
		c := find(t, Run(t.Context(), o), "proxy")
		if c.Verdict != Fail || strings.Contains(c.Text+c.Cure, "secret") || !strings.HasPrefix(c.Cure, "correct HTTPS_PROXY: http://HOST:PORT") {
			t.Errorf("proxy %q, %v: %+v", tt.address, tt.err, c)
		}
	}
}
