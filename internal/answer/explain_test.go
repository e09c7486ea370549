package answer

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// explained is err in words, without a configuration.
func explained(err error) string { return new(Guide).Explain("answer", err) }

func TestExplain(t *testing.T) {
	const model = "The model `gpt-9` does not exist or you do not have access to it."
	tests := []struct {
		err  error
		want string
	}{
		{nil, ""},
		{errors.New("looking up profile\n\"x\": not configured"), `looking up profile "x": not configured`},
		{&llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set MY_KEY"}, "Missing API key: set MY_KEY"},
		// The API repeats part of the key here, so its message is not quoted.
		{&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "Incorrect API key provided: sk-abc***xyz."},
			"the API refused the key (401): put a whole and current key into OPENAI_API_KEY (https://platform.openai.com/api-keys)"},
		{&llm.Error{Kind: llm.KindAuth, Message: "the key in K has a line break"}, "the key in K has a line break: set OPENAI_API_KEY to the key alone, in one line"},
		{&llm.Error{Kind: llm.KindPermission, Status: 403, Message: "Country not supported"},
			"access denied (403): check what the key's project may use, and the region: Country not supported"},
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Code: "model_not_found", Message: model},
			"model not found (404): check model_profiles (MODEL_ANSWER): " + model},
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "Not Found"},
			"not found (404): check openai.base_url (OPENAI_BASE_URL): it ends with the version, as in https://api.openai.com/v1: Not Found"},
		{&llm.Error{Kind: llm.KindQuota, Status: 429, Message: "You exceeded your current quota"},
			"quota exceeded (429): check plan, credit and limits of the OpenAI project"},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 4, RetryAfter: 20 * time.Second},
			"rate limit reached (429) after 4 attempts: try again in 20 s"},
		{&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 1}, "rate limit reached (429): wait a little, or raise request.max_retries"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "reasoning.effort", Message: "Unsupported value"},
			"the API refused reasoning.effort (400): check the profile and request.extra_body: Unsupported value"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Message: "two\nlines"}, "the API refused the request (400): check the model and request.extra_body: two lines"},
		{&llm.Error{Kind: llm.KindServer, Status: 503, Attempts: 4}, "the API has an error of its own (503) after 4 attempts: try again later"},
		{&llm.Error{Kind: llm.KindTimeout, Err: context.DeadlineExceeded}, "timed out; raise request.timeout_ms or OPENAI_API_TIMEOUT"},
		{&llm.Error{Kind: llm.KindTimeout, Err: fmt.Errorf("%w: %w", context.DeadlineExceeded, &timeoutError{Limit: 1500 * time.Millisecond})},
			"timed out after 1.5 s; raise request.timeout_ms or OPENAI_API_TIMEOUT"},
		{&llm.Error{Kind: llm.KindCanceled}, "cancelled"},
		{&llm.Error{Kind: llm.KindBadResponse, Status: 200, Message: "the answer is empty"},
			"what came back is no Responses API answer (200): check openai.base_url (OPENAI_BASE_URL): the answer is empty"},
		{&llm.Error{Kind: llm.KindFailed, Code: "invalid_prompt", Message: "flagged"}, "the response failed (invalid_prompt): rephrase the question or try again: flagged"},
		{&llm.Error{Kind: llm.KindConnection, Err: &net.DNSError{Err: "no such host", Name: "api.invalid"}},
			`cannot resolve "api.invalid": check the network, openai.base_url and HTTPS_PROXY`},
		{&llm.Error{Kind: llm.KindConnection, Message: "refused", Err: &net.OpError{Op: "proxyconnect", Err: errors.New("refused")}},
			"cannot reach the proxy: check HTTPS_PROXY and NO_PROXY: refused"},
		{&llm.Error{Kind: llm.KindConnection, Message: "Forbidden", Err: llm.TunnelError(403)},
			"the proxy does not connect to the API's host: check HTTPS_PROXY and NO_PROXY, or ask who runs the proxy: Forbidden"},
		{&llm.Error{Kind: llm.KindConnection, Message: "Found", Err: llm.TunnelError(302)},
			"the proxy does not connect to the API's host: check HTTPS_PROXY and NO_PROXY, or log in to the network with a browser: Found"},
		{&llm.Error{Kind: llm.KindConnection, Message: "HTTP 520", Err: llm.TunnelError(520)},
			"the proxy does not connect to the API's host: check HTTPS_PROXY and NO_PROXY, or ask who runs the proxy: HTTP 520"},
		{&llm.Error{Kind: llm.KindConnection, Attempts: 4, Message: "the answer was cut off"},
			"connection failed after 4 attempts: check the network and openai.base_url: the answer was cut off"},
		{&NoTextError{Reason: "incomplete: content_filter"}, "incomplete: content_filter; the model wrote no answer: rephrase the question"},
	}
	for _, tt := range tests {
		if got := explained(tt.err); got != tt.want {
			t.Errorf("Explain(%v) = %q, want %q", tt.err, got, tt.want)
		}
	}
}

