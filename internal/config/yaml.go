package config

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"gopkg.in/yaml.v3"
)

// fromFile reads the file of --config or, without it, the first default path that
// exists, and applies it. Only a file that --config names is missed, and only
// with a warning (spec §5.2).
func (l *loader) fromFile() error {
	if l.in.Flags.ConfigSet && l.in.Flags.Config == "" {
		return &Error{Source: "--config", Problem: `"" is not a path`}
	}
	for _, path := range l.candidates() {
		data, err := l.in.ReadFile(l.expand(path))
		if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			continue
		}
		if err != nil {
			return &Error{Source: path, Problem: "cannot be read: " + cause(err)}
		}
		l.c.file = path
		root, problem := parse(data)
		if problem != nil {
			return &Error{Source: source(path, problem.line), Problem: problem.text}
		}
		return l.apply(root)
	}
	if path := l.in.Flags.Config; path != "" {
		l.warn("--config", "", path+" does not exist: going on without it")
	}
	return nil
}

// apply walks the document along the structs and keeps the first problem in
// the order of the file.
func (l *loader) apply(root *yaml.Node) error {
	if root == nil {
		return nil
	}
	w := walker{l: l, budget: maxNodes}
	w.mapping(reflect.ValueOf(l.c).Elem(), "", root)
	w.crossCheck()
	if w.err != nil {
		return w.err
	}
	l.c.Policy.System.Path = l.besides(l.c.Policy.System.Path)
	l.c.Server.DebugFile = l.besides(l.c.Server.DebugFile)
	return nil
}

// cause leaves out what the line says already: the operation and the path.
func cause(err error) string {
	if e, ok := errors.AsType[*fs.PathError](err); ok {
		err = e.Err
	}
	return err.Error()
}

// source is the first part of a line about the file.
func source(path string, line int) string {
	return path + ":" + strconv.Itoa(line)
}

// syntaxError is a file that is no configuration as a whole.
type syntaxError struct {
	line int
	text string
}

// parse returns the root of the only document, or nil when there is nothing in
// it: an empty file, comments, null. Aliases are not expanded here, so that a
// small file stays small.
func parse(data []byte) (*yaml.Node, *syntaxError) {
	if len(data) > MaxFile {
		return nil, &syntaxError{1, fmt.Sprintf("the file is larger than %d KiB", MaxFile>>10)}
	}
	docs, err := documents(data)
	if err != nil {
		return nil, explain(data, err)
	}
	var root *yaml.Node
	for _, doc := range docs {
		if len(doc.Content) == 0 || doc.Content[0].ShortTag() == "!!null" {
			continue
		}
		if root != nil {
			return nil, &syntaxError{doc.Content[0].Line, "a second document starts here, only one is allowed"}
		}
		root = doc.Content[0]
	}
	if root != nil && root.Kind != yaml.MappingNode {
		return nil, &syntaxError{root.Line, "the top level is " + kindOf(root) + ", it must be a mapping (key: value)"}
	}
	return root, nil
}

// documents parses all of data. The parser is known to panic on a few odd
// inputs; for whoever wrote the file that is a broken file like any other.
func documents(data []byte) (docs []*yaml.Node, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("yaml: %v", r)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		doc := new(yaml.Node)
		if err := dec.Decode(doc); err != nil {
			if errors.Is(err, io.EOF) {
				return docs, nil
			}
			return nil, err
		}
		docs = append(docs, doc)
	}
}

// explain makes one line of a parser's error.
func explain(data []byte, err error) *syntaxError {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	hint := 1
	if rest, ok := strings.CutPrefix(text, "line "); ok {
		number, message, _ := strings.Cut(rest, ": ")
		if n, err := strconv.Atoi(number); err == nil {
			hint, text = n, message
		}
	}
	line, content := brokenLine(data, hint)
	if indent := content[:len(content)-len(bytes.TrimLeft(content, " \t"))]; bytes.IndexByte(indent, '\t') >= 0 {
		text = "a tab cannot indent, only blanks can"
	}
	if strings.Contains(text, "escape character") || strings.Contains(text, "hexdecimal") { // as the parser spells it
		text = "in double quotes a backslash starts an escape, use single ones for a path"
	}
	return &syntaxError{line, "not YAML: " + redact(text)}
}

// brokenLine finds the line from which on nothing saves the file: the lines
// before it parse, and none of the longer beginnings does. The parser's own
// number is often that of the enclosing block, and missing for the first line.
// It is the fallback for a file so large that trying takes long.
func brokenLine(data []byte, hint int) (int, []byte) {
	const maxWork = 4 << 20
	lines := bytes.SplitAfter(data, []byte("\n"))
	if len(lines)*len(data) > maxWork {
		hint = min(max(hint, 1), len(lines))
		return hint, lines[hint-1]
	}
	end := len(data)
	for i, line := range slices.Backward(lines) {
		end -= len(line)
		if _, err := documents(data[:end]); err == nil {
			return i + 1, line
		}
	}
	return 1, lines[0]
}

// kindOf names a node for a person.
func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	}
	return "a single value"
}
