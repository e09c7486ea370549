package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"

	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// field is a key of the file with the struct field that holds it.
type field struct {
	reflect.StructField
	key      string // policy.max_citations
	variable string // variable that sets only this key, or ""
	from     string // key whose value it gets if no profile sets it, or ""
	value    reflect.Value
}

// isSection reports whether the key has keys below it.
func (f field) isSection() bool {
	return f.Type.Kind() == reflect.Struct || f.Type == reflect.TypeFor[ModelProfiles]()
}

// appendFields appends the keys below a section in the order of the structs, sections before their
// members.
func appendFields(list []field, section field) []field {
	add := func(member reflect.StructField, value reflect.Value) {
		name := member.Tag.Get("yaml")
		if name == "" {
			return
		}

		f := field{
			StructField: member,
			key:         join(section.key, name),
			from:        member.Tag.Get("from"),
			value:       value,
		}
		if section.from != "" {
			f.from = join(section.from, name)
		}
		if f.from == "" {
			f.variable = cmp.Or(member.Tag.Get("env"), section.Tag.Get(name)) // see profileOf
		}
		list = append(list, f)
		if f.isSection() {
			list = appendFields(list, f)
		}
	}

	profiles, ok := reflect.TypeAssert[ModelProfiles](section.value)
	if ok {
		for _, tool := range call.Tools {
			add(profileOf(tool), reflect.ValueOf(profiles[tool.Name]).Elem())
		}
		return list
	}
	for _, member := range reflect.VisibleFields(section.value.Type()) { // also of embedded structs
		add(member, section.value.FieldByIndex(member.Index))
	}
	return list
}

// profileKey returns the key of the profile of a tool.
func profileKey(tool string) string { return "model_profiles." + tool }

// join returns the key of a name within a section, which is "" for the whole file.
func join(section, name string) string {
	return strings.TrimPrefix(section+"."+name, ".")
}

// effective returns the value of a key as the file would have it, without secrets. For an empty
// string it is nil.
func effective(f field) any {
	s, ok := reflect.TypeAssert[string](f.value)
	switch {
	case !ok:
		return f.value.Interface()
	case s == "":
		return nil
	case f.key == "openai.base_url":
		return BareURL(s)
	case f.key == "responses.stream" && s != "auto":
		return s == "true"
	}
	return s
}

// BareURL returns a URL without user, password and query. Load has checked the URL.
func BareURL(s string) string {
	u, _ := url.Parse(s)
	bare := url.URL{
		Scheme:  u.Scheme,
		Host:    u.Host,
		Path:    u.Path,
		RawPath: u.RawPath, // else %2F would become a slash
	}

	return bare.String()
}

// IsSet reports whether a variable or a flag sets a key, or the file sets it to another value than
// the default: config.yaml.example, which people copy, has all defaults.
func (c *Config) IsSet(key string) bool {
	if !c.isInFile(key) {
		return c.origins[key] != "default"
	}
	f := c.byKey[key]
	zero := fmt.Sprint(reflect.Zero(f.Type))
	return fmt.Sprint(f.value) != cmp.Or(f.Tag.Get("default"), zero)
}

// isInFile reports whether the value of a key comes from the file.
func (c *Config) isInFile(key string) bool {
	return strings.HasPrefix(c.origins[key], c.File+":")
}

// FileVariables returns the variables of the keys that the file sets (IsSet).
func (c *Config) FileVariables() (variables []string) {
	for key, f := range c.byKey {
		if c.isInFile(key) && c.IsSet(key) {
			variables = append(variables, f.variable)
		}
	}
	return variables
}

// jsonString matches a string of a JSON document. Outside of strings there are no secrets, but
// perhaps the same word, such as null.
var jsonString = text.LazyRegexp(`"(?:[^"\\]|\\.)*"`)

// Show returns the output of --show-config (spec §5.5), as indented JSON with a line feed: version,
// sources, the origin of each key and the effective values. Of the API key and the headers it shows
// only whether they are set. Then come the store of the quotas, unless it is nil, and the warnings
// that are not empty.
func (c *Config) Show(version string, store any, warnings ...string) []byte {
	doc := []byte(`{"version":"","sources":{"defaults":true,"yaml":null,"env":[],"cli":[]}}`)
	set := func(path string, v any) {
		raw, _ := jsonx.Marshal(v)                 // Load has checked the values
		doc, _ = sjson.SetRawBytes(doc, path, raw) // the paths are valid
	}

	set("version", version)
	if c.File != "" {
		set("sources.yaml", c.File)
	}
	set("sources.env", c.usedVariables)
	set("sources.cli", c.usedFlags)
	set("origins", c.origins)

	for _, key := range c.SettingKeys {
		set("effective."+key, effective(c.byKey[key]))
	}
	headers := map[string]string{}
	for name := range c.OpenAI.Headers {
		headers[name] = "[set]"
		if c.SentHeaders[name] == "" {
			headers[name] = "[not set]"
		}
	}
	set("effective.openai.headers", headers)
	set("effective.openai.api_key_set", c.HasCredential)
	if store != nil {
		set("store", store)
	}
	for _, warning := range warnings {
		if warning != "" {
			set("warnings.-1", warning)
		}
	}

	indented, _ := jsonx.MarshalIndent(json.RawMessage(doc), "  ") // doc is valid
	redactor := redact.New(c.Secrets...)
	redacted := jsonString().ReplaceAllStringFunc(string(indented), redactor.Redact)

	return []byte(redacted + "\n")
}
