package advice

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

func advisorFor(base string) Advisor {
	return Advisor{BaseURL: Setting{"openai.base_url", base, "OPENAI_BASE_URL"}, Key: "K", Proxy: "HTTPS_PROXY"}
}

func TestExplain(t *testing.T) {
	const (
		model    = "The model `gpt-9` does not exist or you do not have access to it."
		unproved = "Your organization must be verified to use the model `gpt-9`."
		base     = "check openai.base_url (OPENAI_BASE_URL)"
		firewall = ", and whether a firewall or a login page of the network answers instead"
		timeout  = "raise request.timeout_ms or OPENAI_API_TIMEOUT"
	)
	connection := func(message string, cause error) error {
		return &llm.Error{Kind: llm.KindConnection, Message: message, Err: cause}
	}
	certificate := func(cause error) error {
		return connection("", &tls.CertificateVerificationError{Err: cause})
	}
	tests := []struct {
		err           error
		problem, hint string // of Advise
		said          string // end of problem
	}{
		{errors.New("looking up profile\n\"x\": not configured"), `looking up profile "x": not configured`, "", ""},
		{answer.TimeoutError(1500 * time.Millisecond), "timed out after 1.5 s", timeout, ""},
		{&llm.Error{Kind: llm.KindTimeout, Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, answer.TimeoutError(time.Second))}, "timed out after 1 s", timeout, ""},
		{&llm.Error{Kind: llm.KindTimeout, Err: fmt.Errorf("%w: %w: %w", context.DeadlineExceeded, answer.TimeoutError(time.Second), llm.QueuedError(12))}, "timed out after 1 s, waiting for the rate limit with 12 calls ahead", "ask fewer questions at once, or " + timeout, ""},
		{answer.NoTextError("incomplete: content_filter"), "incomplete: content_filter; the model wrote no answer", "rephrase the question", ""},
		{answer.NoTextError("incomplete: max_output_tokens"), "incomplete: max_output_tokens; the model wrote no answer", "ask for less, or raise max_output_tokens of the profile", ""},
		{answer.NoTextError("no output"), "no output; the model wrote no answer", "try again", ""},

		// The API repeats a part of the key here, so its message is left out.
		{&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "Incorrect API key provided: sk-abc***xyz."}, "the API refused the key (401)", "set K to a complete and current key from https://platform.openai.com/api-keys", ""},
		{&llm.Error{Kind: llm.KindAuth, Message: "the key in K has a line break"}, "the key in K has a line break", "set K to the key alone, in one line", ""},
		{&llm.Error{Kind: llm.KindPermission, Status: 403, Code: "unsupported_country", Message: "Country not supported"}, "access denied (403)", "check the permissions of the key in K, your region, and any firewall", "Country not supported"},
		{&llm.Error{Kind: llm.KindPermission, Status: 403, Err: llm.ErrWebPage}, "received a web page, not an answer (403)", base + firewall, ""},
		{&llm.Error{Kind: llm.KindUnverified, Status: 400, Param: "stream", Message: unproved}, "the organization is not verified (400)", "verify it at https://platform.openai.com/settings/organization/general, or choose another model", unproved},
		{&llm.Error{Kind: llm.KindModel, Status: 404, Message: model}, "model not found (404)", "check model_profiles (MODEL_ANSWER)", model},
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "Invalid URL (POST /v1/models/responses)"}, "not found (404)", base + ": it ends with the version, as in https://api.openai.com/v1", "Invalid URL (POST /v1/models/responses)"},
		{&llm.Error{Kind: llm.KindQuota, Status: 429, Message: "You exceeded your current quota"}, "quota exceeded (429)", "check plan, credit and limits of your account", ""},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 4, RetryAfter: 20 * time.Second}, "rate limit reached (429) after 4 attempts", "try again in 20 s", ""},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 1}, "rate limit reached (429)", "wait a little, or raise request.max_retries", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "reasoning.effort", Message: "two\nlines"}, "the API refused reasoning.effort (400)", "check the profile and request.extra_body", "two lines"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "store"}, "the API refused store (400)", "request.extra_body: {store: null} leaves it out, and the API then keeps question and answer", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "model"}, "the API refused model (400)", "check model_profiles (MODEL_ANSWER)", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Err: llm.ErrPlainHTTP}, "http and https are mixed up", "check http or https in openai.base_url (OPENAI_BASE_URL)", ""},
		{&llm.Error{Kind: llm.KindServer, Status: 503, Attempts: 4, Message: "\x1b[31mred\nline"}, "the API failed (503) after 4 attempts", "try again later", "[31mred line"},
		{&llm.Error{Kind: llm.KindServer, Status: 502, Err: llm.ErrWebPage}, "the API failed (502)", "try again later", ""},
		{&llm.Error{Kind: llm.KindTimeout, Err: context.DeadlineExceeded}, "timed out", timeout, ""},
		{&llm.Error{Kind: llm.KindCanceled}, "cancelled", "", ""},
		{&llm.Error{Kind: llm.KindFailed, Status: 200, Code: "invalid_prompt", Message: "flagged"}, "the response failed (invalid_prompt)", "rephrase the question or try again", "flagged"},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 200, Message: "the answer is empty"}, "not an answer of the Responses API", base, "the answer is empty"},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 302, Message: "the API redirects to https://login.example"}, "the API redirects to https://login.example (302)", base + ", and whether the network requires a login", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 407}, "the proxy requires a password", "put user and password into HTTPS_PROXY", ""},

		{connection("", &net.DNSError{Err: "no such host", Name: "api.invalid"}), `cannot resolve "api.invalid"`, "check the network, openai.base_url and HTTPS_PROXY", ""},
		{connection("refused", &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}), "cannot reach the proxy", "check HTTPS_PROXY and NO_PROXY", "refused"},
		{connection("", llm.TunnelError(407)), "the proxy requires a password", "put user and password into HTTPS_PROXY", ""},
		{connection("Forbidden", llm.TunnelError(403)), "the proxy does not connect to api.openai.com", "check HTTPS_PROXY and NO_PROXY, or ask the administrator of the proxy", "Forbidden"},
		{connection("", os.NewSyscallError("connect", syscall.ECONNREFUSED)), "connection refused by api.openai.com", "check openai.base_url, HTTPS_PROXY and the firewall", ""},
		{connection("", os.NewSyscallError("connectex", wsaRefused)), "connection refused by api.openai.com", "check openai.base_url, HTTPS_PROXY and the firewall", ""},
		{connection("", http.ErrSchemeMismatch), "http and https are mixed up", "check http or https in openai.base_url (OPENAI_BASE_URL)", ""},
		{certificate(x509.HostnameError{}), "the certificate of api.openai.com is for another host", "check openai.base_url and HTTPS_PROXY, or log in to the network with a browser", ""},
		{certificate(x509.CertificateInvalidError{Cert: &x509.Certificate{NotBefore: time.Unix(0, 0).UTC(), NotAfter: time.Unix(1e9, 0).UTC()}, Reason: x509.Expired}), "the certificate of api.openai.com is valid from 1970-01-01 to 2001-09-09", "check the clock of this machine, which says " + time.Now().Format(time.DateOnly), ""},
		{certificate(x509.UnknownAuthorityError{}), "cannot verify the TLS certificate of api.openai.com", "set SSL_CERT_FILE to a file with the CA of your network", ""},
		{connection("the answer was cut off", nil), "connection failed", "check the network, openai.base_url, HTTPS_PROXY and the firewall", "the answer was cut off"},
	}
	g := advisorFor("https://api.openai.com/v1")
	for _, tt := range tests {
		problem, hint := g.Advise("answer", tt.err)
		if want := sentence(tt.problem, tt.said); problem != want || hint != tt.hint {
			t.Errorf("Advise(%v) = %q, %q, want %q, %q", tt.err, problem, hint, want, tt.hint)
		}
		want := text.Truncate(sentence(tt.problem, tt.hint, tt.said), maxExplain)
		if got := g.Explain("answer", tt.err); got != want {
			t.Errorf("Explain(%v) = %q, want %q", tt.err, got, want)
		}
	}
}

