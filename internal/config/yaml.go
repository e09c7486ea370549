package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// maxFile is the size in bytes of the largest file that ReadFile returns.
const maxFile = 1 << 20

// ReadFile returns the content of a file of at most 1 MiB.
func ReadFile(path string) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err == nil && len(data) > maxFile {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("larger than %d KiB", maxFile>>10)}
	}
	return data, err
}

// fromFile applies the file of --config or, without that flag, the first default
// file that exists (spec §5.2).
func (l *loader) fromFile() error {
	var paths []string
	if dir := l.vars["APPDATA"]; dir != "" && runtime.GOOS == "windows" {
		paths = append(paths, filepath.Join(dir, version.Name, "config.yaml"))
	}
	if l.home != "" {
		paths = append(paths, filepath.Join(l.home, ".config", version.Name, "config.yaml"))
	}
	flags, missing := l.in.Flags, error(nil)
	if flags.ConfigSet {
		paths, missing = []string{flags.Config}, fmt.Errorf("--config: %q: %w", flags.Config, ErrNoFile)
	}
	for _, path := range paths {
		data, err := l.in.ReadFile(l.expand(path))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if l.c.hidden.file = path; err != nil {
			if pe, ok := errors.AsType[*fs.PathError](err); ok {
				err = pe.Err // the path is in the message already
			}
			l.problems = append(l.problems, fmt.Sprintf("%s: cannot be read: %v", path, err))
			return nil
		}
		l.apply(data)
		return nil
	}
	return missing
}

// apply sets the keys of a file.
func (l *loader) apply(data []byte) {
	fail := func(line int, problem string) {
		l.problems = append(l.problems, fmt.Sprintf("%s:%d: %s", l.c.hidden.file, line, problem))
	}
	root, err := parse(data)
	switch {
	case err != nil:
		fail(syntaxProblem(data, err))
		return
	case root == nil:
		return
	case root.Kind != yaml.MappingNode:
		fail(root.Line, "the top level is "+kindOf(root)+", it must be a mapping (key: value)")
		return
	}
	// The decoder finds duplicate keys, and aliases that contain themselves or
	// expand without bound, so that section can follow them.
	var all map[string]any
	if err := root.Decode(&all); err != nil {
		duplicates, ok := errors.AsType[*yaml.TypeError](err)
		if !ok {
			fail(1, "not YAML: "+strings.TrimPrefix(err.Error(), "yaml: "))
			return
		}
		for _, problem := range duplicates.Errors {
			l.problems = append(l.problems, l.c.hidden.file+":"+strings.TrimPrefix(problem, "line "))
		}
	}
	l.section("", root)
	for _, path := range []*string{&l.c.Policy.System.Path, &l.c.Server.DebugFile} {
		if *path = l.expand(*path); *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(filepath.Dir(l.expand(l.c.hidden.file)), *path)
		}
	}
}

// section sets the keys of a mapping. path is its key, "" for the whole file.
func (l *loader) section(path string, n *yaml.Node) {
	for _, e := range entries(n) {
		name, key := e.key.Value, join(path, e.key.Value)
		source := l.source(e.key)
		f, known := l.keys[key]
		switch {
		case e.key.Kind != yaml.ScalarNode: // an error of the decoder
		case ignored[key] != "":
			l.warn(source, key, "ignored: %s", ignored[key])
		case !known || strings.Contains(name, "."):
			l.report(source, key, l.unknown(path, name))
		case e.value.ShortTag() == "!!null":
		case f.Type.Kind() != reflect.Struct:
			l.value(f, source, e.value)
		case e.value.Kind != yaml.MappingNode:
			l.report(source, key, shownNode(f.StructField, e.value)+" is not a mapping")
		default:
			l.profiles = l.profiles || key == "model_profiles"
			l.section(key, e.value)
		}
	}
}

