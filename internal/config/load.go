package config

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// byDefault is the origin of a key that no layer sets.
const byDefault = "default"

// ErrNoFile is in the error of Load if the file of --config does not exist.
var ErrNoFile = errors.New("no such file")

// Flags are the flags of the command line. The Set fields say which of them are
// given.
type Flags struct {
	Config    string // --config: path of the YAML file
	ConfigSet bool
	Model     string // --model: model of a profile
	ModelSet  bool
	Profile   string // the profile of --model; "" is answer, from which the others inherit
	Debug     bool   // --debug
	DebugFile string // --debug PATH
	DebugSet  bool
}

// Input is everything that Load reads. It does not read the environment of the
// process.
type Input struct {
	Flags    Flags
	Environ  []string                     // NAME=value, as os.Environ returns it
	ReadFile func(string) ([]byte, error) // nil: [ReadFile]
}

// environment lists the variables (spec §5.4), each with the key that it sets.
type environment struct {
	BaseURL      string  `env:"OPENAI_BASE_URL" key:"openai.base_url"`
	Organization string  `env:"OPENAI_ORG_ID" key:"openai.organization"`
	Project      string  `env:"OPENAI_PROJECT_ID" key:"openai.project"`
	TimeoutMS    int     `env:"OPENAI_API_TIMEOUT" key:"request.timeout_ms"`
	MaxRetries   int     `env:"OPENAI_MAX_RETRIES" key:"request.max_retries"`
	Model        string  `env:"MODEL_ANSWER" key:"model_profiles.answer.model"`
	Effort       string  `env:"ANSWER_EFFORT" key:"model_profiles.answer.reasoning_effort"`
	Verbosity    string  `env:"ANSWER_VERBOSITY" key:"model_profiles.answer.verbosity"`
	Detailed     string  `env:"MODEL_DETAILED" key:"model_profiles.answer_detailed.model"`
	Quick        string  `env:"MODEL_QUICK" key:"model_profiles.answer_quick.model"`
	MaxCitations int     `env:"MAX_CITATIONS" key:"policy.max_citations"`
	Requery      int     `env:"REQUERY_ATTEMPTS" key:"policy.requery_attempts"`
	RecencyDays  float64 `env:"SEARCH_RECENCY_DAYS" key:"search.defaults.recency_days"`
	MaxResults   int     `env:"SEARCH_MAX_RESULTS" key:"search.defaults.max_results"`
	Debug        string  `env:"DEBUG" key:"server.debug"`
	LineMode     string  `env:"MCP_LINE_MODE"`
}

// Load layers defaults, YAML, environment and flags and checks the result. It
// reads one file. The warnings are one line each.
//
// The error has a line for every problem, with source, key, value and what is
// allowed:
//
//	config.yaml:12: policy.max_citations: 50 is not in 1..10
//	MAX_CITATIONS: 50 is not in 1..10 (policy.max_citations)
//
// Warnings and errors contain no secrets.
func Load(in Input) (c *Config, warnings []string, err error) {
	l := newLoader(in)
	err = l.fromFile()
	l.fromEnv()
	l.fromFlags()
	l.inherit()
	l.finish()
	redactor := logging.NewRedactor(l.c.Secrets()...)
	clean := func(lines []string) {
		for i := range lines {
			lines[i] = redactor.Redact(text.OneLine(lines[i]))
		}
	}
	clean(l.warnings)
	clean(l.problems)
	if len(l.problems) > 0 {
		err = errors.Join(err, errors.New(strings.Join(l.problems, "\n")))
	}
	if err != nil {
		return nil, l.warnings, err
	}
	return l.c, l.warnings, nil
}

// loader is the state of one Load.
type loader struct {
	in       Input
	vars     map[string]string // variables that are set, trimmed
	home     string
	c        *Config
	list     []field          // all keys, in order
	keys     map[string]field // the same, by key
	profiles bool             // the file has model_profiles
	problems []string
	warnings []string
}

func newLoader(in Input) *loader {
	if in.ReadFile == nil {
		in.ReadFile = ReadFile
	}
	l := &loader{in: in, vars: map[string]string{}, c: defaults(), keys: map[string]field{}}
	for name, value := range env.ToMap(in.Environ) {
		if value = strings.TrimSpace(value); value != "" {
			l.vars[name] = value
		}
	}
	l.home = l.vars["HOME"]
	if runtime.GOOS == "windows" {
		l.home = l.vars["USERPROFILE"]
	}
	l.c.hidden = &hidden{origin: map[string]string{}}
	l.list = fields(reflect.ValueOf(l.c).Elem(), "")
	for _, f := range l.list {
		l.keys[f.key] = f
		if f.Type.Kind() != reflect.Struct {
			l.c.hidden.origin[f.key] = byDefault
		}
	}
	return l
}

// report adds a problem. The source of a value in the file is path:line.
func (l *loader) report(source, key, problem string) {
	line := source + ": " + key + ": " + problem
	if !strings.Contains(source, ":") {
		line = source + ": " + problem + " (" + key + ")"
	}
	l.problems = append(l.problems, line)
}

