package config

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
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
	if err := errors.Join(os.Mkdir("c", 0o700), os.WriteFile(file, []byte(content), 0o600)); err != nil {
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
	if first, _, _ := strings.Cut(string(example), "\n"); strings.TrimSpace(first) != "# yaml-language-server: $schema="+schemaID {
		t.Errorf("first line of the example = %q", first)
	}
	c := mustLoad(t, Flags{Config: new(exampleFile)})
	if diff := cmp.Diff(mustLoad(t, Flags{}), c, cmpopts.IgnoreFields(Config{}, "Derived")); diff != "" {
		t.Errorf("the example (-default +example):\n%s", diff)
	}
	if c.APIKey != "" || c.Timeout() != 5*time.Minute || c.Location.String() != "Asia/Tokyo" {
		t.Errorf("KeySet = %v, Timeout() = %v, Location = %v", c.KeySet, c.Timeout(), c.Location)
	}
}

// TestPrecedence follows one key and the debug switch through the layers.
func TestPrecedence(t *testing.T) {
	const yaml = "model_profiles: {answer: {model: y}}\nserver: {debug: true, debug_file: y.log}\n"
	for _, tt := range []struct {
		yaml    string
		environ []string
		flags   Flags
		want    string // model, origin, debug, file
	}{
		{"", nil, Flags{}, "gpt-5.2 default false "},
		{yaml, nil, Flags{}, "y c/config.yaml:1 true c/y.log"},
		{yaml, []string{"MODEL_ANSWER= e ", "DEBUG=e.log"}, Flags{}, "e MODEL_ANSWER true e.log"},
		{yaml, []string{"MODEL_ANSWER=", "DEBUG= "}, Flags{}, "y c/config.yaml:1 true c/y.log"},
		{yaml, []string{"MODEL_ANSWER=e", "DEBUG=0"}, Flags{Model: new("f"), Debug: new("~/f.log")}, "f --model true /home/u/f.log"},
		{yaml, []string{"DEBUG=1"}, Flags{}, "y c/config.yaml:1 true c/y.log"}, // the switch alone keeps the file
	} {
		tt.flags.Config = write(t, tt.yaml).Config
		c := mustLoad(t, tt.flags, tt.environ...)
		model, origin := c.ModelProfiles.Answer.Model, c.Origin("model_profiles.answer.model")
		got := fmt.Sprintf("%s %s %t %s", model, origin, c.Server.Debug, filepath.ToSlash(c.Server.DebugFile))
		if got != tt.want {
			t.Errorf("%q: %s, want %s", tt.environ, got, tt.want)
		}
	}
}

func TestDebugWords(t *testing.T) {
	for value, want := range map[string]Server{ // Debug and DebugFile
		"0": {}, "false": {}, "OFF": {}, "No": {},
		"1": {Debug: true}, "TRUE": {Debug: true}, "yes": {Debug: true}, "On": {Debug: true},
		"/tmp/x.log": {Debug: true, DebugFile: "/tmp/x.log"},
		"~/x.log":    {Debug: true, DebugFile: filepath.FromSlash("/home/u/x.log")},
		"~other/x":   {Debug: true, DebugFile: "~other/x"},
	} {
		got := mustLoad(t, Flags{}, "DEBUG="+value).Server
		if got.Debug != want.Debug || got.DebugFile != want.DebugFile {
			t.Errorf("DEBUG=%s: %+v, want %+v", value, got, want)
		}
	}
}

