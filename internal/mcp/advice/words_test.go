package advice

import (
	"bytes"
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each kind of error has advice of its own, and only a broken connection is called one. A canceled
// call needs no hint, the server words that of arguments and of calls in an hour, and none helps
// against a bug.
func TestEveryKind(t *testing.T) {
	v := advisorFor("https://api.openai.com/v1")
	ofAnswer := map[call.Kind]error{
		call.KindShutdown: call.ErrShutdown,
		call.KindNoText:   call.KindNoText.Errorf("no output"),
	}
	withoutHint := []call.Kind{
		call.KindCanceled,
		call.KindArguments,
		call.KindLimited,
		call.KindInternal,
	}

	for _, kind := range call.Kinds() {
		t.Run(kind.Label(), func(t *testing.T) {
			err := cmp.Or[error](ofAnswer[kind], &call.APIError{Kind: kind, Status: 500})
			if got := call.KindOf(err); got != kind {
				t.Errorf("KindOf(%v) = %v, want %v", err, got, kind)
			}
			problem, hint := v.Advise("answer", err)

			if hint == "" && !slices.Contains(withoutHint, kind) {
				t.Errorf("words.yaml has no hint for %s, whose problem is %q", kind.Label(), problem)
			}
			broken := strings.HasPrefix(problem, "connection failed")
			if broken != (kind == call.KindConnection) {
				t.Errorf("problem %q", problem)
			}
		})
	}
}

// The file has only keys that are read, and only words with $ that are filled in.
func TestWords(t *testing.T) {
	decoder := yaml.NewDecoder(bytes.NewReader(wordsYAML))
	decoder.KnownFields(true)
	var all map[string]words
	err := decoder.Decode(&all)
	if err != nil {
		t.Fatal(err)
	}

	e := refused(call.KindFailed, 0, "")
	values := Advisor{}.values("", e, e)
	for name, w := range all {
		t.Run(name, func(t *testing.T) {
			got := text.Expand(strings.Join([]string{w.Problem, w.Hint, w.CallerHint}, " "), values)
			if w.Problem == "" || strings.Contains(got, "$") {
				t.Errorf("got %q, want a problem without $", got)
			}
		})
	}
}

// A row of advice.table has each entry of the file, except those of other tests: TestNoModels, and
// TestSettings for certificates that are not trusted.
func TestEveryWord(t *testing.T) {
	reached := map[string]bool{"no_models": true}
	v := advisorFor("https://api.openai.com/v1")
	for _, row := range compare.Table(t, "advice", 3) {
		err := listed(t, row[0])
		e, _ := errors.AsType[*call.APIError](err)
		name := v.wordsName(err, cmp.Or(e, &call.APIError{}))
		if wordsByName()[name].Problem == "" {
			name, _, _ = strings.Cut(name, " ")
		}
		reached[name] = true
	}
	for name := range wordsByName() {
		t.Run(name, func(t *testing.T) {
			if !reached[name] && !strings.HasPrefix(name, "connection untrusted") {
				t.Error("no row of testdata/advice.table has these words")
			}
		})
	}
}

// listed returns an error that a table in testdata describes. Without a label it is its causes, or
// a text.
func listed(t *testing.T, description string) error {
	t.Helper()
	var d struct {
		call.APIError `yaml:",inline"`
		Label         string
		Causes        []string
	}
	err := yaml.Unmarshal([]byte(description), &d)
	if err != nil {
		t.Fatal(err)
	}

	for _, name := range d.Causes {
		d.Err = errors.Join(d.Err, causes[name])
	}
	i := slices.IndexFunc(call.Kinds(), func(k call.Kind) bool { return k.Label() == d.Label })
	if i < 0 {
		return cmp.Or(d.Err, errors.New(d.Message))
	}
	d.Kind = call.Kinds()[i]
	if d.Kind == call.KindNoText {
		return d.Kind.Errorf("%s", d.Message)
	}
	return &d.APIError
}

// The checks of doctor show the hint.
func TestNoModels(t *testing.T) {
	v := advisorFor("https://a.example/v1")
	for e, want := range map[*call.APIError]bool{
		refused(call.KindNotFound, 404, ""):   true,
		refused(call.KindBadRequest, 405, ""): true,
		refused(call.KindServer, 501, ""):     true,
		refused(call.KindAuth, 401, ""):       false,
	} {
		t.Run(e.Kind.Label(), func(t *testing.T) {
			got := v.NoModelsHint(e)
			if (got != "") != want {
				t.Errorf("NoModelsHint(%v) = %q, want a hint: %t", e, got, want)
			}
		})
	}
}
