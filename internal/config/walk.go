package config

import (
	"reflect"
	"strconv"
	"strings"

	"gopkg.in/yaml.v3"
)

// Bounds on what one file may expand to: aliases of aliases double with every
// line, and an alias may stand inside what it refers to.
const (
	maxNodes = 20_000
	maxDepth = 64
)

// walker applies a YAML document to the structs.
type walker struct {
	l      *loader
	err    *Error // the first problem in the order of the file
	at     *yaml.Node
	budget int // nodes left, negative when the walk is over
	depth  int // of merge keys and free-form values
}

// fail keeps the problem unless one further up in the file is known.
func (w *walker) fail(n *yaml.Node, key, problem string) {
	if w.err != nil && (w.at.Line < n.Line || w.at.Line == n.Line && w.at.Column <= n.Column) {
		return
	}
	w.at = n
	w.err = &Error{Source: source(w.l.c.file, n.Line), Key: clip(redact(key)), Problem: problem}
}

// spend counts a node and says whether the walk may go on.
func (w *walker) spend(n *yaml.Node, key string) bool {
	if w.budget--; w.budget == -1 {
		w.fail(n, key, "expands to more than "+strconv.Itoa(maxNodes)+" values")
	}
	return w.budget >= 0
}

// enter goes one level down and says whether that is allowed. The caller
// leaves with w.depth--, allowed or not.
func (w *walker) enter(n *yaml.Node, key string) bool {
	if w.depth++; w.depth > maxDepth && w.budget >= 0 {
		w.fail(n, key, "is nested too deeply")
		w.budget = -1
	}
	return w.spend(n, key)
}

// entry is a key with its value, aliases followed.
type entry struct {
	key   *yaml.Node
	name  string
	value *yaml.Node
}

// entries lists a mapping: its own keys in order, then those that merge keys
// (<<) bring in and that are not there yet.
func (w *walker) entries(n *yaml.Node, path string) []entry {
	list := make([]entry, 0, len(n.Content)/2)
	var merges []*yaml.Node
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := follow(n.Content[i]), follow(n.Content[i+1])
		if !w.spend(key, path) {
			return nil
		}
		if key.ShortTag() == "!!merge" {
			merges = append(merges, n.Content[i], value)
			continue
		}
		name := key.Value
		if key.Kind != yaml.ScalarNode {
			w.fail(key, path, kindOf(key)+" cannot be a key")
			continue
		}
		if first := find(list, name); first != nil {
			w.fail(key, join(path, name), "given twice, first in line "+strconv.Itoa(first.key.Line))
			continue
		}
		list = append(list, entry{n.Content[i], name, value})
	}
	for i := 0; i+1 < len(merges); i += 2 {
		list = w.merge(list, merges[i], merges[i+1], path)
	}
	return list
}

// merge adds what the value of a merge key holds: a mapping, or a list of them
// of which the earlier win.
func (w *walker) merge(list []entry, key, value *yaml.Node, path string) []entry {
	defer func() { w.depth-- }()
	if !w.enter(key, path) {
		return list
	}
	from := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		from = value.Content
	}
	for _, n := range from {
		if n = follow(n); n.Kind != yaml.MappingNode {
			w.fail(key, join(path, "<<"), kindOf(n)+" is not a mapping")
			return list
		}
		if !w.spend(key, path) { // an empty one costs, too
			return list
		}
		for _, e := range w.entries(n, path) {
			if find(list, e.name) == nil {
				list = append(list, e)
			}
		}
	}
	return list
}

func find(list []entry, name string) *entry {
	for i := range list {
		if list[i].name == name {
			return &list[i]
		}
	}
	return nil
}

func follow(n *yaml.Node) *yaml.Node {
	if n.Kind == yaml.AliasNode {
		return n.Alias
	}
	return n
}

// mapping applies a section to its struct. path is the key of the section, ""
// for the whole file. A section that is null is as good as absent.
func (w *walker) mapping(v reflect.Value, path string, n *yaml.Node) {
	for _, e := range w.entries(n, path) {
		key := join(path, e.name)
		f, ok := field(v.Type(), e.name)
		switch {
		case !ok:
			w.fail(e.key, key, unknown(v.Type(), path, e.name))
		case isIgnored(f):
			w.l.warn(source(w.l.c.file, e.key.Line), key, "ignored: "+f.Tag.Get("ignored"))
		case e.value.ShortTag() == "!!null":
		case f.Type.Kind() == reflect.Struct && e.value.Kind != yaml.MappingNode:
			w.fail(e.key, key, textOf(e.value).shown()+" is not a mapping, its keys are "+names(f.Type))
		case f.Type.Kind() == reflect.Struct:
			w.mapping(v.FieldByIndex(f.Index), key, e.value)
		default:
			w.value(e, key, f, v.FieldByIndex(f.Index))
		}
	}
}

// value applies a key that is no section.
func (w *walker) value(e entry, key string, f reflect.StructField, v reflect.Value) {
	switch {
	case f.Tag.Get("format") == "headers" && e.value.Kind == yaml.MappingNode:
		v.Set(reflect.ValueOf(w.headers(e.value, key)))
	case v.Kind() == reflect.Map && e.value.Kind == yaml.MappingNode:
		v.Set(reflect.ValueOf(w.extraBody(e.value, key)))
	case v.Kind() == reflect.Slice && e.value.Kind == yaml.SequenceNode:
		v.Set(reflect.ValueOf(w.list(e.value, key)))
	default:
		if problem := set(f, v, textOf(e.value)); problem != "" {
			w.fail(e.key, key, problem)
			return
		}
	}
	w.l.c.origin[key] = source(w.l.c.file, e.key.Line)
}

// list reads a list of strings.
func (w *walker) list(n *yaml.Node, key string) []string {
	list := make([]string, 0, len(n.Content))
	for i, item := range n.Content {
		if !w.spend(item, key) {
			return nil
		}
		t := textOf(follow(item))
		if s := strings.TrimSpace(t.value); t.kind == kindString && s != "" {
			list = append(list, s)
			continue
		}
		w.fail(item, key+"["+strconv.Itoa(i)+"]", t.shown()+" is not a non-empty string")
	}
	return list
}

// crossCheck looks at keys that only make sense together.
func (w *walker) crossCheck() {
	const at, path = "policy.system.source", "policy.system.path"
	s := w.l.c.Policy.System
	if s.Source == "file" && s.Path == "" && (w.err == nil || w.err.Key != path) {
		w.fail(w.position(at), at, `"file" needs `+path)
	}
	if origin, ok := w.l.c.origin[path]; ok && s.Source == "builtin" && s.Path != "" {
		w.l.warn(origin, path, "not used while "+at+" is builtin")
	}
}

// position rebuilds the place of a key that was set.
func (w *walker) position(key string) *yaml.Node {
	origin := w.l.c.origin[key]
	line, _ := strconv.Atoi(origin[strings.LastIndexByte(origin, ':')+1:])
	return &yaml.Node{Line: line}
}

// join makes the full key of a name within a section.
func join(path, name string) string {
	if name == "" {
		name = `""`
	}
	if path == "" {
		return name
	}
	return path + "." + name
}

// field finds the field of a key.
func field(t reflect.Type, name string) (reflect.StructField, bool) {
	for known, f := range members(t) {
		if known == name {
			return f, true
		}
	}
	return reflect.StructField{}, false
}
