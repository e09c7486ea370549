package advice

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each kind of error has advice of its own, and only a broken connection is called one. A canceled
// call needs no hint, the server words that of arguments and of calls in an hour, and none helps
// against a bug.
func TestEveryKind(t *testing.T) {
	v := advisorFor("https://api.openai.com/v1")
	ofAnswer := map[llm.Kind]error{
		llm.KindShutdown: answer.ErrShutdown,
		llm.KindNoText:   llm.KindNoText.Errorf("no output"),
	}
	withoutHint := []llm.Kind{
		llm.KindCanceled,
		llm.KindArguments,
		llm.KindLimited,
		llm.KindInternal,
	}

	for _, kind := range llm.Kinds() {
		t.Run(kind.Label(), func(t *testing.T) {
			err := cmp.Or[error](ofAnswer[kind], &llm.Error{Kind: kind, Status: 500})
			if got := llm.KindOf(err); got != kind {
				t.Errorf("KindOf(%v) = %v, want %v", err, got, kind)
			}
			problem, hint := v.Advise("answer", err)

			if hint == "" && !slices.Contains(withoutHint, kind) {
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
	compare.Equal(t, "kinds of llm.Kinds, and those that error.go declares", got, declared)
}

// The file has only keys that are read, and only words with $ that are filled in.
func TestWords(t *testing.T) {
	decoder := yaml.NewDecoder(bytes.NewReader(file))
	decoder.KnownFields(true)
	var all map[string]words
	err := decoder.Decode(&all)
	if err != nil {
		t.Fatal(err)
	}

	e := refused(llm.KindFailed, 0, "")
	values := Advisor{}.fill("", e, e)
	for name, w := range all {
		t.Run(name, func(t *testing.T) {
			got := values.Replace(w.Problem + w.Hint + w.Caller)
			if w.Problem == "" || strings.Contains(got, "$") {
				t.Errorf("got %q, want a problem without $", got)
			}
		})
	}
}

// Errors that the same request gets again.
func TestKind(t *testing.T) {
	const base = "check openai.base_url (OPENAI_BASE_URL)"
	firewall := refused(llm.KindBadResponse, 403, "")
	firewall.Err = llm.ErrWebPage
	parameter := func(name string) error {
		return &llm.Error{Kind: llm.KindParameter, Status: 400, Param: name}
	}

	advises(t, map[error]advice{
		// The API repeats a part of the key here, so its message is left out.
		refused(llm.KindAuth, 401, "Incorrect key: sk-abc***xyz."): {
			"the API refused the key (401)",
			"the key is wrong, cut off or revoked: " +
				"set K to a current key from https://platform.openai.com/api-keys",
		},
		refused(llm.KindAuth, 0, "the key in K has a line break"): {
			"the key in K has a line break",
			"set K to the key alone, in one line",
		},

		refused(llm.KindPermission, 403, "No such country"): {
			"access denied (403): No such country",
			"check the permissions of the key in K, your region, and any firewall",
		},
		firewall: {
			"received a web page, not an answer (403)",
			base + ", and whether a firewall or a login page of the network answers instead",
		},
		refused(llm.KindUnverified, 400, "no"): {
			"the organization is not verified (400): no",
			"verify it at https://platform.openai.com/settings/organization/general, " +
				"or choose another model",
		},

		parameter("x"):     {"the API refused x (400)", "check the profile and request.extra_body"},
		parameter("model"): {"the API refused model (400)", "check model_profiles (MODEL_ANSWER)"},
		parameter("store"): {
			"the API refused store (400)",
			"request.extra_body: {store: null} leaves it out, " +
				"and the API then keeps question and answer",
		},

		parameter("safety_identifier"): {
			"the API refused safety_identifier (400)",
			"request.extra_body: {safety_identifier: null} leaves it out",
		},

		refused(llm.KindFiltered, 400, "Flagged."): {
			"question refused (400): Flagged.",
			"rephrase the question",
		},
		refused(llm.KindTooLong, 200, "Long."): {
			"question too long: Long.",
			"ask for less, or make the question shorter",
		},

		refused(llm.KindBadResponse, 200, "the answer is empty"): {
			"not an answer of the Responses API: the answer is empty",
			base,
		},
	})
}

// Errors that a later request may not get.
func TestTemporaryKind(t *testing.T) {
	later := refused(llm.KindRateLimit, 429, "slow down")
	later.RetryAfter = 20 * time.Second
	soon := refused(llm.KindRateLimit, 429, "")
	soon.RetryAfter = time.Second / 2

	retried := refused(llm.KindServer, 503, "\x1b[31mred")
	retried.Attempts = 4
	broken := refused(llm.KindServer, 502, "")
	broken.Err = llm.ErrWebPage
	failed := refused(llm.KindFailed, 200, "flagged")
	failed.Code = "bad_prompt"

	advises(t, map[error]advice{
		refused(llm.KindRateLimit, 429, ""): {
			"rate limit reached (429)",
			"wait a little, or raise request.max_retries",
		},
		later: {"rate limit reached (429): slow down", "try again in 20 s"},
		soon:  {"rate limit reached (429)", "try again in 1 s"},

		broken:  {"the API failed (502)", "try again later"},
		retried: {"the API failed (503) after 4 attempts: [31mred", "try again later"},
		failed: {
			"the response failed (bad_prompt): flagged",
			"rephrase the question or try again",
		},

		refused(llm.KindCanceled, 0, ""): {"cancelled", ""},
	})
}

// The checks of doctor show the hint.
func TestNoModels(t *testing.T) {
	v := advisorFor("https://a.example/v1")
	for e, want := range map[*llm.Error]bool{
		refused(llm.KindNotFound, 404, ""):  true,
		refused(llm.KindParameter, 405, ""): true,
		refused(llm.KindServer, 501, ""):    true,
		refused(llm.KindAuth, 401, ""):      false,
	} {
		t.Run(e.Kind.Label(), func(t *testing.T) {
			got := v.NoModels(e)
			if (got != "") != want {
				t.Errorf("NoModels(%v) = %q, want a hint: %t", e, got, want)
			}
		})
	}
}
