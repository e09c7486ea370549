package config

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	_ "time/tzdata"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
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

// mustLoad loads what has no problems and no warnings.
func mustLoad(t *testing.T, flags Flags, environ ...string) *Config {
	t.Helper()

	c, warnings, err := Load(flags, environ)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("Load(): %v, warnings %q", err, warnings)
	}
	return c
}

// TestLoad loads a file, variables and --model, and looks at one key and at its origin.
func TestLoad(t *testing.T) {
	compare.Each(t, "load", 5, func(t *testing.T, row []string) {
		key := row[3]
		c := mustLoad(t, write(t, row[1]), row[2])

		got := fmt.Sprintf("%v %s", c.byKey[key].value, c.Origin(key))
		compare.Equal(t, key, strings.TrimSpace(filepath.ToSlash(got)), row[4])
	})
}

func TestDebug(t *testing.T) {
	compare.Each(t, "debug", 2, func(t *testing.T, row []string) {
		value, want := row[0], row[1]
		flags := write(t, "server: {debug: true, debug_file: y.log}")

		c, warnings, err := Load(flags, []string{"DEBUG=" + value, "HOME=home"})
		if err != nil {
			t.Fatal(err)
		}

		got := fmt.Sprint(c.Server.Debug, " "+filepath.ToSlash(c.Server.DebugFile)+" ", warnings)
		compare.Equal(t, "debug, file and warnings", got, want)
	})
}

// The flag takes any name, as the file does.
func TestDebugName(t *testing.T) {
	for _, name := range []string{"express", "release", "2", "a*b"} {
		t.Run(name, func(t *testing.T) {
			flag := mustLoad(t, Flags{Debug: &name}, "DEBUG=/tmp/x.log").Server
			compare.Equal(t, "--debug", fmt.Sprintln(flag.Debug, flag.DebugFile), "true "+name+"\n")
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
	compare.Each(t, "profiles", 4, func(t *testing.T, row []string) {
		all := mustLoad(t, write(t, row[1]), strings.Fields(row[2])...).ModelProfiles

		got := ""
		for _, tool := range []string{"answer", "answer_detailed", "answer_quick"} {
			p := all[tool]
			got += fmt.Sprintf("%s %s %s %s %d\n",
				p.Model, p.ReasoningEffort, p.Verbosity, p.ReasoningSummary, p.MaxToolCalls)
		}

		compare.Equal(t, "profiles", got, row[3])
	})
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

	for _, tool := range call.Tools {
		compare.Equal(t, tool.Name, offline.ModelProfiles[tool.Name].Model, "offline")
		before := c.ModelProfiles[tool.Name].Model
		compare.Equal(t, tool.Name+" of the configuration", before, "gpt-5.2")
	}
	got := []string{offline.APIKey, offline.OpenAI.BaseURL, fmt.Sprint(offline.SentHeaders)}
	compare.Equal(t, "offline", got, []string{"offline", "http://127.0.0.1:1", "map[]"})
	got = []string{c.APIKey, c.OpenAI.BaseURL, fmt.Sprint(c.SentHeaders)}
	want := []string{"sk-0123456789", "https://api.openai.com/v1", "map[X-Title:t]"}
	compare.Equal(t, "configuration", got, want)
}
