package config

import (
	"reflect"
	"slices"
)

// Show returns what --show-config prints (spec §5.5): the version, the sources
// that were used, and the effective values in the shape of the YAML file, as
// JSON with an indent of two blanks and a line feed at the end. Profiles are
// shown as they came out. Secrets are replaced by [redacted]; of the API key it
// shows whether there is one.
func (c *Config) Show(version string) []byte {
	var file any
	if c.file != "" {
		file = c.file
	}
	shown := object{
		{"version", version},
		{"sources", object{
			{"defaults", true},
			{"yaml", file},
			{"env", append([]string{}, c.env...)},
			{"cli", append([]string{}, c.cli...)},
		}},
		{"effective", c.section(reflect.ValueOf(c).Elem(), "")},
	}.indented()
	return []byte(hide(string(shown), c.Secrets()))
}

// section shows a struct in the order of its fields.
func (c *Config) section(section reflect.Value, path string) object {
	o := object{}
	for name, f := range members(section.Type()) {
		v, key := section.FieldByIndex(f.Index), join(path, name)
		switch {
		case isIgnored(f):
		case f.Type.Kind() == reflect.Struct:
			o = append(o, member{name, c.section(v, key)})
		case key == headersKey:
			o = append(o, member{name, c.shownHeaders()})
		case key == "openai.api_key_env":
			o = append(o, member{name, effective(key, v)}, member{"api_key_set", c.APIKey() != ""})
		default:
			o = append(o, member{name, effective(key, v)})
		}
	}
	return o
}

// effective shows one value: as in YAML, with null for what is not set.
func effective(key string, v reflect.Value) any {
	switch v.Kind() {
	case reflect.Slice:
		return append([]string{}, v.Interface().([]string)...)
	case reflect.Map:
		return redactAny(v.Interface())
	case reflect.String:
		return effectiveString(key, v.String())
	}
	return v.Interface()
}

func effectiveString(key, s string) any {
	switch {
	case s == "":
		return nil
	case key == "openai.base_url":
		return redactURL(s)
	case key == "responses.stream" && s != "auto":
		return s == "true"
	}
	return redact(s)
}

// Origin returns where the value of a key came from: "default",
// "config.yaml:12" (the path as given or found), the name of a variable such
// as MODEL_ANSWER, or a flag such as --model. A profile's key that was
// inherited has the origin of the key of answer. Unknown keys give "".
func (c *Config) Origin(key string) string {
	if source, ok := c.origin[key]; ok {
		return source
	}
	if slices.Contains(paths(), key) {
		return "default"
	}
	return ""
}
