package config

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Flags are the flags of the command line that set keys. A nil flag is not given.
type Flags struct {
	Config *string // --config: path of the YAML file
	Model  *string // --model: model of a profile
	Tool   string  // tool whose profile --model changes; "" is call.DefaultTool
	Debug  *string // --debug: "true" or a path

	// Keys are the values of keys that have a flag of the same name, such as server.calls_per_hour
	// for --calls-per-hour.
	Keys map[string]string
}

// Load applies the layers (defaults, YAML, environment, flags), and checks the result. It reads the
// YAML file and the file of the key. environ has NAME=value. The warnings are one line each.
//
// The error has a line for every problem, with source, key, value and what is allowed:
//
//	config.yaml:12: policy.max_citations: 50 is not in 1..10
//
// After maxProblems lines it has the number of further problems. IsMissing reports true for it if
// the file of --config does not exist. Warnings and errors contain no secrets. With an error the
// Config is not complete.
func Load(flags Flags, environ []string) (c *Config, warnings []string, err error) {
	l := newLoader(environ)
	err = l.applyFile(flags.Config)
	l.applyEnv()
	l.applyFlags(flags)

	l.inherit()
	l.checkTogether()
	l.Location = location(l.Policy.Timezone)
	l.warnZone()
	l.resolveSecrets()
	if len(l.problems) == 0 {
		l.warnAlike()
	}

	redactor := redact.New(l.Secrets...)
	errs := []error{err}
	more := len(l.problems) - maxProblems
	if more > 0 { // only a file can have as many problems
		rest := fmt.Sprintf("%s: and %d more problems", l.File, more)
		l.problems = append(l.problems[:maxProblems], rest)
	}
	for _, problem := range l.problems {
		errs = append(errs, errors.New(redactor.Line(problem)))
	}
	for _, warning := range l.warnings {
		warnings = append(warnings, redactor.Line(warning))
	}
	return l.Config, warnings, errors.Join(errs...)
}

// maxProblems is how many problems an error lists.
const maxProblems = 30

// baseURL is the key for the URL of the server that gets the questions and the API key.
const baseURL = "openai.base_url"

// loader is the state of one Load. Its Config has the values and origins of the layers so far.
type loader struct {
	*Config
	environ  map[string]string // values of variables by name, without blanks around them
	fields   []field           // all keys, sections before their members
	problems []string
	warnings []string
}

// newLoader returns a loader whose Config has the defaults.
func newLoader(environ []string) *loader {
	l := &loader{
		Config: &Config{Derived: &Derived{
			SentHeaders:   map[string]string{},
			byKey:         map[string]field{},
			origins:       map[string]string{},
			usedVariables: []string{},
			usedFlags:     []string{},
		}},
		environ: env.ToMap(environ),
	}
	for name, value := range l.environ {
		l.environ[name] = strings.TrimSpace(value)
	}
	l.Home = l.environ["HOME"]
	if runtime.GOOS == "windows" {
		l.Home = cmp.Or(l.environ["USERPROFILE"], l.Home)
	}

	l.ModelProfiles = ModelProfiles{}
	for _, tool := range call.Tools {
		l.ModelProfiles[tool.Name] = &Profile{}
	}
	l.ModelProfiles[call.DefaultTool].ModelSettings = ModelSettings{
		Model:           "gpt-5.2", // spec §5.3
		ReasoningEffort: call.Tools[0].Effort,
		Verbosity:       call.Tools[0].Verbosity,
	}
	root := field{value: reflect.ValueOf(l.Config).Elem()}
	l.fields = appendFields(make([]field, 0, 128), root)
	for _, f := range l.fields {
		l.byKey[f.key] = f
		if f.isSection() || f.from != "" {
			continue
		}

		l.origins[f.key] = "default"
		defaultYAML := f.Tag.Get("default")
		if defaultYAML != "" { // a yaml.Unmarshal for every key would delay the start
			value := f.value.Addr().Interface()
			_ = yaml.Unmarshal([]byte(defaultYAML), value) // it is valid
		}
	}
	return l
}

// accept records where the new value of a key comes from, and checks the value. A word of the tag
// enum may be written with capitals.
func (l *loader) accept(key, source string) {
	l.origins[key] = source
	f := l.byKey[key]
	if f.Tag.Get("enum") != "" {
		lower := strings.ToLower(f.value.String())
		if isAllowed(f.Tag, lower) { // else the problem shows the value as it is written
			f.value.SetString(lower)
		}
	}

	for _, problem := range check(f) {
		l.report(source, key, problem)
	}
}

