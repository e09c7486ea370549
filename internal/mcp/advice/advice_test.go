package advice

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func advisorFor(base string) Advisor {
	return Advisor{
		BaseURL:       Setting{"openai.base_url", base, "OPENAI_BASE_URL"},
		KeyVariable:   "K",
		ProxyVariable: "HTTPS_PROXY",
	}
}

// refused is an error of the API.
func refused(kind call.Kind, status int, message string) *call.APIError {
	return &call.APIError{Kind: kind, Status: status, Message: message}
}

func TestAdvise(t *testing.T) {
	v := advisorFor("https://api.openai.com/v1")
	for _, row := range compare.Table(t, "advice", 3) {
		compare.Bubble(t, row[0], func(t *testing.T) {
			problem, hint := v.Advise("answer", listed(t, row[0]))
			compare.Equal(t, "problem", problem, row[1])
			hint = strings.ReplaceAll(hint, time.Now().Format(time.DateOnly), "TODAY")
			compare.Equal(t, "hint", hint, row[2])
		})
	}
}

// The line is not cut before the time to wait, which a long message of the API may name at its end.
func TestExplainWait(t *testing.T) {
	const message = "Rate limit reached for gpt-5.2 in organization org-0123456789abcdefghijklmn " +
		"on tokens per min (TPM): Limit 200000, Used 158833, Requested 62431. " +
		"Please try again in 14.036s."
	for kind, status := range map[call.Kind]int{call.KindRateLimit: 429, call.KindServer: 503} {
		t.Run(kind.Label(), func(t *testing.T) {
			e := refused(kind, status, message)
			e.Attempts = 4
			e.RetryAfter = 14036 * time.Millisecond
			v := Advisor{BaseURL: Setting{Value: "https://a.example/v1"}, Streams: true}
			for _, got := range []string{v.Explain("answer", e), v.ExplainToCaller("answer", e)} {
				if !strings.Contains(got, "after 4 attempts: try again in 14 s") {
					t.Errorf("got %q, want the time to wait", got)
				}
			}
		})
	}
}

// The line has the hint before what the API said, and is cut at its end.
func TestExplain(t *testing.T) {
	const problem = "the API failed (503): try again later"
	for message, want := range map[string]string{
		"two\nlines":             problem + ": two lines",
		" ":                      problem,
		strings.Repeat("x", 200): problem + ": " + strings.Repeat("x", 126) + "…",
	} {
		t.Run(message, func(t *testing.T) {
			got := Advisor{}.Explain("answer", refused(call.KindServer, 503, message))
			compare.Equal(t, "Explain", got, want)
		})
	}
}

// What a first start needs is not cut off: the variable of the model, and what the API said.
func TestFirstStart(t *testing.T) {
	v := Advisor{
		BaseURL: Setting{Name: "openai.base_url", Origin: "OPENAI_BASE_URL"},
		Models:  map[string]Setting{"answer": {"model_profiles.answer.model", "gpt-5.2", "the default"}},
	}
	for want, e := range map[string]*call.APIError{
		" or --model":             {Kind: call.KindModel, Status: 404, Code: "DeploymentNotFound"},
		"(POST /v1/v1/responses)": refused(call.KindNotFound, 404, "Invalid URL (POST /v1/v1/responses)"),
	} {
		compare.Contains(t, "line", v.Explain("answer", e), want)
	}
}

// No part of a key is left where a line is cut. The server redacts whole ones.
func TestKeyAcrossTheEndOfALine(t *testing.T) {
	const key = "0f3c9a77b1de42Q8w2Xr5Tn1BzHn4Vs8Ec2Ra7Lm6Pk9Yd3Wq5"
	v := Advisor{Redactor: redact.New(key)}
	for n := range 200 {
		said := strings.Repeat("x", n) + key
		for _, err := range []error{
			errors.New(said),
			call.KindNoText.Errorf("incomplete: %s", said),
			&call.APIError{Kind: call.KindConnection, Err: &net.DNSError{Name: said}},
		} {
			problem, _ := v.Advise("answer", err)
			lines := v.Explain("answer", err) + v.ExplainToCaller("answer", err)
			ofDNS := errors.As(err, new(*net.DNSError))
			if ofDNS {
				lines += problem // which is cut
			}
			if strings.Contains(strings.ReplaceAll(lines, key, ""), key[:4]) {
				t.Fatalf("after %d characters: %s", n, lines)
			}
		}
	}
}
