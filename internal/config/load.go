package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

// Flags are those of the command line. A nil flag is not given.
type Flags struct {
	Config  *string // --config: path of the YAML file
	Model   *string // --model: model of a profile
	Profile string  // the profile of --model; "" is answer, from which the others inherit
	Debug   *string // --debug: "true" or a path
}

// Load layers defaults, YAML, environment (NAME=value) and flags and checks the result. It reads
// one file. The warnings are one line each.
//
// The error has a line for every problem, with source, key, value and what is allowed:
//
//	config.yaml:12: policy.max_citations: 50 is not in 1..10
//	MAX_CITATIONS: policy.max_citations: 50 is not in 1..10
//
// It is an fs.ErrNotExist if the file of --config does not exist. Warnings and errors contain no
// secrets.
func Load(flags Flags, environ []string) (c *Config, warnings []string, err error) {
	l := &loader{Config: defaults(), vars: map[string]string{}, keys: map[string]field{}}
	for name, value := range env.ToMap(environ) {
		l.vars[name] = strings.TrimSpace(value)
	}
	l.home = cmp.Or(l.vars["USERPROFILE"], l.vars["HOME"]) // only Windows has USERPROFILE
	l.fields = fields(reflect.ValueOf(l.Config).Elem(), "")
	for _, f := range l.fields {
		l.keys[f.key] = f
		if !f.section() {
			l.Keys = append(l.Keys, f.key)
			l.origins[f.key] = byDefault
		}
	}
	err = l.fromFile(flags.Config)
	l.fromEnv()
	l.fromFlags(flags)
	l.inherit()
	l.checkTogether()
	l.resolve()
	if more := len(l.problems) - maxProblems; more > 0 {
		l.problems = append(l.problems[:maxProblems], fmt.Sprintf("%s: problems not shown: %d", l.File, more))
	}
	redactor := logging.NewRedactor(l.Secrets...)
	for _, lines := range [][]string{l.warnings, l.problems} {
		for i := range lines {
			lines[i] = redactor.Line(lines[i])
		}
	}
	if len(l.problems) > 0 {
		err = errors.Join(err, errors.New(strings.Join(l.problems, "\n")))
	}
	return l.Config, l.warnings, err
}

// maxProblems is how many problems an error lists.
const maxProblems = 20

// loader is the state of one Load.
type loader struct {
	*Config
	vars     map[string]string // trimmed
	home     string
	keys     map[string]field // sections, too
	problems []string
	warnings []string
}

// byDefault is the origin of a key that no layer sets.
const byDefault = "default"

// set records where the value of a key comes from, and checks the value.
func (l *loader) set(key, source string) {
	l.origins[key] = source
	for _, problem := range check(l.keys[key]) {
		l.report(source, key, problem)
	}
}

func (l *loader) report(source, key, problem string) {
	l.problems = append(l.problems, source+": "+key+": "+problem)
}

func (l *loader) warn(source, key, warning string) {
	l.warnings = append(l.warnings, source+": "+key+": "+warning)
}

// fromEnv applies the variables. DEBUG sets two keys, MCP_LINE_MODE none.
func (l *loader) fromEnv() {
	failed, _ := errors.AsType[env.AggregateError](env.ParseWithOptions(l.Config, env.Options{Environment: l.vars}))
	for _, f := range l.fields {
		name := f.variable()
		value := l.vars[name]
		if value == "" {
			continue
		}
		l.variables = append(l.variables, name)
		invalid := slices.ContainsFunc(failed.Errors, func(err error) bool {
			parse, ok := errors.AsType[env.ParseError](err)
			return ok && parse.Name == f.Name
		})
		if invalid {
			l.report(name, f.key, wrong(f, value))
			continue
		}
		if profileVariables[f.key] != "" {
			f.value.SetString(value)
		}
		l.set(f.key, name)
	}
	if value := l.vars["DEBUG"]; value != "" {
		l.debug("DEBUG", value)
		l.variables = append(l.variables, "DEBUG")
	}
	if l.vars["MCP_LINE_MODE"] == "1" {
		l.LineMode = true
		l.variables = append(l.variables, "MCP_LINE_MODE")
	}
}

func (l *loader) fromFlags(f Flags) {
	if f.Config != nil {
		l.flags = append(l.flags, "--config")
	}
	if f.Model != nil {
		key := "model_profiles." + cmp.Or(f.Profile, "answer") + ".model"
		l.keys[key].value.SetString(*f.Model)
		l.set(key, "--model")
		l.flags = append(l.flags, "--model")
	}
	if f.Debug != nil {
		l.debug("--debug", *f.Debug)
		l.flags = append(l.flags, "--debug")
	}
}

// debug sets server.debug from the value of DEBUG or of --debug (spec §8.1): a word for off, a
// word for on, or the path of a file, which also means on.
func (l *loader) debug(source, value string) {
	words := map[string]bool{"": true, "0": false, "false": false, "off": false, "no": false, "1": true, "true": true, "on": true, "yes": true}
	on, isWord := words[strings.ToLower(value)]
	l.Server.Debug = on || !isWord
	l.set("server.debug", source)
	if !isWord {
		l.Server.DebugFile = l.expand(value)
		l.set("server.debug_file", source)
	}
}

// inherit completes the profiles of answer_detailed and answer_quick from answer, key by key
// (spec §3.0). Without model_profiles in the file their effort and verbosity are high and low,
// unless a variable sets those of answer.
func (l *loader) inherit() {
	for profile, level := range map[string]string{"answer_detailed": "high", "answer_quick": "low"} {
		for _, f := range fields(reflect.ValueOf(Profile{}), "") {
			key, from := "model_profiles."+profile+"."+f.key, "model_profiles.answer."+f.key
			switch {
			case l.origins[key] != byDefault:
			case l.origins["model_profiles"] == "" && l.origins[from] == byDefault && (f.key == "reasoning_effort" || f.key == "verbosity"):
				l.keys[key].value.SetString(level)
			default:
				l.keys[key].value.Set(l.keys[from].value)
				l.origins[key] = l.origins[from]
			}
		}
	}
}

// checkTogether checks the keys that depend on each other, and looks up the time zone.
func (l *loader) checkTogether() {
	system := l.Policy.System
	switch {
	case system.Source == "file" && system.Path == "":
		l.report(l.origins["policy.system.source"], "policy.system.source", `"file" needs policy.system.path`)
	case system.Source == "builtin" && system.Path != "":
		l.warn(l.origins["policy.system.path"], "policy.system.path", "not used while policy.system.source is builtin")
	}
	for _, name := range []string{"model", "instructions", "input", "tools", "stream"} {
		if _, ok := l.Request.ExtraBody[name]; ok {
			l.warn(l.origins["request.extra_body"], "request.extra_body."+name, "ignored: it cannot be replaced")
		}
	}
	l.Location, _ = time.LoadLocation(l.Policy.Timezone) // checked before
	if l.Policy.Timezone == "local" {
		l.Location = localZone()
	}
}

// localZone returns the time zone of this machine, with its IANA name if that is known.
func localZone() *time.Location {
	link, _ := os.Readlink("/etc/localtime") // /usr/share/zoneinfo/Asia/Tokyo
	_, name, _ := strings.Cut(link, "zoneinfo/")
	zone, err := time.LoadLocation(name)
	if err != nil || name == "" || time.Local.String() != "Local" { // TZ names it
		return time.Local
	}
	return zone
}

// expand replaces a leading ~/ by the home directory: clients start the server without a shell.
func (l *loader) expand(path string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rest)
	}
	return path
}