// report adds a problem. parts are its source, its key if it has one, and what is wrong.
func (l *loader) report(parts ...string) {
	l.problems = append(l.problems, strings.Join(parts, ": "))
}

// warn adds a warning, whose parts are those of report.
func (l *loader) warn(parts ...string) {
	l.warnings = append(l.warnings, strings.Join(parts, ": "))
}

// useVariable returns the value of a variable, or "". If the variable is set, it counts as used. A
// reference that the client has not replaced counts as not set, with a warning. For the base URL it
// is an error instead: with the default URL the questions would go to another server.
func (l *loader) useVariable(name string) string {
	value := l.environ[name]
	switch {
	case value == "":
	case name != l.byKey[baseURL].variable && text.IsUnreplaced(value):
		l.warn(name, "ignored: it is a reference that the client has not replaced"+setVariableHint)
		delete(l.environ, name)
		return ""
	case !slices.Contains(l.usedVariables, name):
		l.usedVariables = append(l.usedVariables, name)
	}
	return value
}

// applyEnv applies the variables. Package env sets the keys with a tag env. Its errors name only
// the Go field, so no two such fields that are not strings may have the same name. The keys of
// profiles have no such tag, because the profiles share their struct: they are strings, and are set
// here. DEBUG has words of its own and may set two keys, and MCP_LINE_MODE sets none.
func (l *loader) applyEnv() {
	before := l.OpenAI.BaseURL
	for _, f := range l.fields {
		l.useVariable(f.variable) // removes references before package env reads the values
	}
	err := env.ParseWithOptions(l.Config, env.Options{Environment: l.environ})
	all, _ := errors.AsType[env.AggregateError](err)
	failed := map[string]bool{} // by the name of the Go field
	for _, err := range all.Errors {
		e, _ := errors.AsType[env.ParseError](err)
		failed[e.Name] = true
	}

	for _, f := range l.fields {
		value := l.useVariable(f.variable)
		switch {
		case value == "":
		case f.key == baseURL && value == before: // nothing changes: no warning
		case f.key == "server.debug":
			l.setDebug(f.variable, value)
		case failed[f.Name] && !l.setWholeNumber(f, value):
			l.report(f.variable, f.key, describeNotAllowed(f, value))
		default:
			if f.Tag.Get("env") == "" {
				f.value.SetString(value)
			}
			if f.key == baseURL && l.origins[baseURL] != "default" {
				l.warn(f.variable, baseURL, "it replaces that of "+l.origins[baseURL])
			}
			l.accept(f.key, f.variable)
		}
	}

	l.LineMode = l.useVariable("MCP_LINE_MODE") == "1"
}

// setWholeNumber sets an integer key to a whole number that is written like 3.0, and reports
// whether value is such a number.
func (l *loader) setWholeNumber(f field, value string) bool {
	return f.value.CanInt() && decode(f, scalar(value)) == ""
}

func (l *loader) applyFlags(f Flags) {
	if f.Model != nil {
		key := join(profileKey(cmp.Or(f.Tool, call.DefaultTool)), "model")
		l.byKey[key].value.SetString(*f.Model)
		l.accept(key, "--model")
		l.usedFlags = append(l.usedFlags, "--model")
	}
	if f.Debug != nil {
		l.setDebug("--debug", *f.Debug)
		l.usedFlags = append(l.usedFlags, "--debug")
	}

	for _, key := range slices.Sorted(maps.Keys(f.Keys)) {
		_, name, _ := strings.Cut(key, ".")
		flag := "--" + strings.ReplaceAll(name, "_", "-")
		problem := decode(l.byKey[key], scalar(f.Keys[key]))
		if problem != "" {
			l.report(flag, key, problem)
			continue
		}
		l.accept(key, flag)
		l.usedFlags = append(l.usedFlags, flag)
	}
}

// setDebug sets server.debug from the value of DEBUG or of --debug (spec §8.1): a word for off, a
// word for on, or the path of a file, which also means on. Other programs take names and patterns
// in DEBUG, such as express:*, which set nothing.
func (l *loader) setDebug(source, value string) {
	on := true
	switch strings.ToLower(value) {
	case "0", "false", "off", "no":
		on = false
	case "", "1", "true", "on", "yes":
	default:
		pathLike := logPath().MatchString(value) && !strings.Contains(value, "*")
		if source != "--debug" && !pathLike {
			l.warn(source, "server.debug", strconv.Quote(value)+
				" ignored: neither a word for on or off nor a path, such as ./debug.log")
			return
		}
		l.Server.DebugFile = l.ExpandHome(value)
		l.accept("server.debug_file", source)
	}

	l.Server.Debug = on
	l.accept("server.debug", source)
}

