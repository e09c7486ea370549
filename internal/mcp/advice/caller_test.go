package advice

import (
	"net"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What only the operator can do has one text for each kind, and none has anything of the server: a
// setting, a variable, a path, a host, or what the API says about its account.
func TestCallers(t *testing.T) {
	const private = "config.yaml OPENAI_ HTTPS_PROXY request.timeout_ms responses. model_profiles " +
		"max_output_tokens gateway.example org-1 /run/secrets"
	for _, kind := range call.Kinds() {
		t.Run(kind.Label(), func(t *testing.T) {
			var err error = &call.APIError{
				Kind:    kind,
				Status:  400,
				Param:   "reasoning.effort",
				Message: "organization org-1 at gateway.example",
				Err:     &net.DNSError{Name: "gateway.example"},
			}
			if kind == call.KindFailed {
				err = &call.APIError{Kind: kind, Message: "Your question was flagged."}
			}
			got := Advisor{}.ExplainToCaller("answer", err)
			for word := range strings.FieldsSeq(private) {
				ofServer := strings.Contains(got, word)
				known := kind == call.KindArguments || kind == call.KindLimited || kind == call.KindInternal
				if ofServer && !known { // the server words these
					t.Errorf("%q has %s", got, word)
				}
			}
		})
	}
}

// What people can do themselves.
func TestOwnMistakes(t *testing.T) {
	for _, row := range compare.Table(t, "callers", 2) {
		t.Run(row[0], func(t *testing.T) {
			got := Advisor{}.ExplainToCaller("answer", listed(t, row[0]))
			compare.Equal(t, "text", got, row[1])
		})
	}
}