// value sets a key that is not a section.
func (l *loader) value(f field, source string, n *yaml.Node) {
	v := reflect.New(f.Type).Elem()
	err := n.Decode(v.Addr().Interface())
	switch f.Type.Kind() {
	case reflect.Int:
		if n.ShortTag() != "!!int" {
			err = errors.New("not an integer") // the decoder cuts 1.5 to 1
		}
	case reflect.String:
		var b bool
		if f.key == "responses.stream" && n.Decode(&b) == nil { // true, false, and yes and no
			v.SetString(strconv.FormatBool(b))
		}
	case reflect.Map:
		if n.Kind != yaml.MappingNode {
			break
		}
		if f.Tag.Get("format") == "headers" {
			l.header(f, source, n)
			return
		}
		for _, e := range entries(n) {
			switch e.key.Value {
			case "model", "instructions", "input", "tools", "stream":
				l.warn(l.source(e.key), join(f.key, e.key.Value), "ignored: model, instructions, input, tools and stream cannot be replaced")
				v.SetMapIndex(reflect.ValueOf(e.key.Value), reflect.Value{})
			}
		}
		if _, err := unescaped.JSON(v.Interface()); err != nil {
			l.report(source, f.key, "cannot be written as JSON: "+strings.TrimPrefix(err.Error(), "json: "))
			return
		}
	}
	if err != nil {
		l.report(source, f.key, shownNode(f.StructField, n)+" is not "+allowed(f.StructField))
		return
	}
	if f.Type.Kind() == reflect.Slice {
		l.assign(source, f.key, "", v)
		return
	}
	l.assign(source, f.key, shownNode(f.StructField, n), v)
}

func shownNode(f reflect.StructField, n *yaml.Node) string {
	if n.Kind != yaml.ScalarNode {
		return kindOf(n)
	}
	return shown(f, n.Value, n.ShortTag() == "!!str")
}

// entry is a key with its value.
type entry struct{ key, value *yaml.Node }

// entries lists a mapping: first what merge keys (<<) bring in, then its own keys,
// so that those win.
func entries(n *yaml.Node) []entry {
	var own, merged []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		if key.ShortTag() != "!!merge" {
			own = append(own, entry{key, value})
			continue
		}
		from := []*yaml.Node{value}
		if value.Kind == yaml.SequenceNode {
			from = value.Content
		}
		for _, m := range slices.Backward(from) { // the first of several wins
			merged = append(merged, entries(follow(m))...)
		}
	}
	return append(merged, own...)
}

func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

func (l *loader) source(n *yaml.Node) string {
	return l.c.hidden.file + ":" + strconv.Itoa(n.Line)
}

// parse returns the root of the only document, or nil if the file is empty.
func parse(data []byte) (root *yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil { // the parser panics on some malformed files
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var doc yaml.Node
		switch err := dec.Decode(&doc); {
		case errors.Is(err, io.EOF):
			return root, nil
		case err != nil:
			return nil, err
		case len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null":
		case root != nil:
			return nil, errors.New("a second document starts here, only one is allowed")
		default:
			root = doc.Content[0]
		}
	}
}

// syntaxProblem returns the line of a parser's error and a message. The line is
// the first one with which no beginning of the file parses: that of the parser is
// often where the enclosing block starts, or missing.
func syntaxProblem(data []byte, err error) (line int, problem string) {
	message := strings.TrimPrefix(err.Error(), "yaml: ")
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines) > 1000 { // too slow to search
		return 1, "not YAML: " + message
	}
	if strings.HasPrefix(message, "line ") {
		_, message, _ = strings.Cut(message, ": ")
	}
	for line = len(lines); line > 1; line-- {
		if _, err := parse(bytes.Join(lines[:line-1], nil)); err == nil {
			break
		}
	}
	broken := string(lines[line-1])
	switch {
	case strings.HasPrefix(strings.TrimLeft(broken, " "), "\t"):
		message = "a tab cannot indent, only spaces can"
	case strings.Contains(message, "escape character"), strings.Contains(message, "hexdecimal"): // spelled so by the parser
		message = "in double quotes a backslash starts an escape, use single quotes for a path"
	case strings.Contains(broken, "${"):
		message = `${NAME} inside { } needs quotes: "${NAME}"`
	}
	return line, "not YAML: " + message
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}
