package main_test

import (
	"encoding/pem"
	"io"
	"log"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// A certificate that nobody vouches for is refused at once, with advice; with
// the advice followed it is an API like any other.
func TestTLS(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("SSL_CERT_FILE is read by Go on Linux and the BSDs only")
	}
	a := fakeapi.New(fakeapi.Options{Key: key})
	server := httptest.NewUnstartedServer(a)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // of refused handshakes
	server.StartTLS()
	t.Cleanup(func() {
		a.Close()
		server.Close()
	})
	s := setup{api: &api{Server: a, url: server.URL + "/v1"}}
	c := begin(t, s)
	c.line(ask("1", "HTTP 404"))
	checkFault(t, c.want("1").fault(t), "SSL_CERT_FILE", "", false)
	c.count(0)
	c.done()

	bundle := filepath.Join(t.TempDir(), "ca.pem")
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	if err := os.WriteFile(bundle, cert, 0o600); err != nil {
		t.Fatal(err)
	}
	s.env = []string{"SSL_CERT_FILE=" + bundle}
	c = begin(t, s)
	c.line(ask("1", "HTTP 404"))
	c.want("1").answered(t)
	c.done()
}

// However a base URL is written, the request goes to its /responses, and what
// a gateway wants in the query goes along.
func TestBaseURL(t *testing.T) {
	t.Parallel()
	a := newAPI(t)
	root := strings.TrimSuffix(a.url, "/v1")
	for i, tt := range []struct{ base, path string }{
		{root + "/v1", "/v1/responses"},
		{root + "/v1/", "/v1/responses"},
		{root, "/responses"},
		{root + "/openai/deployments/x", "/openai/deployments/x/responses"},
		{root + "/v1?api-version=2025-04-01", "/v1/responses"},
	} {
		c := begin(t, setup{api: a, env: []string{"OPENAI_BASE_URL=" + tt.base}})
		c.line(ask("1", "HTTP 404"))
		c.want("1").answered(t)
		c.done()
		if got := a.Requests()[i].Path; got != tt.path {
			t.Errorf("base URL %s: request to %s, want %s", tt.base, got, tt.path)
		}
	}
}

// An answer of many MiB comes through; one beyond the bound is an error.
func TestLargeAnswers(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("長い答え ", 1<<18)
	a := newAPI(t, "huge=80")
	a.Always(fakeapi.Body(200, "application/json", `{"id":"resp_1","status":"completed","output":[`+said(text, "[]")+`]}`))
	c := begin(t, setup{api: a})
	c.line(ask("1", "x"))
	checkFault(t, c.want("1").fault(t), "16 MiB", "", false)
	c.line(ask("2", "x"))
	if got := c.want("2").answered(t).Answer; got != strings.TrimSpace(text) {
		t.Errorf("the answer has %d bytes, want %d", len(got), len(text))
	}
	c.done()
}

// Standard input and output may be files.
func TestFilesForPipes(t *testing.T) {
	t.Parallel()
	home := t.TempDir()
	in, out := filepath.Join(home, "in"), filepath.Join(home, "out")
	if err := os.WriteFile(in, []byte(initialize+"\n"+initialized+"\n"+ask("1", "HTTP 404")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	stdin, err := os.Open(in)
	if err != nil {
		t.Fatal(err)
	}
	defer stdin.Close()
	stdout, err := os.Create(out)
	if err != nil {
		t.Fatal(err)
	}
	defer stdout.Close()
	if err := runWith(stdin, stdout, home, "--stdio", "--offline"); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(read(t, out)), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], `"id":"init"`) || !strings.Contains(lines[1], `"id":1`) {
		t.Errorf("stdout holds %q, want two answers", lines)
	}
}
