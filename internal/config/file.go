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
	inHome := filepath.Join(l.home, ".config")
	for _, folder := range []string{l.environ["APPDATA"], inHome} {
		if folder != "" { // only Windows has APPDATA
			path := filepath.Join(folder, version.Name, "config.yaml")
			l.DefaultFiles = append(l.DefaultFiles, path)
		}
	}

	if given != nil {
		l.usedFlags = append(l.usedFlags, "--config")
		return l.read(*given)
	}
	for _, path := range l.DefaultFiles {
		err := l.read(path)
		if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// read reads a file and applies it.
func (l *loader) read(path string) error {
	data, err := ReadFile(l.expand(path))
	if err != nil {
		return fmt.Errorf("reading config: %w", err)
	}

	l.File = path
	l.apply(data)
	return nil
}

// ReadFile reads a file of at most 1 MiB. It does not read devices and pipes, which may have no
// end; a symbolic link to a file is fine.
func ReadFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > 1<<20 {
		err := errors.New("not a regular file of at most 1 MiB")
		return nil, &fs.PathError{Op: "read", Path: path, Err: err}
	}
	return os.ReadFile(path)
}

// apply sets the keys of a file.
func (l *loader) apply(data []byte) {
	root := l.parse(data)
	switch {
	case root == nil:
		return
	case root.Kind == yaml.MappingNode:
		l.applySection("", root)
	case root.ShortTag() != "!!null":
		l.problems = append(l.problems, l.at(root)+": not a mapping (key: value)")
	}

	l.Policy.System.Path = l.besideFile(l.Policy.System.Path)
	l.Server.DebugFile = l.besideFile(l.Server.DebugFile)
}

// parse returns the value of the first document. It returns nil if there is none, or if the file is
// not YAML, which it reports.
func (l *loader) parse(data []byte) *yaml.Node {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var doc yaml.Node
	err := decoder.Decode(&doc)
	if errors.Is(err, io.EOF) { // an empty file
		return nil
	}
	if err != nil {
		l.reportYAML(err)
		return nil
	}

	var second yaml.Node
	err = decoder.Decode(&second)
	isLast := errors.Is(err, io.EOF)
	isEmpty := err == nil && second.Content[0].ShortTag() == "!!null"
	if !isLast && !isEmpty {
		l.problems = append(l.problems, l.File+": has more than one YAML document")
	}
	return doc.Content[0]
}

// yamlError has the line, if there is one, and the message of an error such as
// "yaml: line 3: found unexpected end of stream".
var yamlError = regexp.MustCompile(`(?s)^(?:yaml: )?(?:line (\d+): )?(.*)`)

// reportYAML reports an error of the parser.
func (l *loader) reportYAML(err error) {
	const hint = " (indent with spaces, and put paths and ${NAME} in single quotes)"
	m := yamlError.FindStringSubmatch(err.Error())
	line := cmp.Or(m[1], "1")

	l.problems = append(l.problems, l.File+":"+line+": not YAML: "+m[2]+hint)
}

// at returns the place of a node in the file, which is the source of its key.
func (l *loader) at(n *yaml.Node) string { return l.File + ":" + strconv.Itoa(n.Line) }

// besideFile returns a path of the file. A relative path is relative to the file.
func (l *loader) besideFile(path string) string {
	path = l.expand(path)
	if path == "" || filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(filepath.Dir(l.expand(l.File)), path)
}

// applySection sets the keys of a section, which is "" for the whole file.
func (l *loader) applySection(section string, mapping *yaml.Node) {
	lines := map[string]int{} // of the names that were set
	for i := 0; i+1 < len(mapping.Content); i += 2 {
		node := mapping.Content[i]
		name := node.Value
		key := join(section, name)
		source := l.at(node)
		f, known := l.byKey[key]
		previous := lines[name]
		lines[name] = node.Line

		switch {
		case previous > 0:
			l.report(source, key, "already set in line "+strconv.Itoa(previous))
		case ignored[key] != "":
			l.warn(source, key, "ignored: "+ignored[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknownKey(section, name))
		default:
			l.applyValue(f, source, mapping.Content[i+1])
		}
	}
}

// applyValue sets a key, or the keys of a section.
func (l *loader) applyValue(f field, source string, value *yaml.Node) {
	if value.Kind == yaml.AliasNode {
		value = value.Alias
	}
	if value.ShortTag() == "!!null" {
		return
	}
	if f.section() && value.Kind == yaml.MappingNode {
		l.origins[f.key] = source
		l.applySection(f.key, value)
		return
	}

	if problem := decode(f, value); problem != "" {
		l.report(source, f.key, problem)
		return
	}
	l.accept(f.key, source)
}

// decode sets a key. It returns why the value cannot be that of the key, or "".
func decode(f field, value *yaml.Node) string {
	hasFraction := f.Type.Kind() == reflect.Int && value.ShortTag() == "!!float"
	if !f.section() && !hasFraction { // the decoder makes 1 of 1.5
		err := value.Decode(f.value.Addr().Interface())
		if err == nil {
			return ""
		}
	}

	var decoded any
	err := value.Decode(&decoded)
	if err == nil {
		return notAllowed(f, decoded)
	}
	// A key that occurs twice, or an alias that contains itself or expands without bound.
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	return strings.TrimPrefix(message, "unmarshal errors:\n  ")
}

// unknownKey says what to write in place of a key that does not exist: the nearest one, of the same
// section first.
func (l *loader) unknownKey(section, name string) string {
	var inSection, all []string
	for _, f := range l.fields {
		all = append(all, f.key)
		if f.key == join(section, f.Tag.Get("yaml")) {
			inSection = append(inSection, f.key)
		}
	}
	nearest := text.Nearest(name, append(inSection, all...))
	if nearest == "" {
		return "unknown key"
	}
	return "unknown key, did you mean " + nearest + "?"
}
