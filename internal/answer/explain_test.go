package answer

import (
	"context"
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
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestExplain(t *testing.T) {
	const (
		model    = "The model `gpt-9` does not exist or you do not have access to it."
		unproved = "Your organization must be verified to use the model `gpt-9`."
		base     = "check openai.base_url (OPENAI_BASE_URL)"
	)
	connection := func(message string, cause error) error {
		return &llm.Error{Kind: llm.KindConnection, Message: message, Err: cause}
	}
	dial := func(cause error) error {
		return &net.OpError{Op: "dial", Addr: &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 443}, Err: cause}
	}
	tests := []struct {
		err        error
		what, hint string // of Advise
		said       string // end of what
	}{
		{nil, "", "", ""},
		{errors.New("looking up profile\n\"x\": not configured"), `looking up profile "x": not configured`, "", ""},
		{&timeoutError{1500 * time.Millisecond}, "timed out after 1.5 s", "raise request.timeout_ms or OPENAI_API_TIMEOUT", ""},
		{&llm.Error{Kind: llm.KindTimeout, Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, &timeoutError{time.Second})},
			"timed out after 1 s", "raise request.timeout_ms or OPENAI_API_TIMEOUT", ""},
		{&NoTextError{"incomplete: content_filter"}, "incomplete: content_filter; the model wrote no answer", "rephrase the question", ""},
		{&NoTextError{"incomplete: max_output_tokens"}, "incomplete: max_output_tokens; the model wrote no answer", "ask for less, or raise max_output_tokens of the profile", ""},
		{&NoTextError{"no output"}, "no output; the model wrote no answer", "try again", ""},

		// The API repeats a part of the key here, so its message is left out.
		{&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "Incorrect API key provided: sk-abc***xyz."},
			"the API refused the key (401)", "set OPENAI_API_KEY to a complete and current key (https://platform.openai.com/api-keys)", ""},
		{&llm.Error{Kind: llm.KindAuth, Message: "the key in K has a line break"}, "the key in K has a line break", "set OPENAI_API_KEY to the key alone, in one line", ""},
		{&llm.Error{Kind: llm.KindPermission, Status: 403, Code: "unsupported_country", Message: "Country not supported"},
			"access denied (403)", "check what the key in OPENAI_API_KEY may use, and whether the API's host serves your region", "Country not supported"},
		{&llm.Error{Kind: llm.KindPermission, Status: 403}, "access denied (403)",
			"check what the key in OPENAI_API_KEY may use, and whether a firewall or proxy answers in place of the API's host", ""},
		{&llm.Error{Kind: llm.KindUnverified, Status: 400, Param: "stream", Message: unproved}, "the organization is not verified (400)",
			"verify it at https://platform.openai.com/settings/organization/general, or choose another model", unproved},
		{&llm.Error{Kind: llm.KindModel, Status: 404, Message: model}, "model not found (404)", "check model_profiles (MODEL_ANSWER)", model},
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "Invalid URL (POST /v1/models/responses)"},
			"not found (404)", base + ": it ends with the version, as in https://api.openai.com/v1", "Invalid URL (POST /v1/models/responses)"},
		{&llm.Error{Kind: llm.KindQuota, Status: 429, Message: "You exceeded your current quota"},
			"quota exceeded (429)", "check plan, credit and limits of the OpenAI project", ""},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 4, RetryAfter: 20 * time.Second}, "rate limit reached (429) after 4 attempts", "try again in 20 s", ""},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 1}, "rate limit reached (429)", "wait a little, or raise request.max_retries", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "reasoning.effort", Message: "Unsupported value"},
			"the API refused reasoning.effort (400)", "check the profile and request.extra_body", "Unsupported value"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Message: "two\nlines"}, "the API refused the request (400)", "check the model and request.extra_body", "two lines"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "model"}, "the API refused model (400)", "check model_profiles (MODEL_ANSWER)", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Err: llm.ErrPlainHTTP}, "the API refused the request (400)", "check http or https in openai.base_url (OPENAI_BASE_URL)", ""},
		{&llm.Error{Kind: llm.KindServer, Status: 503, Attempts: 4, Message: "\x1b[31mred\nline"}, "the API failed (503) after 4 attempts", "try again later", "[31mred line"},
		{&llm.Error{Kind: llm.KindTimeout, Err: context.DeadlineExceeded}, "timed out", "raise request.timeout_ms or OPENAI_API_TIMEOUT", ""},
		{&llm.Error{Kind: llm.KindCanceled}, "cancelled", "", ""},
		{&llm.Error{Kind: llm.KindFailed, Code: "invalid_prompt", Message: "flagged"}, "the response failed (invalid_prompt)", "rephrase the question or try again", "flagged"},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 200, Message: "the answer is empty"}, "not an answer of the Responses API (200)", base, "the answer is empty"},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 200, Err: llm.ErrWebPage}, "received a web page, not an answer (200)", base + ", or log in to the network with a browser", ""},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 302}, "received a redirect, not an answer (302)", base + ", or log in to the network with a browser", ""},
		{&llm.Error{Kind: llm.KindServer, Status: 511}, "the network requires a login (511)", "log in with a browser", ""},
		{&llm.Error{Kind: llm.KindParameter, Status: 407}, "the proxy requires a password (407)", "put user and password into HTTPS_PROXY", ""},

		{connection("", &net.DNSError{Err: "no such host", Name: "api.invalid"}), `cannot resolve "api.invalid"`, "check the network, openai.base_url and HTTPS_PROXY", ""},
		{connection("refused", &net.OpError{Op: "proxyconnect", Err: syscall.ECONNREFUSED}), "cannot reach the proxy", "check HTTPS_PROXY and NO_PROXY", "refused"},
		{connection("", llm.TunnelError(407)), "the proxy requires a password", "put user and password into HTTPS_PROXY", ""},
		{connection("Forbidden", llm.TunnelError(403)), "the proxy does not connect to the API's host", "check HTTPS_PROXY and NO_PROXY, or ask the administrator of the proxy", "Forbidden"},
		{connection("Found", llm.TunnelError(302)), "the proxy does not connect to the API's host", "check HTTPS_PROXY and NO_PROXY, or log in to the network with a browser", "Found"},
		{connection("", dial(os.NewSyscallError("connect", syscall.ECONNREFUSED))), "connection refused by 192.0.2.1:443", "check openai.base_url, HTTPS_PROXY and the firewall", ""},
		{connection("", dial(os.NewSyscallError("connectex", wsaRefused))), "connection refused by 192.0.2.1:443", "check openai.base_url, HTTPS_PROXY and the firewall", ""},
		{connection("", dial(syscall.ENETUNREACH)), "no route to 192.0.2.1:443", "check the network (cable, VPN, IPv4 and IPv6); behind a proxy set HTTPS_PROXY", ""},
		{connection("", dial(os.ErrDeadlineExceeded)), "192.0.2.1:443 does not accept connections", "check openai.base_url, HTTPS_PROXY and the firewall", ""},
		{connection("", http.ErrSchemeMismatch), "the API's host does not use TLS", "check http or https in openai.base_url", ""},
		{connection("", x509.HostnameError{}), "the certificate of the API's host is for another host", "check openai.base_url and HTTPS_PROXY, or log in to the network with a browser", ""},
		{connection("the answer was cut off", nil), "connection failed", "check the network and openai.base_url", "the answer was cut off"},
	}
	for _, tt := range tests {
		said := ""
		if tt.said != "" {
			said = ": " + tt.said
		}
		if what, hint := new(Guide).Advise("answer", tt.err); what != tt.what+said || hint != tt.hint {
			t.Errorf("Advise(%v) = %q, %q, want %q, %q", tt.err, what, hint, tt.what+said, tt.hint)
		}
		want := tt.what
		if tt.hint != "" {
			want += ": " + tt.hint
		}
		if got := new(Guide).Explain("answer", tt.err); !strings.HasPrefix(want+said, strings.TrimSuffix(got, "…")) || len(got) < min(len(want), maxExplain-1) {
			t.Errorf("Explain(%v) = %q, want %q", tt.err, got, want+said)
		}
	}
	missing := &llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set MY_KEY"}
	g := &Guide{Key: "MY_KEY"}
	if got := g.Explain("answer", missing); got != "Missing API key: set MY_KEY" {
		t.Errorf("Explain = %q", got)
	}
	if _, hint := g.Advise("answer", missing); hint != "make a key at https://platform.openai.com/api-keys and set MY_KEY; --offline needs none" {
		t.Errorf("Advise hints %q", hint)
	}
}

