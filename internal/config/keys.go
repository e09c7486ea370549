package config

import (
	"iter"
	"reflect"
	"strconv"
	"strings"
)

// Key describes one key of the file, for a reference page.
type Key struct {
	Path    string // policy.max_citations
	Type    string // JSON type, or "" for a key without effect
	Default string // as in YAML; "null" when there is none
	Allowed string // "a whole number in 1..10"
	Env     string // variable that sets it, or ""
	Flag    string // flag that sets it, or ""
	Doc     string
	Section bool   // it holds other keys
	Ignored string // why it has no effect any more, or ""
}

// Keys lists every key in the order of the structs, sections before what they
// hold.
func Keys() []Key {
	var list []Key
	visit(reflect.ValueOf(defaults()).Elem(), "", func(path string, f reflect.StructField, v reflect.Value) {
		k := Key{Path: path, Doc: f.Tag.Get("doc"), Ignored: f.Tag.Get("ignored")}
		switch {
		case k.Ignored != "":
		case f.Type.Kind() == reflect.Struct:
			k.Section = true
		default:
			k.Type, k.Default, k.Allowed = jsonType(f.Type), literal(v), allowed(f)
			k.Env, k.Flag = variable(path), flagOf(path)
		}
		list = append(list, k)
	})
	return list
}

// members are the keys of a section, in order, with their fields.
func members(section reflect.Type) iter.Seq2[string, reflect.StructField] {
	return func(yield func(string, reflect.StructField) bool) {
		for f := range section.Fields() {
			if name := f.Tag.Get("yaml"); name != "" && name != "-" && !yield(name, f) {
				return
			}
		}
	}
}

// isIgnored reports a key of an older version, which has no effect.
func isIgnored(f reflect.StructField) bool { return f.Type == reflect.TypeFor[ignored]() }

// visit calls fn for every key below path, in order, sections first.
func visit(section reflect.Value, path string, fn func(string, reflect.StructField, reflect.Value)) {
	for name, f := range members(section.Type()) {
		v := section.FieldByIndex(f.Index)
		fn(join(path, name), f, v)
		if f.Type.Kind() == reflect.Struct && !isIgnored(f) {
			visit(v, join(path, name), fn)
		}
	}
}

// paths lists the keys that have an effect, sections included.
func paths() []string {
	var list []string
	visit(reflect.ValueOf(&Config{}).Elem(), "", func(path string, f reflect.StructField, _ reflect.Value) {
		if !isIgnored(f) {
			list = append(list, path)
		}
	})
	return list
}

// variable names the environment variable of a key, or "".
func variable(path string) string {
	if path == "server.debug_file" {
		path = "server.debug" // DEBUG sets both (spec §5.4)
	}
	for f := range reflect.TypeFor[variables]().Fields() {
		if f.Tag.Get("key") == path {
			return f.Tag.Get("env")
		}
	}
	return ""
}

// flagOf names the flag of a key, or "" (spec §5.5).
func flagOf(path string) string {
	switch path {
	case "model_profiles.answer.model":
		return "--model"
	case "server.debug", "server.debug_file":
		return "--debug"
	}
	return ""
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.Bool:
		return "boolean"
	case reflect.Int:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Slice:
		return "array"
	case reflect.Map, reflect.Struct:
		return "object"
	}
	return "string"
}

// literal writes a default as YAML and JSON both have it.
func literal(v reflect.Value) string {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.FormatBool(v.Bool())
	case reflect.Int:
		return strconv.FormatInt(v.Int(), 10)
	case reflect.Float64:
		return strconv.FormatFloat(v.Float(), 'g', -1, 64)
	case reflect.Slice:
		return "[]"
	case reflect.Map:
		return "{}"
	}
	if v.String() == "" {
		return "null"
	}
	return strings.TrimSpace(v.String())
}