// What people read in two lines: the API's words stand with the problem.
func TestAdvise(t *testing.T) {
	const verified = "Your organization must be verified to use the model `gpt-9`."
	for _, tt := range []struct {
		err        error
		text, hint string
	}{
		{nil, "", ""},
		{errors.New("other"), "other", ""},
		{&llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set MY_KEY"}, "Missing API key", "make a key at https://platform.openai.com/api-keys and set OPENAI_API_KEY; --offline needs none"},
		{&llm.Error{Kind: llm.KindPermission, Status: 403, Message: verified}, "the organization is not verified (403): " + verified, "verify it at https://platform.openai.com/settings/organization/general, or choose another model"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "stream", Message: verified}, "the organization is not verified (400): " + verified, "verify it at https://platform.openai.com/settings/organization/general, or choose another model"},
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "The model `m` does not exist"},
			"model not found (404): The model `m` does not exist", "check model_profiles (MODEL_ANSWER)"},
		// The path of a wrong base URL may have the word in it.
		{&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "Invalid URL (POST /v1/models/responses)"},
			"not found (404): Invalid URL (POST /v1/models/responses)", "check openai.base_url (OPENAI_BASE_URL): it ends with the version, as in https://api.openai.com/v1"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Message: "no"}, "the API refused the request (400): no", "check the model and request.extra_body"},
		{&timeoutError{Limit: time.Second}, "timed out after 1 s", "raise request.timeout_ms or OPENAI_API_TIMEOUT"},
		{&llm.Error{Kind: llm.KindConnection, Message: "Proxy Authentication Required", Err: llm.TunnelError(407)}, "the proxy wants a password", "put user and password into HTTPS_PROXY"},
		{&llm.Error{Kind: llm.KindServer, Status: 500, Message: "\x1b[31mred\nline"}, "the API has an error of its own (500): [31mred line", "try again later"},
	} {
		if text, hint := new(Guide).Advise("answer", tt.err); text != tt.text || hint != tt.hint {
			t.Errorf("Advise(%v) = %q, %q, want %q, %q", tt.err, text, hint, tt.text, tt.hint)
		}
	}
}

// The pages of OpenAI are for people who ask OpenAI.
func TestAdviceByHost(t *testing.T) {
	refused := &llm.Error{Kind: llm.KindAuth, Status: 401}
	quota := &llm.Error{Kind: llm.KindQuota, Status: 429}
	for _, tt := range []struct{ base, key, quota, get string }{
		{"", "put a whole and current key into K (" + keysPage + ")", "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://API.openai.com:443/v1", "put a whole and current key into K (" + keysPage + ")", "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://eu.api.openai.com/v1", "put a whole and current key into K (" + keysPage + ")", "the OpenAI project", "make a key at " + keysPage + " and set K"},
		{"https://me:pw@r.openai.azure.com/openai/v1", "put a whole and current key for r.openai.azure.com into K", "your account at r.openai.azure.com",
			"set K to a key for r.openai.azure.com (any text, if that server wants none)"},
		{"https://api.openai.com.example/v1", "put a whole and current key for api.openai.com.example into K", "your account at api.openai.com.example",
			"set K to a key for api.openai.com.example (any text, if that server wants none)"},
	} {
		g := &Guide{BaseURL: Setting{Value: tt.base}, Key: "K"}
		_, key := g.Advise("answer", refused)
		_, account := g.Advise("answer", quota)
		if key != tt.key || account != "check plan, credit and limits of "+tt.quota || g.GetKey() != tt.get {
			t.Errorf("%q: %q, %q, %q, want %q, …%q, %q", tt.base, key, account, g.GetKey(), tt.key, tt.quota, tt.get)
		}
	}
}

