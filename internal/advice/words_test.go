package advice

import (
	"bytes"
	"cmp"
	"os"
	"slices"
	"strings"
	"testing"

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

// listed returns an error that a table in testdata describes.
func listed(t *testing.T, description string) error {
	t.Helper()
	var d struct {
		llm.Error `yaml:",inline"`
		Label     string
		Page      bool
	}
	err := yaml.Unmarshal([]byte(description), &d)
	if err != nil {
		t.Fatal(err)
	}

	i := slices.IndexFunc(llm.Kinds(), func(k llm.Kind) bool { return k.Label() == d.Label })
	d.Kind = llm.Kinds()[i]
	if d.Kind == llm.KindNoText {
		return d.Kind.Errorf("%s", d.Message)
	}
	if d.Page {
		d.Err = llm.ErrWebPage
	}
	return &d.Error
}

func TestKind(t *testing.T) {
	for _, row := range compare.Table(t, "advice", 3) {
		advises(t, map[error]advice{listed(t, row[0]): {row[1], row[2]}})
	}
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