// logPath matches the path of a log file.
var logPath = text.LazyRegexp(`(?i)[/\\]|\.(log|txt|jsonl?)$`)

// inherit completes the profiles key by key (spec §3.0):
//
//   - the profile of answer from policy and search, and then the other profiles from that of answer
//   - without model_profiles in the file, the effort and the verbosity of the other profiles from
//     their tools, unless a variable sets the one of answer
//
// Then it is known which keys have a value: SettingKeys.
func (l *loader) inherit() {
	inFile := l.origins["model_profiles"] != ""
	for _, tool := range call.Tools {
		builtin := map[string]string{
			"reasoning_effort": tool.Effort,
			"verbosity":        tool.Verbosity,
		}
		prefix := profileKey(tool.Name) + "."
		for _, f := range l.fields {
			name, ofTool := strings.CutPrefix(f.key, prefix)
			if !ofTool || f.isSection() {
				continue
			}
			parent := l.byKey[join(profileKey(call.DefaultTool), name)]
			if parent.key == f.key {
				parent = l.byKey[f.from]
			}

			origin := l.origins[f.key]
			switch {
			case parent.key == "": // a key of the profile answer that is not in search or policy
			case origin != "" && origin != "default":
				l.mergeKey(f, parent)
			case builtin[name] != "" && l.origins[parent.key] == "default" && !inFile:
				f.value.SetString(builtin[name])
			default:
				f.value.Set(parent.value)
				// A value from search or policy gets no origin, which UserLocation relies on.
				if parent.key != f.from && l.origins[parent.key] != "" {
					l.origins[f.key] = l.origins[parent.key]
				}
			}
		}
	}
	for _, f := range l.fields {
		if !f.isSection() && l.origins[f.key] != "" {
			l.SettingKeys = append(l.SettingKeys, f.key)
		}
	}
}

// mergeKey merges the value that a profile sets for a key with the value that it would inherit from
// parent.
func (l *loader) mergeKey(f, parent field) {
	switch inherited := parent.value.Interface().(type) {
	case map[string]any:
		own, _ := reflect.TypeAssert[map[string]any](f.value)
		f.value.Set(reflect.ValueOf(l.merged(f.key, l.origins[f.key], inherited, own)))

	case []string:
		search, ofDefaults := strings.CutSuffix(f.key, "defaults.domains")
		lifts := ofDefaults && f.value.Len() == 0 && len(inherited) > 0 &&
			l.byKey[search+"enforce_domains"].value.Bool()
		switch {
		case f.Tag.Get("profile") == "adds":
			f.value.Set(reflect.AppendSlice(reflect.ValueOf(slices.Clone(inherited)), f.value))
		case lifts: // enforce_domains is already merged: its field is before that of domains
			l.report(l.origins[f.key], f.key, emptyListProblem)
		}

	case bool:
		if f.Tag.Get("profile") == "stays" && inherited && !f.value.Bool() {
			f.value.SetBool(true)
			source := parent.key
			if l.origins[source] == "" { // no profile sets it
				source = f.from
			}
			l.warn(l.origins[f.key], f.key, "ignored: "+source+" is true")
			l.origins[f.key] = l.origins[source]
		}
	}
}

// emptyListProblem is the problem of an empty list that would lift the restriction of an inherited
// list.
const emptyListProblem = "an empty list cannot replace the one that it inherits"

// merged returns the mapping inherited with the members of own. A profile cannot lift a restriction
// that it inherits: blocked domains add up, and allowed domains must be among the inherited ones.
func (l *loader) merged(key, source string, inherited, own map[string]any) map[string]any {
	all := map[string]any{}
	maps.Copy(all, inherited)
	for _, name := range slices.Sorted(maps.Keys(own)) {
		value := own[name]
		before, wasMapping := all[name].(map[string]any)
		mapping, isMapping := value.(map[string]any)
		hosts, wasList := all[name].([]any)
		list, isList := value.([]any)
		key := join(key, name)

		switch {
		case value == nil && all[name] != nil: // null counts as absent, as elsewhere in the file
		case wasMapping && isMapping:
			all[name] = l.merged(key, source, before, mapping)
		case wasMapping:
			l.report(source, key, "not a mapping, as the one that it inherits")
		case wasList && !isList:
			l.report(source, key, "not a list, as the one that it inherits")
		case name == "blocked_domains":
			all[name] = slices.Concat(hosts, list)
		case name == "allowed_domains" && wasList:
			l.checkWithin(key, source, hosts, list)
			fallthrough
		default:
			all[name] = value
		}
	}
	return all
}