// The pages of OpenAI are of no use for another API.
func TestAdviceOnKeys(t *testing.T) {
	const own, other = "from https://platform.openai.com/api-keys", " (any text if that server needs none)"
	for base, want := range map[string][2]string{
		"https://API.openai.com:443/v1":       {own, own},
		"https://eu.api.openai.com/v1":        {own, own},
		"https://me:pw@r.openai.azure.com/v1": {"for r.openai.azure.com", "for r.openai.azure.com" + other},
		"http://127.0.0.1:11434/v1":           {"for 127.0.0.1:11434", "for 127.0.0.1:11434" + other},
	} {
		g := advisorFor(base)
		_, refused := g.Advise("answer", &llm.Error{Kind: llm.KindAuth, Status: 401})
		problem, missing := g.Advise("answer", &llm.Error{Kind: llm.KindMissingKey})
		if refused != "set K to a complete and current key "+want[0] || problem != "Missing API key" || missing != "set K to a key "+want[1]+"; --offline needs none" {
			t.Errorf("%q: %q, %q, %q, want %q", base, refused, problem, missing, want)
		}
		if got := g.Explain("answer", &llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set K"}); got != "Missing API key: set K" {
			t.Errorf("Explain = %q", got)
		}
	}
}

// What the settings say changes the hint. Go reads SSL_CERT_FILE on some systems only.
func TestAdviceOnSettings(t *testing.T) {
	const name, store = "model_profiles.answer.model", "add the CA of your network to the certificate store of the system (SSL_CERT_FILE is not read there)"
	model := func(value, from string) Advisor {
		return Advisor{Models: map[string]Setting{"answer": {name, value, from}}}
	}
	roots := func(goos, file, flaw string) Advisor {
		return Advisor{GOOS: goos, RootsFile: file, RootsFlaw: func() string { return flaw }}
	}
	unknown := &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	for _, tt := range []struct {
		g    Advisor
		err  *llm.Error
		want string
	}{
		{Advisor{Key: "K", KeyFlaw: "it has quotes around it", Headers: []string{"GATEWAY_TOKEN"}}, &llm.Error{Kind: llm.KindAuth, Status: 401},
			"set K to the key alone: it has quotes around it, and check GATEWAY_TOKEN (openai.headers)"},
		{model("gpt-5.2", "the default"), &llm.Error{Kind: llm.KindModel}, name + " is gpt-5.2 (the default): name another model there, or with MODEL_ANSWER or --model"},
		{model("gpt-9", "/etc/config.yaml:12"), &llm.Error{Kind: llm.KindModel}, name + " is gpt-9 (/etc/config.yaml:12): name another model there"},
		{roots("linux", "", ""), &llm.Error{Kind: llm.KindConnection, Err: unknown}, "set SSL_CERT_FILE to a file with the CA of your network"},
		{roots("darwin", "/ca.pem", ""), &llm.Error{Kind: llm.KindConnection, Err: unknown}, store},
		{roots("windows", "", ""), &llm.Error{Kind: llm.KindConnection, Err: unknown}, store},
		{roots("linux", "/ca.pem", "it cannot be read"), &llm.Error{Kind: llm.KindConnection, Err: unknown}, "correct SSL_CERT_FILE: it names /ca.pem, and it cannot be read"},
		{roots("linux", "/ca.pem", ""), &llm.Error{Kind: llm.KindConnection, Err: unknown}, "add the CA of your network to /ca.pem (SSL_CERT_FILE): it has no CA that signed this"},
	} {
		if _, hint := tt.g.Advise("answer", tt.err); hint != tt.want {
			t.Errorf("%v: %q, want %q", tt.err, hint, tt.want)
		}
	}
}

func TestNoModels(t *testing.T) {
	g := advisorFor("https://a.example/v1")
	for e, want := range map[*llm.Error]bool{
		{Kind: llm.KindNotFound, Status: 404}:  true,
		{Kind: llm.KindParameter, Status: 405}: true,
		{Kind: llm.KindServer, Status: 501}:    true,
		{Kind: llm.KindModel, Status: 404}:     false,
		{Kind: llm.KindAuth, Status: 401}:      false,
	} {
		if hint := g.NoModels(e); strings.Contains(hint, "--live") != want || (hint != "") != want {
			t.Errorf("NoModels(%v) = %q, want one: %t", e, hint, want)
		}
	}
}
