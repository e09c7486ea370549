package config

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	_ "time/tzdata"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// file is the path of the file that write makes.
const file = "c/config.yaml"

// write makes a configuration file in an empty directory, and returns the flag that names it.
func write(t *testing.T, content string) Flags {
	t.Helper()
	t.Chdir(t.TempDir())

	err := os.CopyFS(".", fstest.MapFS{file: {Data: []byte(content)}})
	if err != nil {
		t.Fatal(err)
	}
	return Flags{Config: new(file)}
}

// mustLoad loads what has no problems and no warnings, except that tools may be alike.
func mustLoad(t *testing.T, flags Flags, environ ...string) *Config {
	t.Helper()

	c, warnings, err := Load(flags, environ)
	warnings = slices.DeleteFunc(warnings, func(w string) bool {
		return strings.Contains(w, " is like answer")
	})
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Load(): %v, warnings %q", err, warnings)
	}
	return c
}

// TestLoad loads a file, variables and --model, and looks at one key and at its origin.
func TestLoad(t *testing.T) {
	const (
		debug   = "server.debug"
		log     = "server.debug_file"
		effort  = "model_profiles.answer.reasoning_effort"
		timeout = "request.timeout_ms"
		number  = "policy.max_citations"
		within  = "server.answer_within_ms"

		anchor = "model_profiles: {answer_detailed: &a {model: m}, answer_quick: *a}"
		quick  = "model_profiles.answer_quick.model"
		nulls  = "server:\nsearch: ~\nopenai: {base_url: null, project: }\n"
		four   = "policy: {max_citations: 4, system: {path: null}}"
	)

	for _, tt := range []struct{ name, file, variable, key, want string }{
		{"beside the file", "server: {debug_file: y.log}", "", log, "c/y.log c/config.yaml:1"},
		{"file is on", "", "DEBUG=/tmp/x.log", debug, "true DEBUG"},

		// Values that the TypeScript program took.
		{"word in capitals", "", "ANSWER_EFFORT=HIGH", effort, "high ANSWER_EFFORT"},
		{"fraction", "", "OPENAI_API_TIMEOUT=90000.5", timeout, "90000.5 OPENAI_API_TIMEOUT"},

		{"whole number", "policy: {max_citations: 4.0}", "", number, "4 c/config.yaml:1"},
		{"whole number in a variable", "", "MAX_CITATIONS=4.0", number, "4 MAX_CITATIONS"},
		{"exponent", "server: {answer_within_ms: 6e4}", "", within, "60000 c/config.yaml:1"},

		{"alias", anchor, "", quick, "m c/config.yaml:1"},
		{"byte order mark and nulls", "\ufeff" + nulls + four, "", number, "4 c/config.yaml:4"},
		{"empty", "", "", number, "3 default"},
		{"null", "null", "", number, "3 default"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := mustLoad(t, write(t, tt.file), tt.variable)
			i := slices.IndexFunc(c.fields, func(f field) bool { return f.key == tt.key })

			got := fmt.Sprintf("%v %s", c.fields[i].value, c.Origin(tt.key))
			compare.Equal(t, tt.key, filepath.ToSlash(got), tt.want)
		})
	}
}

// The file has a log file. The variable takes words and paths: other programs have names and
// patterns in it.
func TestDebug(t *testing.T) {
	const rest = " ignored: neither a word for on or off nor a path, such as ./debug.log]"
	for value, want := range map[string]string{
		"0":              "false c/y.log []",
		"OFF":            "false c/y.log []",
		"No":             "false c/y.log []",
		"1":              "true c/y.log []",
		"yes":            "true c/y.log []",
		"On":             "true c/y.log []",
		"~/x.log":        "true home/x.log []",
		"~other/x":       "true ~other/x []",
		"./debug":        "true ./debug []",
		`C:\debug`:       `true C:\debug []`,
		"X.LOG":          "true X.LOG []",
		"x.txt":          "true x.txt []",
		"x.json":         "true x.json []",
		"x.jsonl":        "true x.jsonl []",
		"express":        `true c/y.log [DEBUG: server.debug: "express"` + rest,
		"react,request":  `true c/y.log [DEBUG: server.debug: "react,request"` + rest,
		"release":        `true c/y.log [DEBUG: server.debug: "release"` + rest,
		"2":              `true c/y.log [DEBUG: server.debug: "2"` + rest,
		"log":            `true c/y.log [DEBUG: server.debug: "log"` + rest,
		"x.logs":         `true c/y.log [DEBUG: server.debug: "x.logs"` + rest,
		"express:*":      `true c/y.log [DEBUG: server.debug: "express:*"` + rest,
		"express/*":      `true c/y.log [DEBUG: server.debug: "express/*"` + rest,
		"sk-0123456789*": `true c/y.log [DEBUG: server.debug: "[redacted]"` + rest,
	} {
		t.Run(value, func(t *testing.T) {
			flags := write(t, "server: {debug: true, debug_file: y.log}")

			c, warnings, err := Load(flags, []string{"DEBUG=" + value, "HOME=home"})
			if err != nil {
				t.Fatal(err)
			}

			got := fmt.Sprint(c.Server.Debug, " "+filepath.ToSlash(c.Server.DebugFile)+" ", warnings)
			compare.Equal(t, "debug, file and warnings", got, want)
		})
	}
}