// Clocks are often the reason.
func TestExplainCertificateDates(t *testing.T) {
	now := time.Now()
	for want, c := range map[string]*x509.Certificate{
		"the certificate of the API's host is valid only from ":  {NotBefore: now.Add(24 * time.Hour), NotAfter: now.Add(48 * time.Hour)},
		"the certificate of the API's host is valid only until ": {NotBefore: now.Add(-48 * time.Hour), NotAfter: now.Add(-24 * time.Hour)},
	} {
		err := &llm.Error{Kind: llm.KindConnection, Err: x509.CertificateInvalidError{Cert: c, Reason: x509.Expired}}
		what, hint := new(Guide).Advise("answer", err)
		if !strings.HasPrefix(what, want) || !strings.HasPrefix(hint, "check the clock of this machine, which says ") {
			t.Errorf("Advise(%v) = %q, %q, want %q", err, what, hint, want)
		}
	}
}

// The pages of OpenAI are of no use for another API.
func TestAdviceByHost(t *testing.T) {
	const own = "set K to a complete and current key (" + keysPage + ")"
	for _, tt := range []struct{ base, key, quota, get string }{
		{"", own, "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://API.openai.com:443/v1", own, "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://eu.api.openai.com/v1", own, "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://me:pw@r.openai.azure.com/openai/v1", "set K to a complete and current key for r.openai.azure.com", "your account at r.openai.azure.com",
			"set K to a key for r.openai.azure.com (any text if that server needs none)"},
		{"https://api.openai.com.example/v1", "set K to a complete and current key for api.openai.com.example", "your account at api.openai.com.example",
			"set K to a key for api.openai.com.example (any text if that server needs none)"},
	} {
		g := &Guide{BaseURL: Setting{Value: tt.base}, Key: "K"}
		_, key := g.Advise("answer", &llm.Error{Kind: llm.KindAuth, Status: 401})
		_, quota := g.Advise("answer", &llm.Error{Kind: llm.KindQuota, Status: 429})
		if key != tt.key || quota != "check plan, credit and limits of "+tt.quota || g.GetKey() != tt.get {
			t.Errorf("%q: %q, %q, %q, want %q, …%q, %q", tt.base, key, quota, g.GetKey(), tt.key, tt.quota, tt.get)
		}
	}
	g := &Guide{KeyFlaw: "it has quotes around it", Headers: []string{"GATEWAY_TOKEN"}}
	if _, hint := g.Advise("answer", &llm.Error{Kind: llm.KindAuth, Status: 401}); hint != "set OPENAI_API_KEY to the key alone: it has quotes around it, and check GATEWAY_TOKEN (openai.headers)" {
		t.Errorf("hint for a key with quotes: %q", hint)
	}
}

