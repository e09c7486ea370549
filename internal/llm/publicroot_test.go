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

// publicChain is a certificate chain of www.google.com. It is embedded because
// test/release runs the compiled test in the image, which has no files.
//
//go:embed testdata/publicroot.pem
var publicChain []byte

// TestPublicRoot checks that the bundled roots verify a public certificate on a
// system without roots. The handshake fails at the next step, the signature,
// because the test does not have the key of the certificate.
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

	// An unknown root is refused.
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

// withoutRoots runs the test in a process without the system's certificates.
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

// serveChain answers TLS handshakes with the public chain.
func serveChain(t *testing.T) string {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048) // the kind of the certificate's key
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
			_ = c.(*tls.Conn).Handshake() // fails
			c.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return l.Addr().String()
}
