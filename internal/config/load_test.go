package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// file is the path of the file that write makes.
const file = "c/config.yaml"

// write makes a configuration file in an empty directory, and returns the flag that names it.
func write(t *testing.T, content string) Flags {
	t.Helper()
	t.Chdir(t.TempDir())
	err := errors.Join(
		os.Mkdir("c", 0o700),
		os.WriteFile(file, []byte(content), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	return Flags{Config: new(file)}
}

// mustLoad loads what has no problems and no warnings.
func mustLoad(t *testing.T, flags Flags, environ ...string) *Config {
	t.Helper()
	c, warnings, err := Load(flags, append(environ, "HOME=/home/u", "USERPROFILE=/home/u"))
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Load(): %v, warnings %q", err, warnings)
	}
	return c
}

// The values of the example are the defaults.
func TestDefaults(t *testing.T) {
	example, err := os.ReadFile(exampleFile)
	if err != nil {
		t.Fatal(err)
	}
	first, _, _ := strings.Cut(string(example), "\n")
	want := "# yaml-language-server: $schema=" + schemaID
	if strings.TrimSpace(first) != want {
		t.Errorf("first line of the example = %q, want %q", first, want)
	}

	c := mustLoad(t, Flags{Config: new(exampleFile)})
	diff := cmp.Diff(mustLoad(t, Flags{}), c, cmpopts.IgnoreFields(Config{}, "Derived"))
	if diff != "" {
		t.Errorf("the example (-default +example):\n%s", diff)
	}
	if got := c.Timeout(); got != 5*time.Minute {
		t.Errorf("Timeout() = %v, want 5m", got)
	}
}

// TestLoad loads a file, variables and --model, and looks at one key and at its origin.
func TestLoad(t *testing.T) {
	const (
		debug   = "server.debug"
		log     = "server.debug_file"
		effort  = "model_profiles.answer.reasoning_effort"
		timeout = "request.timeout_ms"
		number  = "policy.max_citations"

		server = "server: {debug: true, debug_file: y.log}"
		anchor = "model_profiles: {answer: &a {model: m}, answer_quick: *a}\n"
		nulls  = "server:\nsearch: ~\nopenai: {base_url: null, project: }\n"
		four   = "policy: {max_citations: 4, system: {path: null}}"
	)
	for _, tt := range []struct{ name, file, variable, key, want string }{
		{"default", "", "", debug, "false default"},
		{"on in the file", server, "", debug, "true c/config.yaml:1"},
		{"beside the file", server, "", log, "c/y.log c/config.yaml:1"},
		{"empty variable", server, "DEBUG= ", log, "c/y.log c/config.yaml:1"},
		{"file of a variable", server, "DEBUG= e.log ", log, "e.log DEBUG"},
		{"switch keeps the file", server, "DEBUG=1", log, "c/y.log c/config.yaml:1"},
		{"file is on", "", "DEBUG=/tmp/x.log", debug, "true DEBUG"},
		{"home", "", "DEBUG=~/x.log", log, "/home/u/x.log DEBUG"},
		{"home of another", "", "DEBUG=~other/x", log, "~other/x DEBUG"},
		{"0", server, "DEBUG=0", debug, "false DEBUG"},
		{"false", server, "DEBUG=false", debug, "false DEBUG"},
		{"OFF", server, "DEBUG=OFF", debug, "false DEBUG"},
		{"No", server, "DEBUG=No", debug, "false DEBUG"},
		{"1", "", "DEBUG=1", debug, "true DEBUG"},
		{"TRUE", "", "DEBUG=TRUE", log, " default"},
		{"yes", "", "DEBUG=yes", log, " default"},
		{"On", "", "DEBUG=On", log, " default"},

		// Values that the TypeScript program took.
		{"word in capitals", "", "ANSWER_EFFORT=HIGH", effort, "high ANSWER_EFFORT"},
		{"in the file", "responses: {stream: Auto}", "", "responses.stream", "auto c/config.yaml:1"},
		{"fraction", "", "OPENAI_API_TIMEOUT=90000.5", timeout, "90000.5 OPENAI_API_TIMEOUT"},

		{"JSON", `{"policy": {"max_citations": 4}}`, "", number, "4 c/config.yaml:1"},
		{"byte order mark", "\ufeff" + four, "", number, "4 c/config.yaml:1"},
		{"alias", anchor + four, "", number, "4 c/config.yaml:2"},
		{"nulls", nulls + four, "", number, "4 c/config.yaml:4"},
		{"empty", "", "", number, "3 default"},
		{"empty mapping", "{}", "", number, "3 default"},
		{"comments", "# only\n# comments\n", "", number, "3 default"},
		{"null", "null", "", number, "3 default"},
		{"empty sections", "policy:\nserver: {}\n", "", number, "3 default"},
		{"empty document at the end", four + "\n---\n", "", number, "4 c/config.yaml:1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, write(t, tt.file), tt.variable)
			i := slices.IndexFunc(c.fields, func(f field) bool { return f.key == tt.key })

			got := fmt.Sprintf("%v %s", c.fields[i].value, c.Origin(tt.key))
			if filepath.ToSlash(got) != tt.want {
				t.Errorf("%s is %s, want %s", tt.key, got, tt.want)
			}
		})
	}
}

func TestTimeout(t *testing.T) {
	for ms, want := range map[string]string{
		"90000.5":              "1m30.0005s",
		"99999999999999999999": "2562047h47m16.853999616s", // the longest
	} {
		t.Run(ms, func(t *testing.T) {
			got := mustLoad(t, Flags{}, "OPENAI_API_TIMEOUT="+ms).Timeout()
			if got.String() != want {
				t.Errorf("Timeout() = %v, want %s", got, want)
			}
		})
	}
}

