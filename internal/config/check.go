package config

import (
	"encoding/json"
	"fmt"
	"math"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/agnivade/levenshtein"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// formats are the checks that the tag format names: a pattern, which the JSON
// Schema has too, and what is allowed in words that follow "is not".
var formats = map[string]struct {
	pattern *regexp.Regexp
	allowed string
}{
	"variable": {regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`), "the name of an environment variable (the variable holds the key, this file does not)"},
	"url":      {regexp.MustCompile(`^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]`), "an absolute http or https URL"},
	"id":       {regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]*$`), "an id"},
	"model":    {regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]+$`), "a model id"},
	"country":  {regexp.MustCompile(`^([A-Za-z]{2})?$`), "a two-letter country code"},
	"path":     {regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`), "a path (in double quotes a backslash starts an escape, use single quotes)"},
	"timezone": {nil, "an IANA time zone"},
	"hosts":    {nil, "a list of host names"},
	"headers":  {nil, "a mapping of header names to values"},
}

// check returns what is wrong with the value of a key, or "".
func check(f field) string {
	fine, tag, v := true, f.Tag, f.value.Interface()
	switch v := v.(type) {
	case int, float64:
		x := f.value.Convert(reflect.TypeFor[float64]()).Float()
		low, _ := strconv.ParseFloat(tag.Get("min"), 64)
		high, err := strconv.ParseFloat(tag.Get("max"), 64)
		if err != nil {
			high = math.MaxFloat64 // not infinity
		}
		if fine = low <= x && x <= high; !fine && err == nil {
			return fmt.Sprintf("%v is not in %s..%s", v, tag.Get("min"), tag.Get("max"))
		}
	case []string:
		for _, host := range v {
			if !answer.IsHostName(host) {
				return shown(f, host) + " is not a host name"
			}
		}
	case map[string]any:
		if _, err := json.Marshal(v); err != nil {
			return "cannot be written as JSON: " + strings.TrimPrefix(err.Error(), "json: ")
		}
	case string:
		if words, ok := tag.Lookup("enum"); ok {
			fine = slices.Contains(strings.Split(words, "|"), v)
		}
		if p := formats[tag.Get("format")].pattern; p != nil {
			fine = p.MatchString(v)
		}
		switch tag.Get("format") {
		case "url":
			u, err := url.Parse(v)
			fine = fine && err == nil && u.Hostname() != ""
		case "timezone":
			_, err := time.LoadLocation(v)
			fine = err == nil && v != "Local"
		}
	}
	if fine {
		return ""
	}
	return wrong(f, v)
}

// wrong says that a value is not what its key takes.
func wrong(f field, v any) string { return shown(f, v) + " is not " + allowed(f) }

// allowed says what a key takes.
func allowed(f field) string {
	if words := f.Tag.Get("enum"); words != "" {
		return "one of " + strings.ReplaceAll(strings.TrimSuffix(words, "|"), "|", ", ")
	}
	if words := formats[f.Tag.Get("format")].allowed; words != "" {
		return words
	}
	words := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Map: "a mapping", reflect.Struct: "a mapping", reflect.String: "a string",
	}[f.Type.Kind()]
	switch low, high := f.Tag.Get("min"), f.Tag.Get("max"); {
	case high != "":
		words += " in " + low + ".." + high
	case low != "":
		words += " of at least " + low
	}
	return words
}

// shown formats a value for a message, without what could be a secret in it.
func shown(f field, v any) string {
	s, quoted := v.(string)
	format := f.Tag.Get("format")
	switch {
	case format == "variable", format == "headers", format == "url" && strings.ContainsAny(s, "@?"):
		return redacted
	case quoted:
		return strconv.Quote(text.Truncate(s, 80))
	case reflect.TypeOf(v).Kind() == reflect.Map:
		return "a mapping"
	case reflect.TypeOf(v).Kind() == reflect.Slice:
		return "a list"
	}
	return fmt.Sprint(v)
}

// unknown says what to write in place of a key that does not exist: the nearest
// key of the section, the same name in another section, or the keys that there are.
func (l *loader) unknown(path, name string) string {
	if strings.HasSuffix(strings.ToLower(strings.ReplaceAll(name, "_", "")), "apikey") {
		return "the API key is read from the environment only (openai.api_key_env names the variable)"
	}
	nearest, least, names := "", math.MaxInt, []string{}
	for _, f := range l.list {
		known := f.Tag.Get("yaml")
		distance := levenshtein.ComputeDistance(name, known)
		if join(path, known) == f.key {
			names = append(names, known)
		} else if distance > 0 {
			continue
		}
		if distance < least && (3*distance <= len(known) || len(name) > 3 && strings.Contains(known, name)) {
			nearest, least = f.key, distance
		}
	}
	if nearest != "" {
		return "unknown key, did you mean " + nearest + "?"
	}
	return "unknown key, the keys here are " + strings.Join(names, ", ")
}