func TestAdviceOnModels(t *testing.T) {
	const name = "model_profiles.answer.model"
	gone := &llm.Error{Kind: llm.KindModel, Status: 404, Message: "The model does not exist or you do not have access to it."}
	for _, tt := range []struct {
		setting Setting
		want    string
	}{
		{Setting{name, "gpt-5.2", "the default"}, name + " is gpt-5.2 (the default): name another model there, or with MODEL_ANSWER or --model"},
		{Setting{name, "gpt-9", "MODEL_ANSWER"}, name + " is gpt-9 (MODEL_ANSWER): name another model there"},
		{Setting{name, "gpt-9", "--model"}, name + " is gpt-9 (--model): name another model there"},
		{Setting{name, "gpt-9", "/etc/config.yaml:12"}, name + " is gpt-9 (/etc/config.yaml:12): name another model there"},
	} {
		g := &Guide{Models: map[string]Setting{"answer": tt.setting}}
		if _, hint := g.Advise("answer", gone); hint != tt.want {
			t.Errorf("%+v: %q, want %q", tt.setting, hint, tt.want)
		}
	}
}

func TestNoModels(t *testing.T) {
	g := &Guide{BaseURL: Setting{Value: "https://a.example/v1"}}
	const live = ", or see with --live whether it answers questions"
	for _, tt := range []struct {
		g    *Guide
		err  error
		want string
	}{
		{g, &llm.Error{Kind: llm.KindNotFound, Status: 404}, "check openai.base_url (OPENAI_BASE_URL): it ends with the version, as in https://api.openai.com/v1" + live},
		{g, &llm.Error{Kind: llm.KindParameter, Status: 405}, "check openai.base_url (OPENAI_BASE_URL)" + live},
		{g, &llm.Error{Kind: llm.KindServer, Status: 501}, "check openai.base_url (OPENAI_BASE_URL)" + live},
		{g, &llm.Error{Kind: llm.KindModel, Status: 404}, ""},
		{g, &llm.Error{Kind: llm.KindAuth, Status: 401}, ""},
		{&Guide{}, &llm.Error{Kind: llm.KindNotFound, Status: 404}, ""},
		{g, errors.New("other"), ""},
	} {
		if got, ok := tt.g.NoModels(tt.err); got != tt.want || ok != (tt.want != "") {
			t.Errorf("NoModels(%v) = %q, %t, want %q", tt.err, got, ok, tt.want)
		}
	}
}