// Go reads SSL_CERT_FILE on some systems only.
func TestAdviceOnRoots(t *testing.T) {
	unknown := &llm.Error{Kind: llm.KindConnection, Err: x509.UnknownAuthorityError{}}
	for goos, want := range map[string]string{
		"linux":   "set SSL_CERT_FILE to a file with the CA of your network",
		"freebsd": "set SSL_CERT_FILE to a file with the CA of your network",
		"darwin":  "add the CA of your network to the keychain of this Mac and trust it there (SSL_CERT_FILE is not read on macOS)",
		"windows": "add the CA of your network to the certificate store of Windows (SSL_CERT_FILE is not read there)",
	} {
		g := &Guide{GOOS: goos, BaseURL: Setting{Value: "https://api.openai.com/v1"}}
		text, hint := g.Advise("answer", unknown)
		if text != "cannot verify the TLS certificate of api.openai.com" || hint != want {
			t.Errorf("%s: %q, %q, want %q", goos, text, hint, want)
		}
		if line := g.Explain("answer", unknown); line != text+": "+hint {
			t.Errorf("%s: %q has no room in a line", goos, hint)
		}
	}
}

func TestExplainIsOneShortLine(t *testing.T) {
	long := strings.Repeat("日\n", 1<<16)
	for kind := llm.KindMissingKey; kind <= llm.KindFailed+1; kind++ {
		err := &llm.Error{Kind: kind, Status: 599, Param: "include", Message: long, Attempts: 3}
		if kind == llm.KindConnection {
			err.Err = &net.DNSError{Name: long}
		}
		got := explained(fmt.Errorf("asking: %w", err))
		if n := utf8.RuneCountInString(got); n == 0 || n > maxExplain || strings.Contains(got, "\n") {
			t.Errorf("Explain(%v) = %q (%d characters), want one line of at most %d", kind, got, n, maxExplain)
		}
	}
}

// A server that speaks TLS answers plain HTTP in words, in a page, or not at all.
func TestExplainClearText(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	page := func(text string) string {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusBadRequest)
			_, _ = io.WriteString(w, text)
		}))
		t.Cleanup(s.Close)
		return s.URL
	}
	const cure = "check http or https in openai.base_url (config.yaml:3)"
	for _, tt := range []struct{ url, want string }{
		{strings.Replace(secure.URL, "https:", "http:", 1), cure},
		{page("<html>\r\n<head><title>400 The plain HTTP request was sent to HTTPS port</title></head>\r\n"), cure + ": Bad Request: The plain HTTP request was sent to HTTPS port"},
		{page("<!DOCTYPE HTML><title>400 Bad Request</title>"), cure},
		{page(`{"error":{"message":"no"}}`), "check the model and request.extra_body: no"},
	} {
		c := llm.New(llm.Options{BaseURL: tt.url, APIKey: "test-key", HTTPClient: &http.Client{Transport: &http.Transport{}}})
		_, err := c.Model(t.Context(), "gpt-5.2")
		g := &Guide{BaseURL: Setting{Value: tt.url, From: "config.yaml:3"}}
		if got := g.Explain("answer", err); !strings.HasPrefix(got, "the API refused the request (400): "+tt.want) {
			t.Errorf("Explain(%v) = %q, want %q in it", err, got, tt.want)
		}
	}
}

// These errors are the operating system's and crypto/tls's own.
func TestExplainConnection(t *testing.T) {
	silent := httptest.NewServer(http.NotFoundHandler())
	silent.Close()
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0)
	secure.StartTLS()
	defer secure.Close()
	plainly := httptest.NewServer(http.NotFoundHandler())
	defer plainly.Close()
	tests := []struct{ url, want string }{
		{silent.URL, "connection refused by " + silent.Listener.Addr().String() + ": check openai.base_url"},
		{secure.URL, "set SSL_CERT_FILE"},
		{strings.Replace(plainly.URL, "http:", "https:", 1), "check http or https in openai.base_url"},
		{"localhost", "openai.base_url"}, // no URL at all
	}
	for _, tt := range tests {
		a := New(Options{
			Client:   llm.New(llm.Options{BaseURL: tt.url, APIKey: "test-key", HTTPClient: &http.Client{Transport: &http.Transport{}}}),
			Profiles: map[string]Profile{"answer": {Model: "gpt-5.2"}},
		})
		_, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
		if got := explained(err); !strings.Contains(got, tt.want) {
			t.Errorf("Explain(%v) = %q, want %q in it", err, got, tt.want)
		}
	}
}
