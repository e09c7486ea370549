package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// fromFile applies the file of --config or, without that flag, the first default
// file that exists (spec §5.2).
func (l *loader) fromFile() error {
	if dir := l.vars["APPDATA"]; dir != "" { // Windows
		l.DefaultFiles = append(l.DefaultFiles, filepath.Join(dir, version.Name, "config.yaml"))
	}
	l.DefaultFiles = append(l.DefaultFiles, filepath.Join(l.home, ".config", version.Name, "config.yaml"))
	paths := l.DefaultFiles
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
			return fmt.Errorf("reading config: %w", err)
		case l.in.Flags.ConfigSet:
			return fmt.Errorf("--config: %q: %w", path, ErrNoFile)
		}
	}
	return nil
}

// apply sets the keys of a file. Decoding it as a whole finds duplicate keys, and
// aliases that contain themselves or expand without bound.
func (l *loader) apply(data []byte) {
	var doc yaml.Node
	var all map[string]any
	d := yaml.NewDecoder(bytes.NewReader(data))
	err := d.Decode(&doc)
	if errors.Is(err, io.EOF) { // an empty file
		return
	}
	if err == nil {
		var second yaml.Node
		if err := d.Decode(&second); !errors.Is(err, io.EOF) && (err != nil || second.Content[0].ShortTag() != "!!null") {
			l.problems = append(l.problems, l.File+": has more than one YAML document")
		}
		err = doc.Decode(&all)
	}
	if typed, ok := errors.AsType[*yaml.TypeError](err); ok {
		for _, problem := range typed.Errors { // line 3: mapping key "request" already defined at line 1
			problem = strings.Replace(problem, "map[string]interface {}", "a mapping (key: value)", 1)
			l.problems = append(l.problems, l.File+":"+strings.TrimPrefix(problem, "line "))
		}
	} else if err != nil {
		line, message := "1", strings.TrimPrefix(err.Error(), "yaml: ")
		if rest, ok := strings.CutPrefix(message, "line "); ok { // line 3: found unexpected end of stream
			line, message, _ = strings.Cut(rest, ": ")
		}
		const hint = " (indent with spaces, and put paths and ${NAME} in single quotes)"
		l.problems = append(l.problems, l.File+":"+line+": not YAML: "+message+hint)
		return
	}
	if all != nil {
		l.section("", doc.Content[0])
	}
	for _, path := range []*string{&l.c.Policy.System.Path, &l.c.Server.DebugFile} {
		if *path = l.expand(*path); *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(l.expand(l.File)), *path)
		}
	}
}

// section sets the keys of the mapping at path, which is "" for the whole file.
func (l *loader) section(path string, n *yaml.Node) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		name, v := n.Content[i].Value, n.Content[i+1]
		if v.Kind == yaml.AliasNode {
			v = v.Alias
		}
		key, source := join(path, name), l.File+":"+strconv.Itoa(n.Content[i].Line)
		f, known := l.keys[key]
		switch {
		case ignored[key] != "":
			l.warn(source, key, "ignored: "+ignored[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknown(path, name))
		case v.ShortTag() == "!!null":
		case v.Kind == yaml.MappingNode && f.section():
			l.profiles = l.profiles || key == "model_profiles"
			l.section(key, v)
		case f.Type.Kind() == reflect.Int && v.ShortTag() == "!!float", // the decoder makes 1 of 1.5
			f.section(), v.Decode(f.value.Addr().Interface()) != nil:
			var value any
			_ = v.Decode(&value) // Only a message needs it.
			l.report(source, key, wrong(f, value))
		default:
			l.set(key, source)
		}
	}
}