// DEBUG of other programs is a pattern. It is neither a switch nor a file.
func TestDebugPattern(t *testing.T) {
	c, warnings, err := Load(Flags{}, []string{"DEBUG=express:*"})
	if err != nil {
		t.Fatal(err)
	}

	got := fmt.Sprintln(c.Server.Debug, c.Server.DebugFile, warnings)
	want := "false  [DEBUG: server.debug: \"express:*\" ignored: a file has no * in its name]\n"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// Profiles are built in. With model_profiles in the file they inherit field by field (spec §3.0).
// The variables of answer hold for the others, which have variables for their models.
func TestProfiles(t *testing.T) {
	const (
		medium = "gpt-5.2 medium medium  0"
		high   = "gpt-5.2 high high  0"
		low    = "gpt-5.2 low low  0"
		a      = "a medium medium  0"
		quick  = "model_profiles: {answer: null, answer_quick: {model: a}}"
		two    = "model_profiles: {answer: {model: a}, answer_quick: {verbosity: low}}"
		// A key of answer_detailed that is set to its zero value is not inherited.
		zero = `model_profiles:
  answer: {model: a, verbosity: low, reasoning_summary: auto, max_tool_calls: 5}
  answer_detailed: {reasoning_effort: high, reasoning_summary: '', max_tool_calls: 0}
`
	)
	for _, tt := range []struct {
		name, file, environ     string
		answer, detailed, quick string
	}{
		{"no file", "", "", medium, high, low},
		{"empty section", "model_profiles:", "", medium, high, low},
		{"answer only", "model_profiles: {answer: {model: a}}", "", a, a, a},
		{"empty profile", "model_profiles: {answer_detailed: {}}", "", medium, medium, medium},
		{"answer_quick only", quick, "", medium, medium, a},
		{"zero values", zero, "", "a medium low auto 5", "a high low  0", "a medium low auto 5"},
		{
			"variables and the file", two,
			"MODEL_ANSWER=e MODEL_DETAILED=d ANSWER_EFFORT=high ANSWER_VERBOSITY=high",
			"e high high  0", "d high high  0", "e high low  0",
		},
		{
			"effort", "", "ANSWER_EFFORT=xhigh",
			"gpt-5.2 xhigh medium  0", "gpt-5.2 xhigh high  0", "gpt-5.2 xhigh low  0",
		},
		{
			"verbosity", "", "ANSWER_VERBOSITY=low",
			"gpt-5.2 medium low  0", "gpt-5.2 high low  0", low,
		},
		{
			"models", "", "MODEL_ANSWER=e MODEL_QUICK=q",
			"e medium medium  0", "e high high  0", "q low low  0",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, write(t, tt.file), strings.Fields(tt.environ)...)
			all := c.ModelProfiles
			var got []string
			for _, p := range []Profile{all.Answer, all.AnswerDetailed, all.AnswerQuick} {
				got = append(got, fmt.Sprint(p.Model, " ", p.ReasoningEffort, " ", p.Verbosity, " ",
					p.ReasoningSummary, " ", p.MaxToolCalls))
			}
			want := []string{tt.answer, tt.detailed, tt.quick}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestLocalTimezone(t *testing.T) {
	zone := mustLoad(t, write(t, "policy: {timezone: local}")).Location
	day := time.Date(2026, time.July, 2, 3, 4, 5, 0, time.UTC)

	got := day.In(zone).Format(time.DateTime)
	if want := day.Local().Format(time.DateTime); got != want {
		t.Errorf("%v is %s in %v, want %s", day, got, zone, want)
	}
}

// A link to a file is fine: Kubernetes mounts them.
func TestReadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	const limit = 1 << 20
	err := errors.Join(
		os.WriteFile("large", make([]byte, limit), 0o600),
		os.WriteFile("huge", make([]byte, limit+1), 0o600),
	)
	if err != nil {
		t.Fatal(err)
	}
	err = os.Symlink("large", "link")
	if err != nil {
		t.Skip(err) // Windows without the right to make links
	}

	for path, isRead := range map[string]bool{
		"link":     true,
		"huge":     false,
		".":        false,
		os.DevNull: false,
	} {
		t.Run(path, func(t *testing.T) {
			_, err := ReadFile(path)
			if got := err == nil; got != isRead {
				t.Errorf("ReadFile() reads it: %t (%v), want %t", got, err, isRead)
			}
		})
	}
}

// A file that expands without bound, or has many problems, is read at once, and its error is short.
func TestBomb(t *testing.T) {
	var bomb, many strings.Builder
	bomb.WriteString("request:\n  extra_body:\n    a0: &a0 [x, x]\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&bomb, "    a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for i := range 1000 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}

	for _, tt := range []struct{ name, yaml, end string }{
		{"many aliases", bomb.String(), ""},
		{"alias of itself", "request: &a {extra_body: {b: *a}}", ""},
		{"many brackets", strings.Repeat("[", 100_000), ""},
		{"many keys", many.String(), "\n" + file + ": problems not shown: 980"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, _, err := Load(write(t, tt.yaml), nil)
			if err == nil || len(err.Error()) > 1000 {
				t.Fatalf("Load() = %v, want a short error", err)
			}
			if !strings.HasSuffix(err.Error(), tt.end) {
				t.Errorf("Load() = %v, want an error that ends with %q", err, tt.end)
			}
		})
	}
}
