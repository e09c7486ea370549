package advice

import (
	"encoding/pem"
	"fmt"
	"net/http/httptest"
	"os"
	"runtime"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The pages of OpenAI are of no use for another API.
func TestKeyOfAPI(t *testing.T) {
	const openAI = "set K to a key from https://platform.openai.com/api-keys"
	const other = " (any text if that server needs none)"
	for base, want := range map[string]string{
		"https://API.openai.com:443/v1": openAI,
		"https://eu.api.openai.com/v1":  openAI,
		"https://me:pw@a.example/v1":    "set K to a key for a.example" + other,
		"http://127.0.0.1:11434/v1":     "set K to a key for 127.0.0.1:11434" + other,
	} {
		t.Run(base, func(t *testing.T) {
			_, hint := advisorFor(base).Advise("answer", refused(call.KindMissingKey, 0, ""))

			want += "; --offline needs none"
			compare.Equal(t, "hint", hint, want)
		})
	}
}

// writeRoots writes ca.pem, a file with a root certificate, to a new current folder.
func writeRoots(t *testing.T) {
	srv := httptest.NewTLSServer(nil)
	defer srv.Close()
	block := &pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}

	t.Chdir(t.TempDir())
	err := os.WriteFile("ca.pem", pem.EncodeToMemory(block), 0o600)
	if err != nil {
		t.Fatal(err)
	}
}

// pipedRoots returns the path of a pipe that has been read, as in SSL_CERT_FILE=<(cat ca.pem).
func pipedRoots(t *testing.T) string {
	pipe, end, err := os.Pipe()
	if err != nil || runtime.GOOS == "windows" {
		return "ca.pem"
	}
	end.Close()
	t.Cleanup(func() { pipe.Close() })
	return fmt.Sprint("/dev/fd/", pipe.Fd())
}

// Hints depend on the settings. Go reads SSL_CERT_FILE on some systems only.
func TestSettings(t *testing.T) {
	const store = "add the CA of your network to the certificate store of the system " +
		"(SSL_CERT_FILE is not read there)"
	const noCA = " (SSL_CERT_FILE): it has no CA that signed this"

	models := map[string]Setting{
		"answer": {"model_profiles.answer.model", "gpt-9", "/etc/config.yaml:12"},
	}
	noKey := refused(call.KindAuth, 401, "")
	writeRoots(t)
	untrusted := listed(t, "{label: connection, causes: [unknown CA]}")

	piped := pipedRoots(t)
	quotes := func() string { return "it has quotes around it" }
	for _, tt := range []struct {
		advisor Advisor
		err     error
		want    string
	}{
		{
			Advisor{KeyVariable: "K", KeyFlaw: quotes, OtherHeaderVariables: []string{"TOKEN"}},
			noKey,
			"set K to the key alone: it has quotes around it, and check TOKEN (openai.headers)",
		},
		{
			Advisor{BaseURL: Setting{Value: "http://a"}, KeyVariable: "K_FILE", KeyInFile: true},
			noKey,
			"the key is wrong, cut off or revoked: write a current key for a to the file of K_FILE",
		},

		{
			Advisor{Models: models},
			refused(call.KindModel, 404, ""),
			"model_profiles.answer.model is gpt-9 (/etc/config.yaml:12): name another model there",
		},

		{Advisor{GOOS: "darwin", RootsFile: "ca.pem"}, untrusted, store},
		{Advisor{GOOS: "windows"}, untrusted, store},
		{
			Advisor{RootsFile: "no.pem"},
			untrusted,
			"correct SSL_CERT_FILE: it names no.pem, " +
				"and it cannot be read or has no certificate in PEM form",
		},
		{Advisor{RootsFile: "ca.pem"}, untrusted, "add the CA of your network to ca.pem" + noCA},
		{Advisor{RootsFile: piped}, untrusted, "add the CA of your network to " + piped + noCA},
	} {
		t.Run(tt.want, func(t *testing.T) {
			_, got := tt.advisor.Advise("answer", tt.err)

			compare.Equal(t, "hint", got, tt.want)
		})
	}
}
