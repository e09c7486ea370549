package config

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strings"

	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// field is a key of the file with the struct field that holds it.
type field struct {
	reflect.StructField
	key   string // policy.max_citations
	value reflect.Value
}

// fields lists the keys below path in the order of the structs, sections before
// their members.
func fields(section reflect.Value, path string) []field {
	var list []field
	for f, v := range section.Fields() {
		name := f.Tag.Get("yaml")
		if name == "" || name == "-" {
			continue
		}
		list = append(list, field{f, join(path, name), v})
		if f.Type.Kind() == reflect.Struct {
			list = append(list, fields(v, join(path, name))...)
		}
	}
	return list
}

// join returns the key of a name within a section.
func join(path, name string) string {
	if name == "" {
		name = `""`
	}
	return strings.TrimPrefix(path+"."+name, ".")
}

// split is the reverse of join.
func split(key string) (path, name string) {
	i := strings.LastIndexByte(key, '.')
	return key[:max(i, 0)], key[i+1:]
}

// Key describes a key of the file.
type Key struct {
	Path    string // policy.max_citations
	Section bool   // it has members, and only Path and Doc are set
	Default string // as YAML
	Allowed string // "a whole number in 1..10"
	Env     string // variable that sets it, or ""
	Flag    string // flag that sets it, or ""
	Doc     string
	Ignored string // why it has no effect, or ""
}

// Keys lists every key in the order of the structs, sections before their
// members, and then the keys without effect.
func Keys() []Key {
	variables := map[string]string{"server.debug_file": "DEBUG"}
	for f := range reflect.TypeFor[environment]().Fields() {
		variables[f.Tag.Get("key")] = f.Tag.Get("env")
	}
	flags := map[string]string{"model_profiles.answer.model": "--model", "server.debug": "--debug", "server.debug_file": "--debug"}
	var list []Key
	for _, f := range fields(reflect.ValueOf(defaults()).Elem(), "") {
		k := Key{Path: f.key, Section: f.Type.Kind() == reflect.Struct, Doc: f.Tag.Get("doc")}
		if !k.Section {
			value, _ := json.Marshal(effective(f))
			k.Default = strings.Trim(string(value), `"`)
			k.Allowed, k.Env, k.Flag = allowed(f.StructField), variables[f.key], flags[f.key]
		}
		list = append(list, k)
	}
	for _, key := range slices.Sorted(maps.Keys(ignored)) {
		list = append(list, Key{Path: key, Ignored: ignored[key]})
	}
	return list
}

// effective returns the value of a key as the file would have it, without what is
// secret in it. A string that is not set is nil.
func effective(f field) any {
	switch s, isString := f.value.Interface().(string); {
	case isString && s == "":
		return nil
	case f.key == "openai.base_url":
		u, err := url.Parse(s)
		if err != nil { // checked before
			return nil
		}
		u.User, u.RawQuery, u.Fragment = nil, "", ""
		return u.String()
	case f.key == "responses.stream" && s != "auto":
		return s == "true"
	}
	return f.value.Interface()
}

// Show returns what --show-config prints (spec §5.5): version, sources, where each
// key comes from and the effective values, as indented JSON with a line feed. Of
// the API key and of the headers it shows only whether they are set.
func (c *Config) Show(version string) []byte {
	h := c.hidden
	doc := []byte("{}")
	set := func(path string, v any) {
		raw, err := unescaped.JSON(v)
		if err == nil {
			doc, _ = sjson.SetRawBytes(doc, path, raw) // the paths are valid
		}
	}
	set("version", version)
	set("sources.defaults", true)
	set("sources.yaml", nil)
	if h.file != "" {
		set("sources.yaml", h.file)
	}
	set("sources.env", append([]string{}, h.env...))
	set("sources.cli", append([]string{}, h.cli...))
	all := fields(reflect.ValueOf(c).Elem(), "")
	for _, f := range all {
		if source := c.Origin(f.key); source != "" {
			set("origins."+strings.ReplaceAll(f.key, ".", `\.`), source)
		}
	}
	for _, f := range all {
		switch {
		case f.Type.Kind() == reflect.Struct:
		case f.key == "openai.headers":
			headers := map[string]string{}
			for _, head := range h.headers {
				headers[head.name] = map[bool]string{true: "[set]", false: "[not set]"}[head.value != ""]
			}
			set("effective."+f.key, headers)
		default:
			set("effective."+f.key, effective(f))
		}
		if f.key == "openai.api_key_env" {
			set("effective.openai.api_key_set", h.keySet)
		}
	}
	var b bytes.Buffer
	if err := json.Indent(&b, doc, "", "  "); err != nil {
		return doc
	}
	b.WriteByte('\n')
	return []byte(logging.NewRedactor(c.Secrets()...).Redact(b.String()))
}

// Origin returns where the value of a key comes from: "default", the file and
// line ("config.yaml:12"), a variable (MODEL_ANSWER) or a flag (--model). An
// inherited key of a profile has the origin of the key of answer. It returns ""
// for sections and unknown keys.
func (c *Config) Origin(key string) string { return c.hidden.origin[key] }