func (l *loader) warn(source, key, format string, args ...any) {
	l.warnings = append(l.warnings, source+": "+key+": "+fmt.Sprintf(format, args...))
}

// assign sets a key to v if that is valid. shown is v in messages.
func (l *loader) assign(source, key, shown string, v reflect.Value) {
	f := l.keys[key]
	if problem := check(f.StructField, v); problem != "" {
		l.report(source, key, strings.TrimSpace(shown+" "+problem))
		return
	}
	f.value.Set(v)
	l.c.hidden.origin[key] = source
}

func (l *loader) fromEnv() {
	var e environment
	bad := map[string]bool{} // names of fields, which is all that a ParseError has
	if all, ok := errors.AsType[env.AggregateError](env.ParseWithOptions(&e, env.Options{Environment: l.vars})); ok {
		for _, err := range all.Errors {
			if pe, ok := errors.AsType[env.ParseError](err); ok {
				bad[pe.Name] = true
			}
		}
	}
	for f, v := range reflect.ValueOf(e).Fields() {
		name, key := f.Tag.Get("env"), f.Tag.Get("key")
		value, set := l.vars[name]
		switch {
		case !set || name == "MCP_LINE_MODE" && value != "1":
			continue
		case name == "MCP_LINE_MODE":
			l.c.LineMode = true
		case name == "DEBUG":
			on, file := Debugging(value)
			l.debug(name, on, file)
		case bad[f.Name]:
			l.report(name, key, shown(l.keys[key].StructField, value, false)+" is not "+allowed(l.keys[key].StructField))
		default:
			l.assign(name, key, shown(l.keys[key].StructField, value, f.Type.Kind() == reflect.String), v)
		}
		l.c.hidden.env = append(l.c.hidden.env, name)
	}
}

// Debugging reads the value of DEBUG or of --debug (spec §8.1): a word for off, a
// word for on, or the path of a file, which also means on.
func Debugging(value string) (on bool, file string) {
	switch strings.ToLower(value) {
	case "0", "false", "off", "no":
		return false, ""
	case "1", "true", "on", "yes":
		return true, ""
	}
	return true, value
}

// debug sets server.debug, and server.debug_file if there is a file.
func (l *loader) debug(source string, on bool, file string) {
	l.assign(source, "server.debug", "", reflect.ValueOf(on))
	if file != "" {
		file = l.expand(file)
		l.assign(source, "server.debug_file", fmt.Sprintf("%q", file), reflect.ValueOf(file))
	}
}

func (l *loader) fromFlags() {
	f := l.in.Flags
	if f.ConfigSet {
		l.c.hidden.cli = append(l.c.hidden.cli, "--config")
	}
	if f.ModelSet {
		l.assign("--model", "model_profiles."+cmp.Or(f.Profile, "answer")+".model", fmt.Sprintf("%q", f.Model), reflect.ValueOf(f.Model))
		l.c.hidden.cli = append(l.c.hidden.cli, "--model")
	}
	if f.DebugSet {
		l.debug("--debug", f.Debug || f.DebugFile != "", f.DebugFile)
		l.c.hidden.cli = append(l.c.hidden.cli, "--debug")
	}
}

// inherit completes the profiles of answer_detailed and answer_quick from answer,
// key by key (spec §3.0). Without model_profiles in the file their effort and
// verbosity are high and low, unless a variable sets those of answer.
func (l *loader) inherit() {
	origin := l.c.hidden.origin
	for profile, level := range map[string]string{"answer_detailed": "high", "answer_quick": "low"} {
		for _, f := range fields(reflect.ValueOf(Profile{}), "") {
			key, from := "model_profiles."+profile+"."+f.key, "model_profiles.answer."+f.key
			switch {
			case origin[key] != byDefault:
			case !l.profiles && origin[from] == byDefault && (f.key == "reasoning_effort" || f.key == "verbosity"):
				l.keys[key].value.SetString(level)
			default:
				l.keys[key].value.Set(l.keys[from].value)
				origin[key] = origin[from]
			}
		}
	}
}

// finish checks keys that depend on each other and derives what the methods of
// Config return.
func (l *loader) finish() {
	l.resolve()
	l.c.hidden.location, _ = time.LoadLocation(l.c.Policy.Timezone) // checked before
	const source, path = "policy.system.source", "policy.system.path"
	switch system, origin := l.c.Policy.System, l.c.hidden.origin; {
	case system.Source == "file" && system.Path == "":
		l.report(origin[source], source, `"file" needs `+path)
	case system.Source == "builtin" && system.Path != "":
		l.warn(origin[path], path, "not used while "+source+" is builtin")
	}
}

// expand replaces a leading ~/ by the home directory: clients start the server
// without a shell.
func (l *loader) expand(path string) string {
	if rest, ok := strings.CutPrefix(filepath.ToSlash(path), "~/"); ok && l.home != "" {
		return filepath.Join(l.home, rest)
	}
	return path
}
