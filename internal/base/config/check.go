package config

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// check returns what is wrong with the value of a key.
func check(f field) (problems []string) {
	valid := true
	switch v := f.value.Interface().(type) {
	case map[string]string:
		return checkHeaders(v)
	case Prices:
		return checkPrices(v)
	case map[string]any:
		_, err := json.Marshal(v)
		if err != nil {
			problems = append(problems, err.Error())
		}
		if strings.HasSuffix(f.key, "search.extra") { // perhaps of a profile
			problems = append(problems, checkFilters(v["filters"])...)
			typ, hasType := v["type"]
			if word, _ := typ.(string); hasType && word == "" {
				problems = append(problems, "type is not a text")
			}
		}
	case []string:
		for _, host := range v {
			if !text.IsHostName(host) {
				problems = append(problems, describeValue(f, host)+" is not a host name")
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
		problems = append(problems, describeNotAllowed(f, f.value.Interface()))
	}
	return problems
}

// checkFilters returns what is wrong with the form of the filters of search.extra. In another form
// they would not be merged with the domains of other keys and of a question.
func checkFilters(filters any) (problems []string) {
	members, isMapping := filters.(map[string]any)
	if filters != nil && !isMapping {
		return []string{"filters is not a mapping"}
	}
	for _, name := range []string{"allowed_domains", "blocked_domains"} {
		_, isList := members[name].([]any)
		if members[name] != nil && !isList {
			problems = append(problems,
				"filters."+name+" is not a list of host names, such as [go.dev]")
		}
	}
	return problems
}

// priceNames are the keys of the prices of a model. A model with prices needs the first two.
var priceNames = []string{"input", "output", "cached_input", "cache_write", "search"}

// checkPrices returns what is wrong with prices.
func checkPrices(prices Prices) (problems []string) {
	add := func(format string, args ...any) {
		problems = append(problems, fmt.Sprintf(format, args...))
	}
	for _, model := range slices.Sorted(maps.Keys(prices)) {
		price, isMapping := prices[model].(Prices)
		if model == "" || !isMapping {
			add("%q is not the id of a model with a mapping of its prices", model)
			continue
		}

		for _, name := range slices.Sorted(maps.Keys(price)) {
			usd, isNumber := number(price[name])
			switch {
			case !slices.Contains(priceNames, name):
				add("%s: %q is not one of %s", model, name, strings.Join(priceNames, ", "))
			case price[name] == nil: // counts as absent
			case !isNumber || !(0 <= usd && usd <= 1e6):
				problem := describeValue(field{}, price[name]) + " is not a number in 0..1000000"
				word, _ := price[name].(string)
				n, err := strconv.ParseFloat(word, 64)
				if err == nil && 0 <= n && n <= 1e6 {
					problem += "; write it without quotes"
				}
				add("%s: %s: %s", model, name, problem)
			}
		}
		for _, name := range priceNames[:2] {
			if price[name] == nil {
				add("%s has no price of %s", model, name)
			}
		}
	}
	return problems
}

// number returns a number that package yaml has decoded.
func number(v any) (n float64, ok bool) {
	switch v := v.(type) {
	case int:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}

// inBounds reports whether a number is finite and between the tags min and max, or is 0 and its
// format allows that.
func inBounds(tag reflect.StructTag, x float64) bool {
	if tag.Get("format") == "0 or" && x == 0 {
		return true
	}
	low, _ := strconv.ParseFloat(tag.Get("min"), 64)
	high, _ := strconv.ParseFloat(cmp.Or(tag.Get("max"), "1e308"), 64)

	return low <= x && x <= high
}

// isAllowed reports whether a string is one of the words of the tag enum or, without this tag,
// matches the tags pattern and format.
func isAllowed(tag reflect.StructTag, s string) bool {
	words, found := tag.Lookup("enum")
	if found {
		return slices.Contains(strings.Split(words, "|"), s)
	}

	matches, _ := regexp.MatchString(tag.Get("pattern"), s) // the patterns are valid
	if !matches {
		return false
	}

	switch name := tag.Get("format"); name {
	case "url":
		u, err := url.Parse(s)
		return err == nil && u.Hostname() != ""
	case "variable":
		hasDigit := strings.ContainsAny(s, "0123456789")
		hasLower := s != strings.ToUpper(s)
		return len(s) < 20 || !hasDigit || !hasLower // else it may be the API key itself
	case "timezone", "timezone|local":
		_, err := time.LoadLocation(s)
		local := s == "local" && name == "timezone|local"
		return local || err == nil && s != "Local"
	}
	return true
}

// describeAllowed returns words for the values that a key takes.
func describeAllowed(f field) string {
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
	words := cmp.Or(f.Tag.Get("takes"), kinds[f.Type.Kind().String()])

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

// describeNotAllowed returns the problem of a value that its key does not take.
func describeNotAllowed(f field, v any) string {
	takes := describeAllowed(f)
	_, whole := v.(int)
	if whole {
		takes = strings.Replace(takes, "a whole number in", "in", 1)
	}
	return describeValue(f, v) + " is not " + takes
}

// maxShown is the length of the longest value or key that a message repeats, in bytes.
const maxShown = 200

// describeLong returns words for a text of more than maxShown bytes. It quotes no part of the text,
// which could be a part of a secret.
func describeLong(s string) string {
	return fmt.Sprintf("a text of %d characters", utf8.RuneCountInString(s))
}

// describeValue returns a value as messages show it. It does not repeat a value that could be a
// secret.
func describeValue(f field, v any) string {
	switch v := v.(type) {
	case string:
		name := f.Tag.Get("format")
		urlWithSecret := name == "url" && strings.ContainsAny(v, "@?")
		if name == "variable" || name == "headers" || urlWithSecret {
			return redact.Redacted
		}
		if len(v) > maxShown {
			return describeLong(v)
		}
		return strconv.Quote(v)
	case []any:
		return "a list"
	case map[string]any, map[any]any:
		return "a mapping"
	}
	return fmt.Sprint(v)
}
