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
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

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

// maxFile is the size of the largest file that ReadFile reads, in bytes.
const maxFile = 1 << 20

// ReadFile reads a file of at most 1 MiB. It does not read devices and pipes, which may have no
// end; a symbolic link to a file is fine.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err == nil && (!info.Mode().IsRegular() || info.Size() > maxFile) {
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
	var section, others []string
	for _, f := range l.fields {
		if f.key == join(path, f.Tag.Get("yaml")) {
			section = append(section, f.key)
		} else {
			others = append(others, f.key)
		}
	}
	if key := text.Nearest(name, append(section, others...)); key != "" {
		return "unknown key, did you mean " + key + "?"
	}
	return "unknown key"
}
