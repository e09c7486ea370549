package llm

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	_ "embed"
	"encoding/pem"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"testing"
	"time"
)

// A chain from a public root, without its key, which is Google's. Embedded, so
// that the compiled test runs where there are no files: test/release runs it in
// the image.
//
//go:embed testdata/publicroot.pem
var publicChain []byte

// On a system without root certificates, an image from scratch, a handshake
// with a server that shows a certificate from a public root verifies it with the
// bundled roots. The handshake ends one step later, at the signature: proving
// that it owns the certificate is what no server but Google's can do.
func TestPublicRoot(t *testing.T) {
	if !needRoots(x509.SystemCertPool()) {
		withoutRoots(t)
		return
	}
	client := NewHTTPClient()
	tr := client.Transport.(*transport)
	addr := serveChain(t)
	tr.secure.DialContext = func(context.Context, string, string) (net.Conn, error) { return net.Dial("tcp", addr) }
	tr.secure.TLSClientConfig.Time = func() time.Time { return time.Date(2023, 2, 1, 0, 0, 0, 0, time.UTC) }
	var verified [][]*x509.Certificate
	tr.secure.TLSClientConfig.VerifyPeerCertificate = func(_ [][]byte, chains [][]*x509.Certificate) error {
		verified = chains
		return nil
	}
	_, err := client.Get("https://www.google.com/")
	if err == nil || !strings.Contains(err.Error(), "invalid signature by the server certificate") {
		t.Errorf("the handshake ended with %v, want it to come to the server's signature", err)
	}
	if len(verified) == 0 {
		t.Fatal("no chain to a public root was verified")
	}
	if root := verified[0][len(verified[0])-1].Subject.CommonName; root != "GTS Root R1" {
		t.Errorf("the chain ends at %q, want GTS Root R1", root)
	}

	// The same name and time with a root of nobody's: refused, with a cure.
	tr.secure.TLSClientConfig.VerifyPeerCertificate = nil
	private := httptest.NewUnstartedServer(http.NotFoundHandler())
	private.Config.ErrorLog = log.New(io.Discard, "", 0)
	private.StartTLS()
	defer private.Close()
	addr = private.Listener.Addr().String()
	var unknown x509.UnknownAuthorityError
	if _, err := client.Get("https://example.com/"); !errors.As(err, &unknown) {
		t.Errorf("a private root gives %v, want an unknown authority", err)
	}
}

// withoutRoots runs this test again in a process that finds no certificates.
func withoutRoots(t *testing.T) {
	if runtime.GOOS == "darwin" || runtime.GOOS == "windows" {
		t.Skip("the system verifies certificates by itself")
	}
	if os.Getenv("SSL_CERT_DIR") == "/nonexistent" {
		t.Fatal("the system has certificates that no variable names")
	}
	cmd := exec.Command(os.Args[0], "-test.run=^TestPublicRoot$", "-test.v")
	cmd.Env = append(os.Environ(), "SSL_CERT_FILE=/nonexistent", "SSL_CERT_DIR=/nonexistent")
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "--- PASS: TestPublicRoot") {
		t.Errorf("without certificates of the system: %v\n%s", err, out)
	}
}

// serveChain answers TLS handshakes on loopback with the public chain.
func serveChain(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048) // of the kind that the certificate names
	if err != nil {
		t.Fatal(err)
	}
	cert := tls.Certificate{PrivateKey: key}
	for rest := publicChain; ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		cert.Certificate = append(cert.Certificate, block.Bytes)
	}
	l, err := tls.Listen("tcp", "127.0.0.1:0", &tls.Config{Certificates: []tls.Certificate{cert}})
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_ = c.(*tls.Conn).Handshake() // the client breaks it off
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}
