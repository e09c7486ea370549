package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// field is a key of the file with the struct field that holds it.
type field struct {
	reflect.StructField
	key      string // policy.max_citations
	variable string // that sets the key alone, or ""
	value    reflect.Value
}

func (f field) section() bool { return f.Type.Kind() == reflect.Struct }

// fields lists the keys of a section in the order of the structs, sections before their members.
func fields(section field) (list []field) {
	for f, v := range section.value.Fields() {
		if name := f.Tag.Get("yaml"); name != "" {
			key := field{f, join(section.key, name), cmp.Or(f.Tag.Get("env"), section.Tag.Get(name)), v}
			list = append(list, key)
			if key.section() {
				list = append(list, fields(key)...)
			}
		}
	}
	return list
}

// join returns the key of a name within a section.
func join(path, name string) string { return strings.TrimPrefix(path+"."+name, ".") }

// effective returns the value of a key as the file would have it, without what is secret in it. A
// string that is not set is nil.
func effective(f field) any {
	s, isString := reflect.TypeAssert[string](f.value)
	switch {
	case isString && s == "":
		return nil
	case f.key == "openai.base_url":
		return BareURL(s)
	case f.key == "responses.stream" && s != "auto":
		return s == "true"
	}
	return f.value.Interface()
}

// BareURL returns a URL that Load has checked, without user, password and query.
func BareURL(s string) string {
	u, _ := url.Parse(s)
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}

// Show returns what --show-config prints (spec §5.5): version, sources, where each key comes from
// and the effective values, as indented JSON with a line feed. Of the API key and of the headers it
// shows only whether they are set.
func (c *Config) Show(version string) []byte {
	doc := []byte(`{"version":"","sources":{"defaults":true,"yaml":null,"env":[],"cli":[]}}`)
	set := func(path string, v any) {
		raw, _ := jsonx.Marshal(v)                 // checked
		doc, _ = sjson.SetRawBytes(doc, path, raw) // the paths are valid
	}
	set("version", version)
	if c.File != "" {
		set("sources.yaml", c.File)
	}
	set("sources.env", c.variables)
	set("sources.cli", c.flags)
	set("origins", c.origins)
	for _, f := range c.fields {
		if !f.section() {
			set("effective."+f.key, effective(f))
		}
	}
	set("effective.openai.api_key_set", c.KeySet)
	headers := map[string]string{}
	for name := range c.OpenAI.Headers {
		headers[name] = "[set]"
		if c.SentHeaders[name] == "" {
			headers[name] = "[not set]"
		}
	}
	set("effective.openai.headers", headers)
	indented, _ := jsonx.MarshalIndent(json.RawMessage(doc), "  ") // doc is valid
	return []byte(redact.New(c.Secrets...).Redact(string(indented)) + "\n")
}

// word is text without white space and quotes.
var word = regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]*$`)

// formats are the checks that the tag format names: a pattern, which the JSON Schema has too, and
// what is allowed in words that follow "is not".
var formats = map[string]struct {
	pattern *regexp.Regexp
	allowed string
}{
	"variable": {regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`),
		"the name of an environment variable (the variable holds the key, this file does not)"},
	"url":     {regexp.MustCompile(`^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]`), "an absolute http or https URL"},
	"id":      {word, "an id"},
	"model":   {regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]+$`), "a model id"},
	"country": {regexp.MustCompile(`^([A-Za-z]{2})?$`), "a two-letter country code"},
	"path": {regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`),
		"a path (in double quotes a backslash starts an escape, use single quotes)"},
	"word":           {word, "a word"},
	"timezone":       {nil, "an IANA time zone"},
	"timezone|local": {nil, "an IANA time zone or local"},
	"hosts":          {nil, "a list of host names"},
	"headers":        {nil, "a mapping of header names to values"},
}

// check returns what is wrong with the value of a key.
func check(f field) []string {
	fine, format := true, f.Tag.Get("format")
	switch v := f.value.Interface().(type) {
	case int, float64:
		x := f.value.Convert(reflect.TypeFor[float64]()).Float()
		low, _ := strconv.ParseFloat(f.Tag.Get("min"), 64)
		high, _ := strconv.ParseFloat(cmp.Or(f.Tag.Get("max"), "1e308"), 64) // finite
		fine = low <= x && x <= high
	case []string:
		for _, host := range v {
			if !text.IsHostName(host) {
				return []string{strconv.Quote(text.Truncate(host, 80)) + " is not a host name"}
			}
		}
	case map[string]string:
		return checkHeaders(v)
	case map[string]any:
		if _, err := json.Marshal(v); err != nil {
			return []string{"cannot be written as JSON: " + strings.TrimPrefix(err.Error(), "json: ")}
		}
	case string:
		if words, ok := f.Tag.Lookup("enum"); ok {
			fine = slices.Contains(strings.Split(words, "|"), v)
		}
		if p := formats[format].pattern; p != nil {
			fine = p.MatchString(v)
		}
		switch format {
		case "url":
			u, err := url.Parse(v)
			fine = fine && err == nil && u.Hostname() != ""
		case "variable": // a key in its place may have the form of a name
			fine = fine && (len(v) < 20 || !strings.ContainsAny(v, "0123456789") || v == strings.ToUpper(v))
		case "timezone", "timezone|local":
			_, err := time.LoadLocation(v)
			fine = err == nil && v != "Local" || format == "timezone|local" && v == "local"
		}
	}
	if fine {
		return nil
	}
	return []string{wrong(f, f.value.Interface())}
}

// allowed says what a key takes.
func allowed(f field) string {
	if words := f.Tag.Get("enum"); words != "" {
		return "one of " + strings.ReplaceAll(strings.TrimSuffix(words, "|"), "|", ", ")
	}
	kinds := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Float64: "a number",
		reflect.String: "a string", reflect.Map: "a mapping", reflect.Struct: "a mapping",
	}
	words := cmp.Or(formats[f.Tag.Get("format")].allowed, kinds[f.Type.Kind()])
	low, high := f.Tag.Get("min"), f.Tag.Get("max")
	switch {
	case high != "":
		words += " in " + low + ".." + high
	case low != "":
		words += " of at least " + low
	}
	return words
}

// wrong says that a value is not what its key takes. It does not repeat what could be a secret.
func wrong(f field, v any) string {
	shown, takes := fmt.Sprint(v), allowed(f)
	s, quoted := v.(string)
	format, kind := f.Tag.Get("format"), reflect.ValueOf(v).Kind()
	switch {
	case format == "variable", format == "headers", format == "url" && strings.ContainsAny(s, "@?"):
		shown = redact.Redacted
	case quoted:
		shown = strconv.Quote(text.Truncate(s, 80))
	case kind == reflect.Map:
		shown = "a mapping"
	case kind == reflect.Slice:
		shown = "a list"
	case kind == reflect.Int && f.Tag.Get("max") != "":
		takes = strings.TrimPrefix(takes, "a whole number ")
	}
	return shown + " is not " + takes
}
