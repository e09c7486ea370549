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

	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// format is a check that the tag format names.
type format struct {
	pattern *regexp.Regexp // the JSON Schema has it, too; nil if the value has no pattern
	allowed string         // what is allowed, in words that follow "is not"
}

// word is text without white space and quotes.
var word = regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]*$`)

var formats = map[string]format{
	"variable": {
		regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`),
		"the name of an environment variable (the variable holds the key, this file does not)",
	},
	"url": {
		regexp.MustCompile(`^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]`),
		"an absolute http or https URL",
	},
	"model": {
		regexp.MustCompile(`^[^\s"'\x00-\x1f\x7f]+$`),
		"a model id",
	},
	"country": {
		regexp.MustCompile(`^([A-Za-z]{2})?$`),
		"a two-letter country code",
	},
	"path": {
		regexp.MustCompile(`^[^\x00-\x1f\x7f]*$`),
		"a path (in double quotes a backslash starts an escape, use single quotes)",
	},
	"0 or":           {nil, "0 or"}, // the bounds follow
	"id":             {word, "an id"},
	"word":           {word, "a word"},
	"timezone":       {nil, "an IANA time zone"},
	"timezone|local": {nil, "an IANA time zone or local"},
	"hosts":          {nil, "a list of host names"},
	"ms":             {nil, "a number of milliseconds"},
	"headers":        {nil, "a flat mapping of header names to values"},
}

// check returns what is wrong with the value of a key.
func check(f field) (problems []string) {
	valid := true
	switch v := f.value.Interface().(type) {
	case map[string]string:
		return checkHeaders(v)
	case map[string]any:
		_, err := json.Marshal(v)
		if err != nil {
			problems = append(problems, err.Error())
		}
	case []string:
		for _, host := range v {
			if !text.IsHostName(host) {
				problems = append(problems, shown(f, host)+" is not a host name")
			}
		}
	case int:
		valid = inBounds(f.Tag, float64(v))
	case float64:
		valid = inBounds(f.Tag, v)
	case string:
		valid = isAllowed(f.Tag, v)
	}

	if !valid {
		problems = append(problems, notAllowed(f, f.value.Interface()))
	}
	return problems
}

// inBounds reports whether a number is finite and between the tags min and max, or the 0 that its
// format takes.
func inBounds(tag reflect.StructTag, x float64) bool {
	if tag.Get("format") == "0 or" && x == 0 {
		return true
	}
	low, _ := strconv.ParseFloat(tag.Get("min"), 64)
	high, _ := strconv.ParseFloat(cmp.Or(tag.Get("max"), "1e308"), 64)

	return low <= x && x <= high
}

// isAllowed reports whether a string is one of the words of the tag enum, or has the format of the
// tag format.
func isAllowed(tag reflect.StructTag, s string) bool {
	words, isEnum := tag.Lookup("enum")
	if isEnum {
		return slices.Contains(strings.Split(words, "|"), s)
	}

	name := tag.Get("format")
	pattern := formats[name].pattern
	if pattern != nil && !pattern.MatchString(s) {
		return false
	}

	switch name {
	case "url":
		u, err := url.Parse(s)
		return err == nil && u.Hostname() != ""
	case "variable":
		hasDigit := strings.ContainsAny(s, "0123456789")
		hasLower := s != strings.ToUpper(s)
		return len(s) < 20 || !hasDigit || !hasLower // else it may be the key itself
	case "timezone", "timezone|local":
		_, err := time.LoadLocation(s)
		isLocal := s == "local" && name == "timezone|local"
		return isLocal || err == nil && s != "Local"
	}
	return true
}

// allowed says what a key takes.
func allowed(f field) string {
	enum := f.Tag.Get("enum")
	if enum != "" {
		return "one of " + strings.ReplaceAll(strings.TrimSuffix(enum, "|"), "|", ", ")
	}

	kinds := map[string]string{
		"bool":    "true or false",
		"int":     "a whole number",
		"float64": "a number",
		"string":  "a string",
		"map":     "a mapping",
		"struct":  "a mapping",
	}
	words := cmp.Or(formats[f.Tag.Get("format")].allowed, kinds[f.Type.Kind().String()])

	low := f.Tag.Get("min")
	high := f.Tag.Get("max")
	switch {
	case high != "":
		words += " in " + low + ".." + high
	case low != "":
		words += " of at least " + low
	}
	return words
}

// notAllowed says that a value is not what its key takes.
func notAllowed(f field, v any) string {
	takes := allowed(f)
	_, isWholeNumber := v.(int)
	if isWholeNumber {
		takes = strings.Replace(takes, "a whole number in", "in", 1)
	}
	return shown(f, v) + " is not " + takes
}

// shown returns a value for a message. It does not repeat what could be a secret.
func shown(f field, v any) string {
	switch v := v.(type) {
	case string:
		name := f.Tag.Get("format")
		urlWithSecret := name == "url" && strings.ContainsAny(v, "@?")
		if name == "variable" || name == "headers" || urlWithSecret {
			return redact.Redacted
		}
		return strconv.Quote(text.Truncate(v, 80))
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	return fmt.Sprint(v)
}
