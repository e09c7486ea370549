package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync"
	"time"
)

// internet is all of it that a release can reach: a proxy on loopback that
// leads every host it knows to one handler, over TLS with a certificate of its
// own, and refuses the others. So goreleaser and gh are used as they are, with
// the configuration of the release.
type internet struct {
	hosts       []string
	certificate []byte // PEM, for SSL_CERT_FILE
	tls, proxy  *httptest.Server

	mu      sync.Mutex
	refused []string
}

// connect starts it. The caller closes it.
func connect(hosts []string, h http.Handler) (*internet, error) {
	cert, err := certify(hosts)
	if err != nil {
		return nil, err
	}
	n := &internet{hosts: hosts}
	n.certificate = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})
	n.tls = httptest.NewUnstartedServer(h)
	n.tls.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	n.tls.Config.ErrorLog = log.New(io.Discard, "", 0) // connections that a client breaks off
	n.tls.StartTLS()
	n.proxy = httptest.NewServer(http.HandlerFunc(n.tunnel))
	return n, nil
}

func (n *internet) close() {
	n.tls.CloseClientConnections() // and with them the tunnels
	n.proxy.Close()
	n.tls.Close()
}

// strangers are the hosts that somebody asked for and did not get.
func (n *internet) strangers() []string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.refused)
}

// tunnel answers CONNECT.
func (n *internet) tunnel(w http.ResponseWriter, r *http.Request) {
	host, _, _ := net.SplitHostPort(r.Host)
	if r.Method != http.MethodConnect || !slices.Contains(n.hosts, host) {
		n.mu.Lock()
		n.refused = append(n.refused, r.Method+" "+r.Host)
		n.mu.Unlock()
		http.Error(w, "no such host here", http.StatusForbidden)
		return
	}
	var d net.Dialer
	up, err := d.DialContext(r.Context(), "tcp", n.tls.Listener.Addr().String())
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer up.Close()
	down, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer down.Close()
	if _, err := io.WriteString(down, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(up, down) // either end may break off
		up.Close()
	}()
	_, _ = io.Copy(down, up)
	down.Close()
	<-done
}

// certify makes a certificate for the hosts that is its own root.
func certify(hosts []string) (tls.Certificate, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return tls.Certificate{}, err
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: hosts,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, err
}
