package config

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// exported compares what callers see.
var exported = cmpopts.IgnoreUnexported(Config{})

func TestLoadDefaults(t *testing.T) {
	c := mustLoad(t, Input{GOOS: "linux"})
	want := defaults()
	want.ModelProfiles.AnswerDetailed = want.ModelProfiles.Answer
	want.ModelProfiles.AnswerQuick = want.ModelProfiles.Answer
	if diff := cmp.Diff(want, c, exported); diff != "" {
		t.Errorf("Load() (-want +got):\n%s", diff)
	}
	if got := c.Timeout(); got != 5*time.Minute {
		t.Errorf("Timeout() = %v, want 5m", got)
	}
	if c.File() != "" || c.APIKey() != "" || c.LineMode {
		t.Errorf("File() = %q, APIKey() = %q, LineMode = %v, want none of them", c.File(), c.APIKey(), c.LineMode)
	}
}

func TestTimeoutSaturates(t *testing.T) {
	c := mustLoad(t, input("request: {timeout_ms: 9223372036854775807}"))
	if c.Timeout() < 290*365*24*time.Hour {
		t.Errorf("Timeout() = %v, want the longest", c.Timeout())
	}
}

// TestPrecedence walks one key and the debug switch through the layers.
func TestPrecedence(t *testing.T) {
	const yaml = "model_profiles: {answer: {model: y}}\nserver: {debug: true, debug_file: y.log}\n"
	tests := []struct {
		name    string
		yaml    string
		environ []string
		flags   Flags
		model   string
		origin  string
		debug   bool
		file    string
	}{
		{"defaults", "", nil, Flags{}, "gpt-5.2", "default", false, ""},
		{"yaml", yaml, nil, Flags{}, "y", "/etc/c/config.yaml:1", true, "/etc/c/y.log"},
		{"env", yaml, []string{"MODEL_ANSWER= e ", "DEBUG=e.log"}, Flags{}, "e", "MODEL_ANSWER", true, "e.log"},
		{"empty env is unset", yaml, []string{"MODEL_ANSWER=", "DEBUG= "}, Flags{}, "y", "/etc/c/config.yaml:1", true, "/etc/c/y.log"},
		{"the last of two wins", "", []string{"MODEL_ANSWER=a", "MODEL_ANSWER=b"}, Flags{}, "b", "MODEL_ANSWER", false, ""},
		{"flags", yaml, []string{"MODEL_ANSWER=e", "DEBUG=0"}, Flags{Model: "f", ModelSet: true, Debug: true, DebugFile: "~/f.log", DebugSet: true}, "f", "--model", true, "/home/u/f.log"},
		{"DEBUG=0 beats yaml", yaml, []string{"DEBUG=0"}, Flags{}, "y", "/etc/c/config.yaml:1", false, "/etc/c/y.log"},
		{"the switch alone keeps the file", yaml, []string{"DEBUG=1"}, Flags{}, "y", "/etc/c/config.yaml:1", true, "/etc/c/y.log"},
		{"--debug=false", yaml, []string{"DEBUG=1"}, Flags{DebugSet: true}, "y", "/etc/c/config.yaml:1", false, "/etc/c/y.log"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.yaml, tt.environ...)
			tt.flags.Config = in.Flags.Config
			in.Flags = tt.flags
			c := mustLoad(t, in)
			if c.ModelProfiles.Answer.Model != tt.model {
				t.Errorf("model = %q, want %q", c.ModelProfiles.Answer.Model, tt.model)
			}
			if got := c.Origin("model_profiles.answer.model"); got != tt.origin {
				t.Errorf("Origin(model) = %q, want %q", got, tt.origin)
			}
			if c.Server.Debug != tt.debug || c.Server.DebugFile != tt.file {
				t.Errorf("debug = %v %q, want %v %q", c.Server.Debug, c.Server.DebugFile, tt.debug, tt.file)
			}
		})
	}
}