// The flag and the file take any name.
func TestDebugName(t *testing.T) {
	for _, name := range []string{"express", "release", "2", "a*b"} {
		t.Run(name, func(t *testing.T) {
			flag := mustLoad(t, Flags{Debug: &name}, "DEBUG=/tmp/x.log").Server
			compare.Equal(t, "--debug", fmt.Sprintln(flag.Debug, flag.DebugFile), "true "+name+"\n")

			file := mustLoad(t, write(t, `server: {debug_file: "`+name+`"}`)).Server
			compare.Equal(t, "debug_file", file.DebugFile, filepath.Join("c", name))
		})
	}
}

// A limit beyond the longest duration is no short one.
func TestTimeout(t *testing.T) {
	got := mustLoad(t, Flags{}, "OPENAI_API_TIMEOUT=99999999999999999999").Timeout()
	compare.Equal(t, "Timeout()", got, 1<<62) // about 146 years
}

// Profiles are built in. With model_profiles in the file they inherit field by field (spec §3.0).
// The variables of answer hold for the others, which have variables for their models.
func TestProfiles(t *testing.T) {
	const (
		medium = "gpt-5.2 medium medium  0\n"
		high   = "gpt-5.2 high high  0\n"
		low    = "gpt-5.2 low low  0\n"
		a      = "a medium medium  0\n"
		quick  = "model_profiles: {answer: null, answer_quick: {model: a}}"
		two    = "model_profiles: {answer: {model: a}, answer_quick: {verbosity: low}}"
		// A key of answer_detailed that is set to its zero value is not inherited.
		zero = `model_profiles:
  answer: {model: a, verbosity: low, reasoning_summary: auto, max_tool_calls: 5}
  answer_detailed: {reasoning_effort: high, reasoning_summary: '', max_tool_calls: 0}
`
	)

	for _, tt := range []struct{ name, file, environ, want string }{
		{"no file", "", "", medium + high + low},
		{"empty section", "model_profiles:", "", medium + high + low},
		{"answer only", "model_profiles: {answer: {model: a}}", "", a + a + a},
		{"answer_quick only", quick, "", medium + medium + a},
		{"zero values", zero, "", "a medium low auto 5\na high low  0\na medium low auto 5\n"},
		{
			"variables and the file", two,
			"MODEL_ANSWER=e MODEL_DETAILED=d ANSWER_EFFORT=high ANSWER_VERBOSITY=high",
			"e high high  0\nd high high  0\ne high low  0\n",
		},
		{
			"effort", "", "ANSWER_EFFORT=xhigh",
			"gpt-5.2 xhigh medium  0\ngpt-5.2 xhigh high  0\ngpt-5.2 xhigh low  0\n",
		},
		{
			"models", "", "MODEL_ANSWER=e MODEL_QUICK=q",
			"e medium medium  0\ne high high  0\nq low low  0\n",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			all := mustLoad(t, write(t, tt.file), strings.Fields(tt.environ)...).ModelProfiles

			got := ""
			for _, p := range []Profile{all.Answer, all.AnswerDetailed, all.AnswerQuick} {
				got += fmt.Sprintf("%s %s %s %s %d\n",
					p.Model, p.ReasoningEffort, p.Verbosity, p.ReasoningSummary, p.MaxToolCalls)
			}

			compare.Equal(t, "profiles", got, tt.want)
		})
	}
}

func TestLocalTimezone(t *testing.T) {
	zone := mustLoad(t, write(t, "policy: {timezone: local}")).Location
	now := time.Now()

	compare.Equal(t, "time", now.In(zone).Format(time.DateTime), now.Format(time.DateTime))
}

// A link to a file is fine: Kubernetes mounts them.
func TestReadFile(t *testing.T) {
	write(t, "")

	err := os.WriteFile("huge", make([]byte, 1<<20+1), 0o600)
	if err != nil {
		t.Fatal(err)
	}

	err = os.Symlink(file, "link")
	if err != nil {
		t.Skip(err) // Windows without the right to make links
	}

	for path, want := range map[string]string{
		"link":     "<nil>",
		"huge":     "read huge: larger than 1 MiB",
		".":        "read .: a directory: name a file in it",
		os.DevNull: "read " + os.DevNull + ": not a regular file",
	} {
		t.Run(path, func(t *testing.T) {
			_, err := ReadFile(path)

			compare.Equal(t, "error", fmt.Sprint(err), want)
		})
	}
}

// Without an API no tool asks a model of the configuration, which stays as it is, and no key is
// needed.
func TestOffline(t *testing.T) {
	c := mustLoad(t, write(t, "openai: {headers: {X-Title: t}}"), "OPENAI_API_KEY=sk-0123456789")
	offline := c.Offline("http://127.0.0.1:1")

	for i, profile := range reflect.ValueOf(offline.ModelProfiles).Fields() {
		before := reflect.ValueOf(c.ModelProfiles).FieldByIndex(i.Index).Interface().(Profile)
		compare.Equal(t, i.Name, profile.Interface().(Profile).Model, "offline")
		compare.Equal(t, i.Name+" of the configuration", before.Model, "gpt-5.2")
	}
	got := []string{offline.APIKey, offline.OpenAI.BaseURL, fmt.Sprint(offline.SentHeaders)}
	compare.Equal(t, "offline", got, []string{"offline", "http://127.0.0.1:1", "map[]"})
	got = []string{c.APIKey, c.OpenAI.BaseURL, fmt.Sprint(c.SentHeaders)}
	want := []string{"sk-0123456789", "https://api.openai.com/v1", "map[X-Title:t]"}
	compare.Equal(t, "configuration", got, want)
}