// Go reads SSL_CERT_FILE on some systems only.
func TestAdviceOnRoots(t *testing.T) {
	unknown := &llm.Error{Kind: llm.KindConnection, Err: x509.UnknownAuthorityError{}}
	flaw := func() string { return "it cannot be read" }
	for _, tt := range []struct {
		g    Guide
		want string
	}{
		{Guide{GOOS: "linux"}, "set SSL_CERT_FILE to a file with the CA of your network"},
		{Guide{GOOS: "darwin"}, "add the CA of your network to the keychain of this Mac and trust it there (SSL_CERT_FILE is not read on macOS)"},
		{Guide{GOOS: "windows"}, "add the CA of your network to the certificate store of Windows (SSL_CERT_FILE is not read there)"},
		{Guide{RootsFile: "/ca.pem", RootsFlaw: flaw}, "correct SSL_CERT_FILE: it names /ca.pem, and it cannot be read"},
		{Guide{RootsFile: "/ca.pem"}, "add the CA of your network to /ca.pem (SSL_CERT_FILE): it has no CA that signed this"},
	} {
		tt.g.BaseURL.Value = "https://api.openai.com/v1"
		what, hint := tt.g.Advise("answer", unknown)
		if what != "cannot verify the TLS certificate of api.openai.com" || hint != tt.want {
			t.Errorf("%+v: %q, %q, want %q", tt.g, what, hint, tt.want)
		}
		if line := tt.g.Explain("answer", unknown); line != what+": "+hint {
			t.Errorf("Explain = %q, want the whole of %q", line, hint)
		}
	}
}

func TestExplainIsOneShortLine(t *testing.T) {
	long := strings.Repeat("日\n", 1<<16)
	for kind := llm.KindMissingKey; kind <= llm.KindUnverified+1; kind++ {
		err := &llm.Error{Kind: kind, Status: 599, Param: "include", Message: long, Attempts: 3}
		if kind == llm.KindConnection {
			err.Err = &net.DNSError{Name: long}
		}
		got := new(Guide).Explain("answer", fmt.Errorf("asking: %w", err))
		if n := utf8.RuneCountInString(got); n == 0 || n > maxExplain || strings.Contains(got, "\n") {
			t.Errorf("Explain(%v) = %q (%d characters), want one line of at most %d", kind, got, n, maxExplain)
		}
	}
}