func TestDebugWords(t *testing.T) {
	for value, want := range map[string]Server{
		"0": {}, "false": {}, "OFF": {}, "No": {},
		"1": {Debug: true}, "TRUE": {Debug: true}, "yes": {Debug: true}, "On": {Debug: true},
		"2":          {Debug: true, DebugFile: "2"},
		"/tmp/x.log": {Debug: true, DebugFile: "/tmp/x.log"},
		"~/x.log":    {Debug: true, DebugFile: "/home/u/x.log"},
		"~":          {Debug: true, DebugFile: "/home/u"},
		"~other/x":   {Debug: true, DebugFile: "~other/x"},
	} {
		if got := mustLoad(t, input("", "DEBUG="+value)).Server; got != want {
			t.Errorf("DEBUG=%s: %+v, want %+v", value, got, want)
		}
	}
}

func TestLineMode(t *testing.T) {
	for value, want := range map[string]bool{"1": true, " 1 ": true, "0": false, "true": false, "": false} {
		if got := mustLoad(t, input("", "MCP_LINE_MODE="+value)).LineMode; got != want {
			t.Errorf("MCP_LINE_MODE=%q: LineMode = %v, want %v", value, got, want)
		}
	}
}

// TestInherit holds spec §3.0, field by field.
func TestInherit(t *testing.T) {
	def := Profile{Model: "gpt-5.2", ReasoningEffort: "medium", Verbosity: "medium"}
	tests := []struct {
		name                    string
		yaml                    string
		environ                 []string
		model                   string // --model
		answer, detailed, quick Profile
	}{
		{"nothing", "", nil, "", def, def, def},
		{"empty profiles", "model_profiles: {answer_detailed: {}, answer_quick: null}", nil, "", def, def, def},
		{"answer: null is the default, not an error", "model_profiles: {answer: null, answer_quick: {model: q}}", nil, "",
			def, def, Profile{"q", "medium", "medium", ""}},
		{"model_profiles: null", "model_profiles:", nil, "", def, def, def},
		{"field by field", "model_profiles: {answer: {model: a, verbosity: low, reasoning_summary: auto}, answer_detailed: {reasoning_effort: high, reasoning_summary: ''}}", nil, "",
			Profile{"a", "medium", "low", "auto"}, Profile{"a", "high", "low", ""}, Profile{"a", "medium", "low", "auto"}},
		{"after the environment", "model_profiles: {answer: {model: a}, answer_quick: {verbosity: low}}",
			[]string{"MODEL_ANSWER=e", "MODEL_DETAILED=d", "ANSWER_EFFORT=high", "ANSWER_VERBOSITY=high"}, "",
			Profile{"e", "high", "high", ""}, Profile{"d", "high", "high", ""}, Profile{"e", "high", "low", ""}},
		{"after the flags", "", []string{"MODEL_ANSWER=e", "MODEL_QUICK=q"}, "f",
			Profile{"f", "medium", "medium", ""}, Profile{"f", "medium", "medium", ""}, Profile{"q", "medium", "medium", ""}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			in := input(tt.yaml, tt.environ...)
			in.Flags.Model = tt.model
			got := mustLoad(t, in).ModelProfiles
			if diff := cmp.Diff(ModelProfiles{tt.answer, tt.detailed, tt.quick}, got); diff != "" {
				t.Errorf("profiles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOrigin(t *testing.T) {
	in := input("model_profiles:\n  answer: &a\n    verbosity: low\n  answer_quick:\n    <<: *a\nsearch:\n  defaults:\n    domains: [a.example]\n", "MODEL_ANSWER=m")
	c := mustLoad(t, in)
	for key, want := range map[string]string{
		"model_profiles.answer.model":              "MODEL_ANSWER",
		"model_profiles.answer_detailed.model":     "MODEL_ANSWER",
		"model_profiles.answer_detailed.verbosity": "/etc/c/config.yaml:3",
		"model_profiles.answer_quick.verbosity":    "/etc/c/config.yaml:3", // where the value stands
		"search.defaults.domains":                  "/etc/c/config.yaml:8",
		"policy.max_citations":                     "default",
		"policy.max_citation":                      "",
		"policy.search_triggers":                   "",
	} {
		if got := c.Origin(key); got != want {
			t.Errorf("Origin(%q) = %q, want %q", key, got, want)
		}
	}
}

func TestAPIKey(t *testing.T) {
	c := mustLoad(t, input("openai: {api_key_env: MY_KEY}", "MY_KEY= sk-secret-secret ", "OPENAI_API_KEY=other"))
	if got := c.APIKey(); got != "sk-secret-secret" {
		t.Errorf("APIKey() = %q", got)
	}
	in := Input{GOOS: "windows", Environ: []string{"openai_api_key=k", "=C:=C:\\"}}
	if got := mustLoad(t, in).APIKey(); got != "k" {
		t.Errorf("APIKey() on Windows = %q, want k: names know no case there", got)
	}
}

// TestDefaultPath lists which files are tried, in which order (spec §5.2).
func TestDefaultPath(t *testing.T) {
	tests := []struct {
		name string
		in   Input
		want []string
	}{
		{"home", Input{GOOS: "linux", Home: "/home/u"}, []string{"/home/u/.config/openai-responses-mcp/config.yaml"}},
		{"home of the environment", Input{GOOS: "darwin", Environ: []string{"HOME=/Users/u"}}, []string{"/Users/u/.config/openai-responses-mcp/config.yaml"}},
		{"root", Input{GOOS: "linux", Home: "/"}, []string{"/.config/openai-responses-mcp/config.yaml"}},
		{"no home", Input{GOOS: "linux"}, nil},
		{"windows", Input{GOOS: "windows", Environ: []string{`AppData=C:\R\`, `USERPROFILE=C:\U`}},
			[]string{`C:\R\openai-responses-mcp\config.yaml`, `C:\U\.config\openai-responses-mcp\config.yaml`}},
		{"--config alone", Input{GOOS: "windows", Home: "/u", Environ: []string{`APPDATA=C:\R`}, Flags: Flags{Config: "x.yaml"}}, []string{"x.yaml"}},
		{"--config with ~", Input{GOOS: "linux", Home: "/u", Flags: Flags{Config: "~/x.yaml"}}, []string{"/u/x.yaml"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var tried []string
			tt.in.ReadFile = func(path string) ([]byte, error) {
				tried = append(tried, path)
				return nil, &fs.PathError{Op: "open", Path: path, Err: syscall.ENOENT}
			}
			_, warnings, err := Load(tt.in)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, tried); diff != "" {
				t.Errorf("tried (-want +got):\n%s", diff)
			}
			if missed := tt.in.Flags.Config != ""; missed != (len(warnings) == 1) {
				t.Errorf("warnings = %q: only a file that was asked for is missed", warnings)
			}
		})
	}
}

func TestFileErrors(t *testing.T) {
	dir := t.TempDir()
	big := filepath.Join(dir, "big.yaml")
	if err := os.WriteFile(big, []byte(strings.Repeat("# comment\n", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ path, want string }{
		{dir, dir + ": cannot be read: "}, // the system's own words follow
		{big, big + ":1: the file is larger than 1024 KiB"},
	} {
		_, _, err := Load(Input{Flags: Flags{Config: tt.path}})
		if err == nil || !strings.HasPrefix(err.Error(), tt.want) {
			t.Errorf("Load(%s) = %v, want %s", tt.path, err, tt.want)
		}
	}
	_, _, err := Load(Input{Flags: Flags{ConfigSet: true}})
	if want := `--config: "" is not a path`; err == nil || err.Error() != want {
		t.Errorf("Load(--config '') = %v, want %s", err, want)
	}
	_, warnings, err := Load(Input{Flags: Flags{Config: filepath.Join(big, "config.yaml")}})
	if err != nil || len(warnings) != 1 {
		t.Errorf("a path below a file: %q, %v, want one warning", warnings, err)
	}
}

// TestPolicyPath resolves the path of the policy, which the file may give
// relative to itself.
func TestPolicyPath(t *testing.T) {
	for given, want := range map[string]string{
		"policy.md":       "/etc/c/policy.md",
		"../p/policy.md":  "/etc/p/policy.md",
		"/abs/policy.md":  "/abs/policy.md",
		"~/p/policy.md":   "/home/u/p/policy.md",
		"~root/policy.md": "/etc/c/~root/policy.md",
	} {
		c := mustLoad(t, input("policy: {system: {source: file, path: \""+given+"\"}}"))
		if got := c.Policy.System.Path; got != want {
			t.Errorf("path %q = %q, want %q", given, got, want)
		}
	}
}
