package main_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"
)

// What answers in the API's place: another path of it, the login page of a
// network, a firewall, a proxy that wants a password.
func TestAdviceOnAddresses(t *testing.T) {
	t.Parallel()
	const (
		noURL = `{"error":{"message":"Invalid URL (POST /responses)","type":"invalid_request_error","param":null,"code":null}}`
		page  = "<!DOCTYPE html><html><title>Welcome</title>"
		login = ", or log in to the network with a browser"
	)
	wrong := always(t, 404, "application/json", noURL)
	at := strings.TrimPrefix(wrong, "http://")
	tellAll(t, []plight{
		{name: "no version", base: wrong, want: []string{"not found (404)", "check openai.base_url (OPENAI_BASE_URL): it ends with the version, as in https://api.openai.com/v1"}},
		{name: "no version, slash", base: wrong + "/", want: []string{"not found (404)", "it ends with the version"}},
		{name: "in the file", base: "", env: []string{"OPENAI_BASE_URL="}, config: "openai:\n  base_url: " + wrong + "\n", want: []string{"check openai.base_url (", "config.yaml:2): it ends with"}},
		{name: "a page", base: always(t, 404, "text/html", page) + "/v1", want: []string{"not found (404)", "check openai.base_url (OPENAI_BASE_URL)"}},
		{name: "login page", base: always(t, 200, "text/html; charset=utf-8", page) + "/v1", want: []string{"a web page came back, no answer (200)", "check openai.base_url (OPENAI_BASE_URL)" + login}},
		{name: "leads to a login", base: always(t, 302, "text/html", page, "Location", "http://192.0.2.1/login?token=x") + "/v1",
			want: []string{"a redirect came back, no answer (302)", "check openai.base_url (OPENAI_BASE_URL)" + login}, not: []string{"token=x"}},
		{name: "511", base: always(t, 511, "text/html", page) + "/v1", want: []string{"the network wants a login (511)", "log in to it with a browser"}},
		{name: "407", base: always(t, 407, "text/html", page) + "/v1", want: []string{"the proxy wants a password (407)", "put user and password into HTTP_PROXY"}},
		{name: "firewall", base: always(t, 403, "text/html", page) + "/v1", want: []string{"access denied (403)", "whether a firewall or proxy answers"}},
		{name: "refused", base: nowhere, want: []string{"connection refused by 127.0.0.1:1", "check openai.base_url, HTTP_PROXY and the firewall"}},
		{name: "refused over IPv6", base: "http://[::1]:1/v1", want: []string{"[::1]:1"}},
		{name: "TLS at a plain server", base: "https://" + at + "/v1", want: []string{at + " does not speak TLS", "check http or https in openai.base_url"}},
	})
}

// A proxy is named by its variable, and its password never.
func TestAdviceOnProxies(t *testing.T) {
	t.Parallel()
	const base = "https://api.invalid/v1"
	not := []string{"hidden", "check the network and openai.base_url"}
	tellAll(t, []plight{
		{name: "down", base: base, env: []string{"HTTPS_PROXY=http://me:hidden@127.0.0.1:1"}, want: []string{"cannot reach the proxy", "check HTTPS_PROXY and NO_PROXY"}, not: not},
		{name: "small letters", base: base, env: []string{"https_proxy=http://me:hidden@127.0.0.1:1"}, want: []string{"cannot reach the proxy", "check https_proxy and NO_PROXY"}, not: not},
		{name: "password", base: base, env: []string{"HTTPS_PROXY=" + always(t, 407, "text/html", "")}, want: []string{"the proxy wants a password", "put user and password into HTTPS_PROXY"}, not: not},
		{name: "no tunnel", base: base, env: []string{"HTTPS_PROXY=" + always(t, 403, "text/html", "")},
			want: []string{"the proxy does not connect to api.invalid", "check HTTPS_PROXY and NO_PROXY, or ask who runs the proxy", "Forbidden"}, not: not},
		{name: "no URL", base: base, env: []string{"HTTPS_PROXY=http://me:hidden@proxy:port"}, want: []string{"HTTPS_PROXY"}, not: not},
	})
}

