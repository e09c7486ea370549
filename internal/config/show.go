package config

import (
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

func (f field) section() bool { return f.Type.Kind() == reflect.Struct }

// fields lists the keys below path in the order of the structs, sections before
// their members.
func fields(section reflect.Value, path string) (list []field) {
	for f, v := range section.Fields() {
		if name := f.Tag.Get("yaml"); name != "" && name != "-" {
			list = append(list, field{f, join(path, name), v})
			if f.Type.Kind() == reflect.Struct {
				list = append(list, fields(v, join(path, name))...)
			}
		}
	}
	return list
}

// join returns the key of a name within a section.
func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

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
func Keys() (list []Key) {
	variables := map[string]string{"server.debug": "DEBUG", "server.debug_file": "DEBUG"}
	for f := range reflect.TypeFor[environment]().Fields() {
		variables[f.Tag.Get("key")] = f.Tag.Get("env")
	}
	flags := map[string]string{"model_profiles.answer.model": "--model", "server.debug": "--debug", "server.debug_file": "--debug"}
	for _, f := range fields(reflect.ValueOf(defaults()).Elem(), "") {
		k := Key{Path: f.key, Section: f.section(), Doc: f.Tag.Get("doc"), Env: variables[f.key], Flag: flags[f.key]}
		if !k.Section {
			value, _ := json.Marshal(effective(f))
			k.Default, k.Allowed = strings.Trim(string(value), `"`), allowed(f)
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
		return BareURL(s)
	case f.key == "responses.stream" && s != "auto":
		return s == "true"
	}
	return f.value.Interface()
}

// BareURL returns a URL without user, password and query, or "" if it is not one.
func BareURL(s string) string {
	u, err := url.Parse(s)
	if err != nil {
		return ""
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Show returns what --show-config prints (spec §5.5): version, sources, where each
// key comes from and the effective values, as indented JSON with a line feed. Of
// the API key and of the headers it shows only whether they are set.
func (c *Config) Show(version string) []byte {
	doc := []byte("{}")
	set := func(path string, v any) {
		if raw, err := unescaped.JSON(v); err == nil {
			doc, _ = sjson.SetRawBytes(doc, path, raw) // the paths are valid
		}
	}
	set("version", version)
	set("sources", json.RawMessage(`{"defaults":true,"yaml":null,"env":[],"cli":[]}`))
	if c.File != "" {
		set("sources.yaml", c.File)
	}
	for _, name := range c.used {
		set(map[bool]string{true: "sources.cli.-1", false: "sources.env.-1"}[name[0] == '-'], name)
	}
	set("origins", c.origins)
	for _, f := range fields(reflect.ValueOf(c).Elem(), "") {
		switch {
		case f.section():
		case f.key == "openai.headers":
			set("effective.openai.api_key_set", c.KeySet)
			headers := map[string]string{}
			for name := range c.OpenAI.Headers {
				headers[name] = map[bool]string{true: "[set]", false: "[not set]"}[c.SentHeaders[name] != ""]
			}
			set("effective.openai.headers", headers)
		default:
			set("effective."+f.key, effective(f))
		}
	}
	indented, _ := unescaped.Indented(json.RawMessage(doc), "  ") // doc is valid
	return []byte(logging.NewRedactor(c.Secrets...).Redact(string(indented)) + "\n")
}
