package advice

import (
	"errors"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What only the operator can do has one text for each kind, and none has anything of the server: a
// setting, a variable, a path, a host, or what the API says about its account.
func TestCallers(t *testing.T) {
	const private = "config.yaml OPENAI_ HTTPS_PROXY request.timeout_ms responses. model_profiles " +
		"max_output_tokens gateway.example org-1 /run/secrets"
	for _, kind := range llm.Kinds() {
		t.Run(kind.Label(), func(t *testing.T) {
			var err error = &llm.Error{
				Kind:    kind,
				Status:  400,
				Param:   "reasoning.effort",
				Message: "organization org-1 at gateway.example",
				Err:     &net.DNSError{Name: "gateway.example"},
			}
			if kind == llm.KindFailed {
				err = &llm.Error{Kind: kind, Message: "Your question was flagged."}
			}
			got := ExplainToCaller("answer", err)
			for word := range strings.FieldsSeq(private) {
				ofServer := strings.Contains(got, word)
				known := kind == llm.KindArguments || kind == llm.KindLimited || kind == llm.KindInternal
				if ofServer && !known { // the server words these
					t.Errorf("%q has %s", got, word)
				}
			}
		})
	}
}

// What people can do themselves.
func TestOwnMistakes(t *testing.T) {
	queued := errors.Join(answer.TimeoutError(time.Minute), llm.QueuedError(3))
	about := func(kind llm.Kind, param, message string) error {
		return &llm.Error{Kind: kind, Status: 400, Param: param, Message: message}
	}
	for err, want := range map[error]string{
		&llm.Error{Kind: llm.KindTimeout, Err: queued}: "timed out after 60 s: ask for less, or fewer questions at once",
		&llm.Error{Kind: llm.KindRateLimit, Status: 429, RetryAfter: 7 * time.Second}: "rate limited (429): " +
			"try again in 7 s",
		&llm.Error{Kind: llm.KindBlocked, Status: 400}: "blocked (400): OpenAI has blocked you; " +
			"do not ask again, and tell the operator of this server",

		about(llm.KindFiltered, "", "Flagged."):  "question refused (400): rephrase the question: Flagged.",
		about(llm.KindFiltered, "prompt", "No."): "question refused (400): rephrase the question: No.",
		about(llm.KindTooLong, "input", "Long."): "question too long (400): " +
			"ask for less, or make the question shorter: Long.",
		about(llm.KindParameter, "input[0]", "Empty."): "request refused (400): " +
			"rephrase the question, or tell the operator of this server: Empty.",
		about(llm.KindParameter, "safety_identifier", "No."): "request refused (400): " +
			"tell the operator of this server",

		llm.KindNoText.Errorf("incomplete: max_output_tokens"): "incomplete: max_output_tokens; " +
			"the model wrote no answer: ask for less",
		llm.KindNoText.Errorf("incomplete: content_filter"): "incomplete: content_filter; " +
			"the model wrote no answer: rephrase the question",
		llm.KindNoText.Errorf("incomplete: other"): "incomplete: other; " +
			"the model wrote no answer: rephrase the question, or ask for less",
		about(llm.KindCanceled, "", "the response was cancelled"): "cancelled: ask again",

		answer.ErrGone:     "the API does not have the answer any more",
		answer.ErrShutdown: "the server restarts: ask again",
	} {
		t.Run(want, func(t *testing.T) {
			compare.Equal(t, "text", ExplainToCaller("answer", err), want)
		})
	}
}
