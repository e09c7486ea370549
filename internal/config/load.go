package config

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/caarlos0/env/v11"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
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
//
// It is an fs.ErrNotExist if the file of --config does not exist. Warnings and errors contain no
// secrets. With an error the Config is not complete.
func Load(flags Flags, environ []string) (c *Config, warnings []string, err error) {
	l := &loader{Config: defaults(), vars: map[string]string{}, keys: map[string]field{}}
	for name, value := range env.ToMap(environ) {
		l.vars[name] = strings.TrimSpace(value)
	}
	l.home = cmp.Or(l.vars["USERPROFILE"], l.vars["HOME"]) // only Windows has USERPROFILE
	l.fields = fields(field{value: reflect.ValueOf(l.Config).Elem()})
	for _, f := range l.fields {
		l.keys[f.key] = f
		if !f.section() {
			l.Keys = append(l.Keys, f.key)
			l.origins[f.key] = "default"
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
	redactor := redact.New(l.Secrets...)
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
	vars               map[string]string // trimmed
	home               string
	keys               map[string]field // sections, too
	problems, warnings []string
}

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

// fromFile applies the file of --config or, without that flag, the first default file that exists
// (spec §5.2).
func (l *loader) fromFile(given *string) error {
	if dir := l.vars["APPDATA"]; dir != "" { // Windows
		l.DefaultFiles = append(l.DefaultFiles, filepath.Join(dir, version.Name, "config.yaml"))
	}
	l.DefaultFiles = append(l.DefaultFiles, filepath.Join(l.home, ".config", version.Name, "config.yaml"))
	paths := l.DefaultFiles
	if given != nil {
		paths = []string{*given}
		l.flags = append(l.flags, "--config")
	}
	for _, path := range paths {
		data, err := ReadFile(l.expand(path))
		if err == nil {
			l.File = path
			l.apply(data)
			return nil
		}
		if given != nil || !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("reading config: %w", err)
		}
	}
	return nil
}

// ReadFile reads a file of at most 1 MiB. It does not read devices and pipes, which may have no
// end; a symbolic link to a file is fine.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > 1<<20) {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file of at most 1 MiB")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// yamlError has the line, if there is one, and the message of an error such as
// "yaml: line 3: found unexpected end of stream".
var yamlError = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)`)

// apply sets the keys of a file.
func (l *loader) apply(data []byte) {
	var doc, second yaml.Node
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) { // an empty file
		return
	}
	if err != nil {
		m := yamlError.FindStringSubmatch(err.Error())
		const hint = " (indent with spaces, and put paths and ${NAME} in single quotes)"
		l.problems = append(l.problems, l.File+":"+cmp.Or(m[1], "1")+": not YAML: "+m[2]+hint)
		return
	}
	err = d.Decode(&second)
	if !errors.Is(err, io.EOF) && (err != nil || second.Content[0].ShortTag() != "!!null") {
		l.problems = append(l.problems, l.File+": has more than one YAML document")
	}
	root := doc.Content[0]
	switch {
	case root.Kind == yaml.MappingNode:
		l.section("", root)
	case root.ShortTag() != "!!null":
		l.problems = append(l.problems, l.File+":"+strconv.Itoa(root.Line)+": not a mapping (key: value)")
	}
	for _, path := range []*string{&l.Policy.System.Path, &l.Server.DebugFile} {
		*path = l.expand(*path)
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(l.expand(l.File)), *path)
		}
	}
}

// section sets the keys of the mapping at path, which is "" for the whole file.
func (l *loader) section(path string, n *yaml.Node) {
	lines := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, line, v := n.Content[i].Value, n.Content[i].Line, n.Content[i+1]
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		key, source := join(path, name), l.File+":"+strconv.Itoa(line)
		f, known := l.keys[key]
		first := lines[name]
		lines[name] = line
		switch {
		case first > 0:
			l.report(source, key, "already set in line "+strconv.Itoa(first))
		case ignored[key] != "":
			l.warn(source, key, "ignored: "+ignored[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknown(path, name))
		case v.ShortTag() == "!!null":
		case v.Kind == yaml.MappingNode && f.section():
			l.origins[key] = source
			l.section(key, v)
		case f.Type.Kind() == reflect.Int && v.ShortTag() == "!!float", // the decoder makes 1 of 1.5
			f.section(), v.Decode(f.value.Addr().Interface()) != nil:
			l.report(source, key, undecodable(f, v))
		default:
			l.set(key, source)
		}
	}
}

// undecodable says why a value cannot be that of a key.
func undecodable(f field, v *yaml.Node) string {
	var value any
	err := v.Decode(&value)
	if err == nil {
		return wrong(f, value)
	}
	// A key that occurs twice, or an alias that contains itself or expands without bound.
	return strings.TrimPrefix(strings.TrimPrefix(err.Error(), "yaml: "), "unmarshal errors:\n  ")
}

// unknown says what to write in place of a key that does not exist: the nearest one, of the same
// section first. A problem that is not shown needs no search.
func (l *loader) unknown(path, name string) string {
	if len(l.problems) >= maxProblems {
		return "unknown key"
	}
	var section, all []string
	for _, f := range l.fields {
		all = append(all, f.key)
		if f.key == join(path, f.Tag.Get("yaml")) {
			section = append(section, f.key)
		}
	}
	if key := text.Nearest(name, append(section, all...)); key != "" {
		return "unknown key, did you mean " + key + "?"
	}
	return "unknown key"
}

// variable returns the value of a variable, and records that it is used.
func (l *loader) variable(name string) string {
	value := l.vars[name]
	if value != "" && !slices.Contains(l.variables, name) {
		l.variables = append(l.variables, name)
	}
	return value
}

// fromEnv applies the variables. DEBUG may set two keys, MCP_LINE_MODE sets none.
func (l *loader) fromEnv() {
	failed, _ := errors.AsType[env.AggregateError](env.ParseWithOptions(l.Config, env.Options{Environment: l.vars}))
	for _, f := range l.fields {
		value := l.variable(f.variable)
		invalid := slices.ContainsFunc(failed.Errors, func(err error) bool {
			parse, ok := errors.AsType[env.ParseError](err)
			return ok && parse.Name == f.Name
		})
		switch {
		case f.variable == "", value == "":
		case f.key == "server.debug":
			l.debug(f.variable, value)
		case invalid:
			l.report(f.variable, f.key, wrong(f, value))
		case f.Tag.Get("env") == "": // of a profile, which env does not know
			f.value.SetString(value)
			l.set(f.key, f.variable)
		default:
			l.set(f.key, f.variable)
		}
	}
	if l.vars["MCP_LINE_MODE"] == "1" {
		l.LineMode = true
		l.variables = append(l.variables, "MCP_LINE_MODE")
	}
}

func (l *loader) fromFlags(f Flags) {
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
		for _, f := range fields(field{value: reflect.ValueOf(Profile{})}) {
			key, from := "model_profiles."+profile+"."+f.key, "model_profiles.answer."+f.key
			hasLevel := f.key == "reasoning_effort" || f.key == "verbosity"
			switch {
			case l.origins[key] != "default":
			case hasLevel && l.origins["model_profiles"] == "" && l.origins[from] == "default":
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
