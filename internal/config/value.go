package config

import (
	"fmt"
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

// check returns what is wrong with a value, in words that follow the value, or "".
// For a list the words include the wrong item.
func check(f reflect.StructField, v reflect.Value) string {
	tag, fine := f.Tag, true
	switch v.Kind() {
	case reflect.Int, reflect.Float64:
		x, _ := v.Convert(reflect.TypeFor[float64]()).Interface().(float64)
		low, _ := strconv.ParseFloat(tag.Get("min"), 64)
		high, err := strconv.ParseFloat(tag.Get("max"), 64)
		if err != nil {
			high = 1e300 // not infinity
		}
		if fine = x >= low && x <= high; !fine && err == nil {
			return "is not in " + tag.Get("min") + ".." + tag.Get("max")
		}
	case reflect.Slice:
		for _, host := range v.Interface().([]string) {
			if !answer.IsHostName(host) {
				return fmt.Sprintf("%q is not a host name", text.Truncate(host, 80))
			}
		}
	case reflect.String:
		s := v.String()
		if words, ok := tag.Lookup("enum"); ok {
			fine = slices.Contains(strings.Split(words, "|"), s)
		}
		if p := formats[tag.Get("format")].pattern; p != nil {
			fine = p.MatchString(s)
		}
		switch tag.Get("format") {
		case "variable":
			fine = fine && !keyShaped(s)
		case "url":
			u, err := url.Parse(s)
			fine = fine && err == nil && u.Hostname() != ""
		case "timezone":
			_, err := time.LoadLocation(s)
			fine = err == nil && s != "Local"
		}
	}
	if fine {
		return ""
	}
	return "is not " + allowed(f)
}

// keyShaped reports whether the name of a variable looks like an API key that was
// put in its place: it has a long part of small letters and digits.
func keyShaped(name string) bool {
	for part := range strings.SplitSeq(name, "_") {
		if len(part) >= 16 && strings.ContainsAny(part, "0123456789") && part != strings.ToUpper(part) {
			return true
		}
	}
	return false
}

// allowed says what a key takes.
func allowed(f reflect.StructField) string {
	if words := f.Tag.Get("enum"); words != "" {
		return "one of " + strings.ReplaceAll(strings.TrimSuffix(words, "|"), "|", ", ")
	}
	if words := formats[f.Tag.Get("format")].allowed; words != "" {
		return words
	}
	words := map[reflect.Kind]string{
		reflect.Bool: "true or false", reflect.Int: "a whole number", reflect.Float64: "a number", reflect.Map: "a mapping", reflect.String: "a string",
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
func shown(f reflect.StructField, value string, quote bool) string {
	format := f.Tag.Get("format")
	if format == "variable" || format == "headers" || format == "url" && strings.ContainsAny(value, "@?") {
		return redacted
	}
	if value = text.Truncate(value, 80); quote {
		return strconv.Quote(value)
	}
	return value
}

// unknown says what to write instead of a key that does not exist.
func (l *loader) unknown(path, name string) string {
	want := squeeze(name)
	if strings.HasSuffix(want, "apikey") || want == "token" {
		return "the API key is read from the environment only (openai.api_key_env names the variable)"
	}
	// The nearest key has at most a third of the letters wrong, or is longer by a
	// word, or has the same name in another section.
	best, nearest, names := 0.34, "", []string{}
	for _, f := range l.list {
		section, last := split(f.key)
		if section == path {
			names = append(names, last)
		}
		score, have := 1.0, squeeze(last)
		switch {
		case have == want:
			score = 0.1
		case section == path && len(want) >= 3 && (strings.HasPrefix(have, want) || strings.HasSuffix(have, want)):
			score = 0.33
		case section == path && len(want) < 60:
			score = float64(levenshtein.ComputeDistance(have, want)) / float64(max(len(have), len(want)))
		}
		if score < best {
			best, nearest = score, f.key
		}
	}
	if nearest != "" {
		return "unknown key, did you mean " + nearest + "?"
	}
	return "unknown key, the keys here are " + strings.Join(names, ", ")
}

// squeeze makes the spellings of a name equal: timeoutMs, timeout-ms, timeout_ms.
func squeeze(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(name))
}
