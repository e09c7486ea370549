package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"regexp"
	"runtime"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// fromFile applies the file of --config or, without that flag, the first default
// file that exists (spec §5.2).
func (l *loader) fromFile() error {
	paths := []string{filepath.Join(l.home(), ".config", version.Name, "config.yaml")}
	if dir := l.vars["APPDATA"]; dir != "" && runtime.GOOS == "windows" {
		paths = append([]string{filepath.Join(dir, version.Name, "config.yaml")}, paths...)
	}
	if l.in.Flags.ConfigSet {
		paths = []string{l.in.Flags.Config}
	}
	for _, path := range paths {
		data, err := l.in.ReadFile(l.expand(path))
		switch {
		case err == nil:
			l.File = path
			l.apply(data)
			return nil
		case !errors.Is(err, fs.ErrNotExist):
			l.problems = append(l.problems, "reading config: "+err.Error())
			return nil
		case l.in.Flags.ConfigSet:
			return fmt.Errorf("--config: %q: %w", path, ErrNoFile)
		}
	}
	return nil
}

// apply sets the keys of a file.
func (l *loader) apply(data []byte) {
	root, err := parse(data)
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		for _, problem := range typed.Errors { // line 3: mapping key "request" already defined at line 1
			l.problems = append(l.problems, l.File+":"+strings.TrimPrefix(problem, "line "))
		}
	} else if err != nil {
		line, problem := syntax(data, err)
		l.problems = append(l.problems, fmt.Sprintf("%s:%d: not YAML: %s", l.File, line, problem))
	}
	if root == nil {
		return
	}
	l.section("", root)
	for _, path := range []*string{&l.c.Policy.System.Path, &l.c.Server.DebugFile} {
		if *path = l.expand(*path); *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(l.expand(l.File)), *path)
		}
	}
}

// parse returns the top-level mapping, or nil if there is none. It decodes the
// mapping once to find duplicate keys, and aliases that contain themselves or
// expand without bound, so that section can follow them.
func parse(data []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the parser panics on some malformed files
			root, err = nil, fmt.Errorf("yaml: %v", r)
		}
	}()
	d := yaml.NewDecoder(bytes.NewReader(data))
	var doc, second yaml.Node
	if err := d.Decode(&doc); err != nil {
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return nil, err
	}
	root = doc.Content[0]
	switch err := d.Decode(&second); {
	case err == nil:
		return nil, problem(second.Line, "a second document starts here, only one is allowed")
	case !errors.Is(err, io.EOF):
		return nil, err
	case root.ShortTag() == "!!null":
		return nil, nil
	case root.Kind != yaml.MappingNode:
		return nil, problem(root.Line, "the top level is not a mapping (key: value)")
	}
	var all map[string]any
	if err = root.Decode(&all); err != nil && !errors.As(err, new(*yaml.TypeError)) {
		root = nil
	}
	return root, err
}

func problem(line int, s string) error {
	return &yaml.TypeError{Errors: []string{fmt.Sprintf("line %d: %s", line, s)}}
}

// hints explain common mistakes better than the parser, and find their line.
var hints = []struct {
	message, line *regexp.Regexp
	hint          string
}{
	{regexp.MustCompile(`cannot start any token|tab`), regexp.MustCompile(`(?m)^ *\t`), "a tab cannot indent, only spaces can"},
	{regexp.MustCompile(`escape character|hexdecimal`), regexp.MustCompile(`"[^"\n]*\\`), "in double quotes a backslash starts an escape, use single quotes for a path"},
	{regexp.MustCompile(`did not find expected`), regexp.MustCompile(`\{[^"'\n]*\$\{`), `${NAME} inside { } needs quotes: "${NAME}"`},
}

// syntax returns the line of a parser's error, 1 if it has none, and a message.
func syntax(data []byte, err error) (line int, problem string) {
	problem = strings.TrimPrefix(err.Error(), "yaml: ")
	for _, h := range hints {
		if at := h.line.FindIndex(data); at != nil && h.message.MatchString(problem) {
			return 1 + bytes.Count(data[:at[0]], []byte("\n")), h.hint
		}
	}
	if _, err := fmt.Sscanf(problem, "line %d:", &line); err != nil {
		return 1, problem
	}
	_, problem, _ = strings.Cut(problem, ": ")
	return line, problem
}

// section sets the keys of the mapping at path, which is "" for the whole file.
func (l *loader) section(path string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i].Value, n.Content[i+1]
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		key, source := join(path, name), l.source(n.Content[i])
		f, known := l.keys[key]
		cut := f.Type != nil && f.Type.Kind() == reflect.Int && v.ShortTag() == "!!float" // the decoder makes 1 of 1.5
		switch {
		case ignored[key] != "":
			l.warnings = append(l.warnings, source+": "+key+": ignored: "+ignored[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknown(path, name))
		case v.ShortTag() == "!!null":
		case v.Kind == yaml.MappingNode && f.section():
			l.profiles = l.profiles || key == "model_profiles"
			l.section(key, v)
		case v.Kind == yaml.MappingNode && key == "openai.headers":
			l.origins[key] = source
			l.headers(v)
		case f.section() || cut || v.Decode(f.value.Addr().Interface()) != nil:
			l.report(source, key, wrong(f, nodeValue(v)))
		default:
			l.set(key, source)
		}
	}
}

func (l *loader) source(n *yaml.Node) string { return l.File + ":" + strconv.Itoa(n.Line) }

// nodeValue is a value for messages.
func nodeValue(n *yaml.Node) (v any) {
	_ = n.Decode(&v)
	return v
}