// certified is a server with a certificate of its own, and the file that it is
// in. change makes it another than one for today and this machine.
func certified(t *testing.T, change func(*x509.Certificate)) (base, file string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	c := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "a CA"}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-24 * time.Hour), NotAfter: time.Now().Add(24 * time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	change(c)
	der, err := x509.CreateCertificate(rand.Reader, c, c, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	s.TLS = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}}}
	s.StartTLS()
	t.Cleanup(s.Close)
	file = filepath.Join(t.TempDir(), "ca.pem")
	if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600); err != nil {
		t.Fatal(err)
	}
	return s.URL + "/v1", file
}

// The file of SSL_CERT_FILE is named when it is the one to mend: Go passes over
// one that it cannot use without a word.
func TestAdviceOnCertificates(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE is read by Go on Linux and the BSDs only")
	}
	today := func(*x509.Certificate) {}
	base, file := certified(t, today)
	_, other := certified(t, today)
	soon, soonFile := certified(t, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(24*time.Hour), time.Now().Add(48*time.Hour)
	})
	over, overFile := certified(t, func(c *x509.Certificate) {
		c.NotBefore, c.NotAfter = time.Now().Add(-48*time.Hour), time.Now().Add(-24*time.Hour)
	})
	elsewhere, elsewhereFile := certified(t, func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"a.example"} })
	junk := filepath.Join(t.TempDir(), "junk.pem")
	if err := os.WriteFile(junk, []byte("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	host := func(base string) string { return strings.TrimSuffix(strings.TrimPrefix(base, "https://"), "/v1") }
	cannot := "cannot verify the TLS certificate of " + host(base)
	roots := func(file string) []string { return []string{"SSL_CERT_FILE=" + file} }
	folder := t.TempDir()
	tellAll(t, []plight{
		{name: "not set", base: base, want: []string{cannot, "set SSL_CERT_FILE to a file with the CA of your network"}},
		{name: "not there", base: base, env: roots("/nowhere/ca.pem"), want: []string{cannot, "correct SSL_CERT_FILE: it names /nowhere/ca.pem, and it cannot be read (no such file or directory)"}},
		{name: "a folder", base: base, env: roots(folder), want: []string{cannot, filepath.Base(folder) + ", and it cannot be read (is a directory)"}},
		{name: "no certificate", base: base, env: roots(junk), want: []string{cannot, "junk.pem, and it has no certificate in PEM form"}},
		{name: "another", base: base, env: roots(other), want: []string{cannot, "add the CA of your network to ", "ca.pem (SSL_CERT_FILE)"}},
		{name: "right", base: base, env: roots(file), want: []string{"(404)"}, not: []string{"SSL_CERT_FILE"}},
		{name: "early", base: soon, env: roots(soonFile), want: []string{"the certificate of " + host(soon) + " is not valid now, but from", "set the clock of this machine, which says"}, not: []string{"SSL_CERT_FILE"}},
		{name: "late", base: over, env: roots(overFile), want: []string{"the certificate of " + host(over) + " is not valid now, only until", "check the clock of this machine"}, not: []string{"SSL_CERT_FILE"}},
		{name: "another host", base: elsewhere, env: roots(elsewhereFile), want: []string{"the certificate of " + host(elsewhere) + " is for another host", "check openai.base_url and HTTPS_PROXY"}},
	})
	// A file of no use that nothing depends on is a warning of doctor's.
	env := append(environment(t.TempDir()), "OPENAI_API_KEY=k", "OPENAI_BASE_URL="+base, "SSL_CERT_FILE=/nowhere/ca.pem", "SSL_CERT_DIR="+filepath.Dir(file))
	if got := fails(t, env, "doctor"); !strings.Contains(got, "SSL_CERT_FILE names /nowhere/ca.pem, and it cannot be read") || !strings.Contains(got, "warn  tls ") {
		t.Errorf("doctor says nothing of SSL_CERT_FILE:\n%s", got)
	}
}
