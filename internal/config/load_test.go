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
	if c.APIKey != "" {
		t.Errorf("APIKey = %q, want none", c.APIKey)
	}
	if got := c.Timeout(); got != 5*time.Minute {
		t.Errorf("Timeout() = %v, want 5m", got)
	}
}

// TestPrecedence follows one key and the debug switch through the layers.
func TestPrecedence(t *testing.T) {
	const yaml = "model_profiles: {answer: {model: y}}\nserver: {debug: true, debug_file: y.log}\n"
	for _, tt := range []struct {
		name    string
		yaml    string
		environ []string
		flags   Flags
		want    string // model, origin, debug, file
	}{
		{
			name: "defaults",
			want: "gpt-5.2 default false ",
		},
		{
			name: "file",
			yaml: yaml,
			want: "y c/config.yaml:1 true c/y.log",
		},
		{
			name:    "variables",
			yaml:    yaml,
			environ: []string{"MODEL_ANSWER= e ", "DEBUG=e.log"},
			want:    "e MODEL_ANSWER true e.log",
		},
		{
			name:    "empty variables",
			yaml:    yaml,
			environ: []string{"MODEL_ANSWER=", "DEBUG= "},
			want:    "y c/config.yaml:1 true c/y.log",
		},
		{
			name:    "flags",
			yaml:    yaml,
			environ: []string{"MODEL_ANSWER=e", "DEBUG=0"},
			flags:   Flags{Model: new("f"), Debug: new("~/f.log")},
			want:    "f --model true /home/u/f.log",
		},
		{
			name:    "the switch keeps the file",
			yaml:    yaml,
			environ: []string{"DEBUG=1"},
			want:    "y c/config.yaml:1 true c/y.log",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			tt.flags.Config = write(t, tt.yaml).Config
			c := mustLoad(t, tt.flags, tt.environ...)

			got := fmt.Sprintf("%s %s %t %s", c.ModelProfiles.Answer.Model,
				c.Origin("model_profiles.answer.model"), c.Server.Debug,
				filepath.ToSlash(c.Server.DebugFile))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestDebugWords(t *testing.T) {
	on := Server{Debug: true}
	for value, want := range map[string]Server{
		"0":          {},
		"false":      {},
		"OFF":        {},
		"No":         {},
		"1":          on,
		"TRUE":       on,
		"yes":        on,
		"On":         on,
		"/tmp/x.log": {Debug: true, DebugFile: "/tmp/x.log"},
		"~/x.log":    {Debug: true, DebugFile: filepath.FromSlash("/home/u/x.log")},
		"~other/x":   {Debug: true, DebugFile: "~other/x"},
	} {
		t.Run(value, func(t *testing.T) {
			got := mustLoad(t, Flags{}, "DEBUG="+value).Server
			if got.Debug != want.Debug {
				t.Errorf("Debug = %t, want %t", got.Debug, want.Debug)
			}
			if got.DebugFile != want.DebugFile {
				t.Errorf("DebugFile = %q, want %q", got.DebugFile, want.DebugFile)
			}
		})
	}
}

// DEBUG of other programs is a pattern. It is neither a switch nor a file.
func TestDebugPattern(t *testing.T) {
	flags := write(t, "server: {debug: false}")
	c, warnings, err := Load(flags, []string{"DEBUG=express:*"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Server.Debug || c.Server.DebugFile != "" {
		t.Errorf("Server = %+v, want no debug", c.Server)
	}

	want := []string{`DEBUG: server.debug: "express:*" ignored: a file has no * in its name`}
	if diff := cmp.Diff(want, warnings); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
}

// Values that the TypeScript program took.
func TestLenientValues(t *testing.T) {
	for _, tt := range []struct {
		name    string
		file    string
		environ string
		value   func(*Config) any
		want    any
	}{
		{
			"word in capitals",
			"",
			"ANSWER_EFFORT=HIGH",
			func(c *Config) any { return c.ModelProfiles.Answer.ReasoningEffort },
			"high",
		},
		{
			"word with a capital in the file",
			"responses: {stream: 'Auto'}",
			"",
			func(c *Config) any { return c.Responses.Stream },
			"auto",
		},
		{
			"fraction of a millisecond",
			"",
			"OPENAI_API_TIMEOUT=90000.5",
			func(c *Config) any { return c.Timeout() },
			90*time.Second + 500*time.Microsecond,
		},
		{
			"longer than time.Duration",
			"request: {timeout_ms: 99999999999999999999}",
			"",
			func(c *Config) any { return c.Timeout() > 200*365*24*time.Hour },
			true,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.value(mustLoad(t, write(t, tt.file), tt.environ))
			if got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}

func profile(model, effort, verbosity string) Profile {
	return Profile{Model: model, ReasoningEffort: effort, Verbosity: verbosity}
}

// Profiles are built in. With model_profiles in the file they inherit field by field (spec §3.0).
func TestProfiles(t *testing.T) {
	medium := profile("gpt-5.2", "medium", "medium")
	high := profile("gpt-5.2", "high", "high")
	low := profile("gpt-5.2", "low", "low")
	a := profile("a", "medium", "medium")
	for _, tt := range []struct {
		name string
		yaml string
		want ModelProfiles
	}{
		{"no file", "", ModelProfiles{medium, high, low}},
		{"empty section", "model_profiles:", ModelProfiles{medium, high, low}},
		{"answer only", "model_profiles: {answer: {model: a}}", ModelProfiles{a, a, a}},
		{
			"empty profiles",
			"model_profiles: {answer_detailed: {}, answer_quick: null}",
			ModelProfiles{medium, medium, medium},
		},
		{
			"answer_quick only",
			"model_profiles: {answer: null, answer_quick: {model: a}}",
			ModelProfiles{medium, medium, a},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := mustLoad(t, write(t, tt.yaml)).ModelProfiles
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

// A key of answer_detailed that is set to its zero value is not inherited.
func TestInherit(t *testing.T) {
	flags := write(t, `model_profiles:
  answer: {model: a, verbosity: low, reasoning_summary: auto, max_tool_calls: 5}
  answer_detailed:
    {reasoning_effort: high, reasoning_summary: '', max_tool_calls: 0, service_tier: flex}
`)
	answer := profile("a", "medium", "low")
	answer.ReasoningSummary = "auto"
	answer.MaxToolCalls = 5
	detailed := profile("a", "high", "low")
	detailed.ServiceTier = "flex"

	want := ModelProfiles{answer, detailed, answer}
	if diff := cmp.Diff(want, mustLoad(t, flags).ModelProfiles); diff != "" {
		t.Errorf("profiles (-want +got):\n%s", diff)
	}
}

// The variables of answer hold for the other profiles, which have variables for their models.
func TestProfileVariables(t *testing.T) {
	for _, tt := range []struct {
		name    string
		yaml    string
		environ string
		model   *string // --model
		want    ModelProfiles
	}{
		{
			name:    "profiles of the file",
			yaml:    "model_profiles: {answer: {model: a}, answer_quick: {verbosity: low}}",
			environ: "MODEL_ANSWER=e MODEL_DETAILED=d ANSWER_EFFORT=high ANSWER_VERBOSITY=high",
			want: ModelProfiles{
				profile("e", "high", "high"),
				profile("d", "high", "high"),
				profile("e", "high", "low"),
			},
		},
		{
			name:    "effort and verbosity",
			environ: "ANSWER_EFFORT=minimal ANSWER_VERBOSITY=low",
			want: ModelProfiles{
				profile("gpt-5.2", "minimal", "low"),
				profile("gpt-5.2", "minimal", "low"),
				profile("gpt-5.2", "minimal", "low"),
			},
		},
		{
			name:    "effort",
			environ: "ANSWER_EFFORT=xhigh",
			want: ModelProfiles{
				profile("gpt-5.2", "xhigh", "medium"),
				profile("gpt-5.2", "xhigh", "high"),
				profile("gpt-5.2", "xhigh", "low"),
			},
		},
		{
			name:    "models and --model",
			environ: "MODEL_ANSWER=e MODEL_QUICK=q",
			model:   new("f"),
			want: ModelProfiles{
				profile("f", "medium", "medium"),
				profile("f", "high", "high"),
				profile("q", "low", "low"),
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			flags := write(t, tt.yaml)
			flags.Model = tt.model
			got := mustLoad(t, flags, strings.Fields(tt.environ)...).ModelProfiles
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

// TestUnusualFile loads files with max_citations, and files without a key.
func TestUnusualFile(t *testing.T) {
	const anchor = "model_profiles: {answer: &a {model: m}, answer_quick: *a}\n"
	const nulls = "server:\nsearch: ~\nopenai: {base_url: null, project: }\n"
	for _, tt := range []struct {
		name, yaml   string
		maxCitations int
	}{
		{"JSON", `{"policy": {"max_citations": 4}}`, 4},
		{"byte order mark", "\ufeffpolicy: {max_citations: 4}", 4},
		{"alias", anchor + "policy: {max_citations: 4}", 4},
		{"nulls", nulls + "policy: {max_citations: 4, system: {path: null}}", 4},
		{"empty", "", 3},
		{"empty mapping", "{}", 3},
		{"comments", "# only\n# comments\n", 3},
		{"null", "null", 3},
		{"empty sections", "policy:\nserver: {}\n", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, write(t, tt.yaml))
			if c.Policy.MaxCitations != tt.maxCitations {
				t.Errorf("max_citations = %d, want %d", c.Policy.MaxCitations, tt.maxCitations)
			}
			if c.File != file {
				t.Errorf("File = %q, want %q", c.File, file)
			}
		})
	}
}

func TestLocalTimezone(t *testing.T) {
	zone := mustLoad(t, write(t, "policy: {timezone: local}")).Location
	for _, month := range []time.Month{time.January, time.July} {
		t.Run(month.String(), func(t *testing.T) {
			day := time.Date(2026, month, 2, 3, 4, 5, 0, time.UTC)
			got := day.In(zone).Format(time.DateTime)
			if want := day.Local().Format(time.DateTime); got != want {
				t.Errorf("%v is %s in %v, want %s", day, got, zone, want)
			}
		})
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

	for _, path := range []string{"large", "link"} {
		t.Run(path, func(t *testing.T) {
			data, err := ReadFile(path)
			if err != nil || len(data) != limit {
				t.Errorf("ReadFile() = %d bytes, %v, want %d", len(data), err, limit)
			}
		})
	}
	for _, path := range []string{"huge", ".", os.DevNull} {
		t.Run(path, func(t *testing.T) {
			_, err := ReadFile(path)
			if err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("ReadFile() = %v, want an error that says what is not a file", err)
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
	for i := range 50_000 {
		fmt.Fprintf(&many, "key%d: 1\n", i)
	}

	for _, tt := range []struct{ name, yaml, end string }{
		{"many aliases", bomb.String(), ""},
		{"alias of itself", "request: &a {extra_body: {b: *a}}", ""},
		{"many brackets", strings.Repeat("[", 100_000), ""},
		{"many keys", many.String(), "\n" + file + ": problems not shown: 49980"},
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