// Profiles are built in. With model_profiles in the file they inherit field by field (spec §3.0).
func TestProfiles(t *testing.T) {
	p := func(model, effort, verbosity string) Profile {
		return Profile{Model: model, ReasoningEffort: effort, Verbosity: verbosity}
	}
	medium, high, low := p("gpt-5.2", "medium", "medium"), p("gpt-5.2", "high", "high"), p("gpt-5.2", "low", "low")
	for _, tt := range []struct {
		yaml    string
		environ []string
		model   *string // --model
		want    ModelProfiles
	}{
		{"", nil, nil, ModelProfiles{medium, high, low}},
		{"model_profiles:", nil, nil, ModelProfiles{medium, high, low}},
		{"model_profiles: {answer: {model: a}}", nil, nil, ModelProfiles{p("a", "medium", "medium"), p("a", "medium", "medium"), p("a", "medium", "medium")}},
		{"model_profiles: {answer_detailed: {}, answer_quick: null}", nil, nil, ModelProfiles{medium, medium, medium}},
		{"model_profiles: {answer: null, answer_quick: {model: q}}", nil, nil, ModelProfiles{medium, medium, p("q", "medium", "medium")}},
		{"model_profiles: {answer: {model: a, verbosity: low, reasoning_summary: auto, max_tool_calls: 5}, answer_detailed: {reasoning_effort: high, reasoning_summary: '', max_tool_calls: 0, service_tier: flex}}", nil, nil, ModelProfiles{
			Profile{Model: "a", ReasoningEffort: "medium", Verbosity: "low", ReasoningSummary: "auto", MaxToolCalls: 5},
			Profile{Model: "a", ReasoningEffort: "high", Verbosity: "low", ServiceTier: "flex"},
			Profile{Model: "a", ReasoningEffort: "medium", Verbosity: "low", ReasoningSummary: "auto", MaxToolCalls: 5},
		}},
		{"model_profiles: {answer: {model: a}, answer_quick: {verbosity: low}}",
			[]string{"MODEL_ANSWER=e", "MODEL_DETAILED=d", "ANSWER_EFFORT=high", "ANSWER_VERBOSITY=high"}, nil,
			ModelProfiles{p("e", "high", "high"), p("d", "high", "high"), p("e", "high", "low")}},
		{"", []string{"ANSWER_EFFORT=minimal", "ANSWER_VERBOSITY=low"}, nil,
			ModelProfiles{p("gpt-5.2", "minimal", "low"), p("gpt-5.2", "minimal", "low"), p("gpt-5.2", "minimal", "low")}},
		{"", []string{"ANSWER_EFFORT=xhigh"}, nil,
			ModelProfiles{p("gpt-5.2", "xhigh", "medium"), p("gpt-5.2", "xhigh", "high"), p("gpt-5.2", "xhigh", "low")}},
		{"", []string{"MODEL_ANSWER=e", "MODEL_QUICK=q"}, new("f"),
			ModelProfiles{p("f", "medium", "medium"), p("f", "high", "high"), p("q", "low", "low")}},
	} {
		flags := write(t, tt.yaml)
		flags.Model = tt.model
		if diff := cmp.Diff(tt.want, mustLoad(t, flags, tt.environ...).ModelProfiles); diff != "" {
			t.Errorf("%s with %q (-want +got):\n%s", tt.yaml, tt.environ, diff)
		}
	}
}

// TestYAMLFine lists unusual files, with max_citations.
func TestYAMLFine(t *testing.T) {
	for yaml, want := range map[string]int{
		`{"policy": {"max_citations": 4}}`: 4,
		"\ufeffpolicy: {max_citations: 4}": 4,
		"model_profiles: {answer: &a {model: m}, answer_quick: *a}\npolicy: {max_citations: 4}":                       4,
		"server:\nsearch: ~\nopenai: {base_url: null, project: }\npolicy: {max_citations: 4, system: {path: null}}\n": 4,
		"": 3, "{}": 3, "# only\n# comments\n": 3, "\ufeff": 3, "null": 3, "~": 3, "---\n": 3, "policy:\nserver: {}\n": 3,
	} {
		c := mustLoad(t, write(t, yaml))
		if c.Policy.MaxCitations != want || c.File != file {
			t.Errorf("Load(%q): max_citations = %d, File = %q", yaml, c.Policy.MaxCitations, c.File)
		}
	}
}

func TestTimezone(t *testing.T) {
	for _, day := range []time.Time{time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), time.Date(2026, 7, 2, 3, 4, 5, 0, time.UTC)} {
		for name, want := range map[string]string{"local": day.Local().Format(time.DateTime), "America/Lima": day.Add(-5 * time.Hour).Format(time.DateTime)} {
			zone := mustLoad(t, write(t, "policy: {timezone: "+name+"}")).Location
			if got := day.In(zone).Format(time.DateTime); got != want {
				t.Errorf("%s: %v is %s in %v, want %s", name, day, got, zone, want)
			}
		}
	}
}

// A link to a file is fine: Kubernetes mounts them.
func TestReadFile(t *testing.T) {
	t.Chdir(t.TempDir())
	err := errors.Join(os.WriteFile("large", make([]byte, 1<<20), 0o600), os.WriteFile("huge", make([]byte, 1<<20+1), 0o600))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("large", "link"); err != nil {
		t.Skip(err) // Windows without the right to make links
	}
	for path, want := range map[string]bool{"large": true, "link": true, "huge": false, ".": false, os.DevNull: false} {
		data, err := ReadFile(path)
		if want && len(data) != 1<<20 || !want && (err == nil || !strings.Contains(err.Error(), "not a regular file")) {
			t.Errorf("ReadFile(%s) = %d bytes, %v, want them: %t", path, len(data), err, want)
		}
	}
}

// A file that expands without bound, or has many problems, is read at once, and its error is short.
func TestBomb(t *testing.T) {
	var bomb, many strings.Builder
	bomb.WriteString("request:\n  extra_body:\n    a0: &a0 [x, x]\n")
	for i := 1; i < 60; i++ {
		fmt.Fprintf(&bomb, "    a%d: &a%d [*a%d, *a%d]\n", i, i, i-1, i-1)
	}
	for i := range 50_000 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}
	for yaml, want := range map[string]string{
		bomb.String():                       "",
		"request: &a {extra_body: {b: *a}}": "",
		strings.Repeat("[", 100_000):        "",
		many.String():                       "\n" + file + ": problems not shown: 49980",
	} {
		if _, _, err := Load(write(t, yaml), nil); err == nil || len(err.Error()) > 1000 || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("Load(%.80q...) = %v, want a short error that ends with %q", yaml, err, want)
		}
	}
}
