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
		compare.Equal(t, "debug, file and warnings", got, filepath.ToSlash(want))
	})
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

	defer func(local *time.Location) { time.Local = local }(time.Local)
	time.Local = time.FixedZone("/etc/zone", 3600) // no IANA name, but it may have summer time
	compare.Equal(t, "zone", location("local") == time.Local, true)

	time.Local = time.UTC // of package time for such a TZ
	_, warnings, _ := Load(write(t, "policy: {timezone: local}"), []string{"TZ=JST-9"})
	compare.Equal(t, "warnings", warnings, []string{`TZ: "JST-9" is no IANA time zone, so policy.timezone takes UTC`})
}

// A client on Windows may not pass APPDATA on, or not replace a reference in it.
func TestDefaultFolders(t *testing.T) {
	for _, appData := range []string{"", "APPDATA=${env:APPDATA}", "APPDATA=%APPDATA%"} {
		folders := newLoader([]string{"USERPROFILE=u", appData}).defaultFolders("windows")
		compare.Equal(t, appData, filepath.ToSlash(folders[0]), "u/AppData/Roaming")
	}
}

// The API of --offline gets no headers of the configuration, which keeps them.
func TestOffline(t *testing.T) {
	c := mustLoad(t, write(t, "openai: {headers: {X-Title: t}}"))
	compare.Equal(t, "headers of the copy", len(c.Offline("").SentHeaders), 0)
	compare.Equal(t, "headers of the configuration", len(c.SentHeaders), 1)
}
