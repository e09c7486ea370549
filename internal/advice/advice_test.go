package advice

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// row is an error and its advice. The problem names the row.
type row struct {
	err     error
	problem string
	hint    string
}

func advisorFor(base string) Advisor {
	return Advisor{
		BaseURL: Setting{"openai.base_url", base, "OPENAI_BASE_URL"},
		Key:     "K",
		Proxy:   "HTTPS_PROXY",
	}
}

// advises runs the rows with an Advisor for OpenAI.
func advises(t *testing.T, rows []row) {
	t.Helper()
	v := advisorFor("https://api.openai.com/v1")
	for _, tt := range rows {
		t.Run(tt.problem, func(t *testing.T) {
			problem, hint := v.Advise("answer", tt.err)
			if problem != tt.problem {
				t.Errorf("problem %q, want %q", problem, tt.problem)
			}
			if hint != tt.hint {
				t.Errorf("hint %q, want %q", hint, tt.hint)
			}
		})
	}
}

func TestQuestion(t *testing.T) {
	timeout := func(causes ...error) error {
		causes = append(causes, context.DeadlineExceeded)
		return &llm.Error{Kind: llm.KindTimeout, Err: errors.Join(causes...)}
	}
	advises(t, []row{
		{
			errors.New("looking up profile\n\"x\": not configured"),
			`looking up profile "x": not configured`,
			"",
		},
		{
			&llm.Error{Kind: llm.KindCanceled, Err: answer.ErrShutdown},
			"the server restarts",
			"ask again",
		},
		{
			answer.TimeoutError(1500 * time.Millisecond),
			"timed out after 1.5 s",
			"raise request.timeout_ms or OPENAI_API_TIMEOUT",
		},
		{
			timeout(answer.TimeoutError(time.Second)),
			"timed out after 1 s",
			"raise request.timeout_ms or OPENAI_API_TIMEOUT",
		},
		{
			timeout(answer.TimeoutError(time.Second), llm.QueuedError(12)),
			"timed out after 1 s, waiting for the rate limit with 12 calls ahead",
			"ask fewer questions at once, or raise request.timeout_ms or OPENAI_API_TIMEOUT",
		},
		{
			answer.NoTextError("incomplete: content_filter"),
			"incomplete: content_filter; the model wrote no answer",
			"rephrase the question",
		},
		{
			answer.NoTextError("incomplete: max_output_tokens"),
			"incomplete: max_output_tokens; the model wrote no answer",
			"ask for less, or raise max_output_tokens of the profile",
		},
		{
			answer.NoTextError("no output"),
			"no output; the model wrote no answer",
			"try again",
		},
	})
}

// The line has the hint before what the API said, and is cut at its end.
func TestExplain(t *testing.T) {
	v := advisorFor("https://api.openai.com/v1")
	server := func(message string) error {
		return &llm.Error{Kind: llm.KindServer, Status: 503, Message: message}
	}

	for _, tt := range []struct {
		name string
		err  error
		want string
	}{
		{"said", server("two\nlines"), "the API failed (503): try again later: two lines"},
		{"nothing said", server(" "), "the API failed (503): try again later"},
		{"no hint", &llm.Error{Kind: llm.KindCanceled}, "cancelled"},
		{"key", &llm.Error{Kind: llm.KindMissingKey, Message: "x"}, "Missing API key: set K"},
		{
			"long",
			server(strings.Repeat("x", 200)),
			"the API failed (503): try again later: " + strings.Repeat("x", 126) + "…",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := v.Explain("answer", tt.err)
			if got != tt.want {
				t.Errorf("Explain = %q, want %q", got, tt.want)
			}
		})
	}
}
