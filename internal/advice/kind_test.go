package advice

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Each kind of error has advice of its own: only a canceled call needs no hint, and only a broken
// connection is called one.
func TestEveryKind(t *testing.T) {
	v := advisorFor("https://api.openai.com/v1")
	for _, kind := range llm.Kinds() {
		t.Run(kind.Label(), func(t *testing.T) {
			problem, hint := v.Advise("answer", &llm.Error{Kind: kind, Status: 500})
			if hint == "" && kind != llm.KindCanceled {
				t.Errorf("no hint for %q", problem)
			}
			broken := strings.HasPrefix(problem, "connection failed")
			if broken != (kind == llm.KindConnection) {
				t.Errorf("problem %q", problem)
			}
		})
	}
}

// TestEveryKind tries all kinds only if llm.Kinds lists all that are declared.
func TestKinds(t *testing.T) {
	source, err := os.ReadFile("../llm/error.go")
	if err != nil {
		t.Fatal(err)
	}

	got := len(llm.Kinds())
	declared := strings.Count(string(source), " = Kind{")
	if got != declared {
		t.Errorf("llm.Kinds lists %d kinds, but error.go declares %d", got, declared)
	}
}

func TestKind(t *testing.T) {
	const (
		unverified = "Your organization must be verified to use the model `gpt-9`."
		base       = "check openai.base_url (OPENAI_BASE_URL)"
		second     = time.Second
	)
	advises(t, []row{
		{
			// The API repeats a part of the key here, so its message is left out.
			&llm.Error{Kind: llm.KindAuth, Status: 401, Message: "Incorrect key: sk-abc***xyz."},
			"the API refused the key (401)",
			"set K to a complete and current key from https://platform.openai.com/api-keys",
		},
		{
			&llm.Error{Kind: llm.KindAuth, Message: "the key in K has a line break"},
			"the key in K has a line break",
			"set K to the key alone, in one line",
		},
		{
			&llm.Error{Kind: llm.KindPermission, Status: 403, Message: "Country not supported"},
			"access denied (403): Country not supported",
			"check the permissions of the key in K, your region, and any firewall",
		},
		{
			&llm.Error{Kind: llm.KindPermission, Status: 403, Err: llm.ErrWebPage},
			"received a web page, not an answer (403)",
			base + ", and whether a firewall or a login page of the network answers instead",
		},
		{
			&llm.Error{Kind: llm.KindServer, Status: 502, Err: llm.ErrWebPage},
			"the API failed (502)",
			"try again later",
		},
		{
			&llm.Error{Kind: llm.KindUnverified, Status: 400, Param: "stream", Message: unverified},
			"the organization is not verified (400): " + unverified,
			"verify it at https://platform.openai.com/settings/organization/general, " +
				"or choose another model",
		},
		{
			&llm.Error{Kind: llm.KindModel, Status: 404, Message: "The model `x` does not exist"},
			"model not found (404): The model `x` does not exist",
			"check model_profiles (MODEL_ANSWER)",
		},
		{
			&llm.Error{Kind: llm.KindNotFound, Status: 404, Message: "Invalid URL"},
			"not found (404): Invalid URL",
			base + ": it ends with the version, as in https://api.openai.com/v1",
		},
		{
			&llm.Error{Kind: llm.KindQuota, Status: 429, Message: "You exceeded your quota"},
			"quota exceeded (429)",
			"check plan, credit and limits of your account",
		},
		{
			&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 4, RetryAfter: 20 * second},
			"rate limit reached (429) after 4 attempts",
			"try again in 20 s",
		},
		{
			&llm.Error{Kind: llm.KindRateLimit, Status: 429, RetryAfter: second / 2},
			"rate limit reached (429)",
			"try again in 1 s",
		},
		{
			&llm.Error{Kind: llm.KindRateLimit, Status: 429, Attempts: 1},
			"rate limit reached (429)",
			"wait a little, or raise request.max_retries",
		},
		{
			&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "x", Message: "two\nlines"},
			"the API refused x (400): two lines",
			"check the profile and request.extra_body",
		},
		{
			&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "store"},
			"the API refused store (400)",
			"request.extra_body: {store: null} leaves it out, " +
				"and the API then keeps question and answer",
		},
		{
			&llm.Error{Kind: llm.KindParameter, Status: 400, Param: "model"},
			"the API refused model (400)",
			"check model_profiles (MODEL_ANSWER)",
		},
		{
			&llm.Error{Kind: llm.KindServer, Status: 503, Attempts: 4, Message: "\x1b[31mred"},
			"the API failed (503) after 4 attempts: [31mred",
			"try again later",
		},
		{
			&llm.Error{Kind: llm.KindTimeout},
			"timed out",
			"raise request.timeout_ms or OPENAI_API_TIMEOUT",
		},
		{
			&llm.Error{Kind: llm.KindFailed, Status: 200, Code: "bad_prompt", Message: "flagged"},
			"the response failed (bad_prompt): flagged",
			"rephrase the question or try again",
		},
		{
			&llm.Error{Kind: llm.KindBadResponse, Status: 200, Message: "the answer is empty"},
			"not an answer of the Responses API: the answer is empty",
			base,
		},
		{
			&llm.Error{Kind: llm.KindBadResponse, Status: 302, Message: "the API redirects to x"},
			"the API redirects to x (302)",
			base + ", and whether the network requires a login",
		},
	})
}

func TestNoModels(t *testing.T) {
	v := advisorFor("https://a.example/v1")
	const want = "check openai.base_url (OPENAI_BASE_URL): it ends with the version, " +
		"as in https://api.openai.com/v1, or see with --live whether it answers questions"

	for e, want := range map[*llm.Error]string{
		{Kind: llm.KindNotFound, Status: 404}:  want,
		{Kind: llm.KindParameter, Status: 405}: want,
		{Kind: llm.KindServer, Status: 501}:    want,
		{Kind: llm.KindModel, Status: 404}:     "",
		{Kind: llm.KindAuth, Status: 401}:      "",
	} {
		t.Run(e.Kind.Label(), func(t *testing.T) {
			got := v.NoModels(e)
			if got != want {
				t.Errorf("NoModels(%v) = %q, want %q", e, got, want)
			}
		})
	}
}