// checkWithin checks that each of domains is one of the allowed domains, or below one of them. Host
// names have no case.
func (l *loader) checkWithin(key, source string, allowed, domains []any) {
	if len(domains) == 0 { // would allow all domains
		l.report(source, key, emptyListProblem)
	}
	lower := func(host any) string { return strings.ToLower("." + fmt.Sprint(host)) }
	for _, domain := range domains {
		inside := func(host any) bool { return strings.HasSuffix(lower(domain), lower(host)) }
		if !slices.ContainsFunc(allowed, inside) {
			name := strconv.Quote(fmt.Sprint(domain))
			l.report(source, key, name+" is not among the domains that it inherits")
		}
	}
}

// warnAlike warns of tools with the same settings. Often that is a mistake: the file sets one key
// of a profile, and the other keys come from answer. There is no warning for a tool that the file
// leaves out, such as a tool of a later version.
func (l *loader) warnAlike() {
	const key = "model_profiles"
	source := cmp.Or(l.origins[key], "ANSWER_EFFORT")
	first := map[string]string{} // the first tool with these settings
	for _, tool := range call.Tools {
		leftOut := tool.Name != call.DefaultTool && l.origins[key+"."+tool.Name] == ""
		if leftOut && l.origins[key] != "" {
			continue
		}

		p := l.ModelProfiles[tool.Name]
		settings := fmt.Sprintf("model %s, effort %s and verbosity %s",
			p.Model, p.ReasoningEffort, p.Verbosity)
		like := first[settings]
		first[settings] = cmp.Or(like, tool.Name)
		if like != "" {
			l.warn(source, key, tool.Name+" is like "+like+": "+settings+
				"; what it leaves out comes from answer")
		}
	}
}

// checkTogether checks keys that depend on each other.
func (l *loader) checkTogether() {
	const source = "policy.system.source"
	const path = "policy.system.path"
	system := l.Policy.System
	switch {
	case system.Source == "file" && system.Path == "":
		l.report(l.origins[source], source, `"file" needs `+path)
	case system.Source == "builtin" && system.Path != "":
		l.warn(l.origins[path], path, "not used while "+source+" is builtin")
	}

	const extra = "request.extra_body"
	for _, name := range call.FixedMembers {
		if l.Request.ExtraBody[name] != nil {
			l.warn(l.origins[extra], extra+"."+name, "ignored: it cannot be replaced")
		}
	}
}

// location returns the time zone for the value of policy.timezone. For local it is that of the
// machine, by its IANA name if TZ or the link of /etc/localtime tells it.
func location(name string) *time.Location {
	if name == "local" {
		name = time.Local.String()
	}
	if name == "Local" {
		link, _ := os.Readlink("/etc/localtime") // /usr/share/zoneinfo/Asia/Tokyo
		_, name, _ = strings.Cut(link, "zoneinfo/")
	}

	zone, err := time.LoadLocation(name) // check has reported a name that is not valid
	if err != nil || name == "" {
		return time.Local // with its summer time
	}
	return zone
}

// warnZone warns if policy.timezone is local, and TZ has a form that package time does not read, such
// as JST-9: package time then takes UTC.
func (l *loader) warnZone() {
	zone := l.environ["TZ"]
	_, err := time.LoadLocation(strings.TrimPrefix(zone, ":"))
	if l.Policy.Timezone == "local" && err != nil && time.Local.String() == "UTC" {
		l.warn("TZ", strconv.Quote(zone)+" is no IANA time zone, so policy.timezone takes UTC")
	}
}

// ExpandHome replaces a leading ~/ by the home directory, as a shell would: clients start the
// server without a shell.
func (c *Config) ExpandHome(path string) string {
	rest, inHome := strings.CutPrefix(filepath.ToSlash(path), "~/")
	if !inHome || c.Home == "" {
		return path
	}
	return filepath.Join(c.Home, rest)
}
