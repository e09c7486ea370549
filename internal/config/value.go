package config

import (
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// set stores a value in the field of its key. It returns what is wrong with it
// and what is allowed, or "".
func set(f reflect.StructField, v reflect.Value, t text) string {
	switch v.Kind() {
	case reflect.String:
		return setString(f, v, t)
	case reflect.Bool:
		if b, ok := t.bool(); ok {
			v.SetBool(b)
			return ""
		}
	case reflect.Int:
		n, ok := t.int()
		if ok && within(f, float64(n)) {
			v.SetInt(int64(n))
			return ""
		}
		if high := f.Tag.Get("max"); ok && high != "" { // the right type: the range is all there is to say
			return t.shown() + " is not in " + f.Tag.Get("min") + ".." + high
		}
	case reflect.Float64:
		if x, ok := t.float(); ok && within(f, x) {
			v.SetFloat(x)
			return ""
		}
	}
	if f.Tag.Get("format") == "headers" && t.kind != kindOther { // a secret as it is, more often than not
		return redacted + " is not " + allowed(f)
	}
	return t.shown() + " is not " + allowed(f)
}

// setString is strict about the type: 007, true and 2026-01-02 without quotes are
// not what they look like, and an editor with the schema says the same.
func setString(f reflect.StructField, v reflect.Value, t text) string {
	format := f.Tag.Get("format")
	s := t.value
	if b, isBool := t.bool(); format == "stream" && isBool {
		s, t.kind = strconv.FormatBool(b), kindString
	}
	ok := t.kind == kindString || t.kind == kindUntyped
	if words, isEnum := f.Tag.Lookup("enum"); isEnum {
		ok = ok && slices.Contains(strings.Split(words, "|"), s)
	} else if !ok && t.kind != kindOther {
		return t.shown() + " is not a string, write it in quotes"
	}
	if !ok || !checkFormat(format, s) {
		shown := t.shown()
		switch format {
		case "path":
			if ok {
				return shown + " has a control character: in double quotes a backslash starts an escape, use single ones"
			}
		case "variable": // the key itself, more often than not
			shown = redacted
		case "url":
			shown = text{redactURL(t.value), t.kind, t.plain}.shown()
		}
		return shown + " is not " + allowed(f)
	}
	v.SetString(s)
	return ""
}

// checkFormat knows the formats of the tags.
func checkFormat(format, s string) bool {
	switch format {
	case "variable":
		return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return !isWord(r) }) && (s[0] < '0' || s[0] > '9') && !keyShaped(s)
	case "url":
		u, err := url.Parse(s)
		return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != ""
	case "id", "model": // one travels in a header
		return (s != "" || format == "id") && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '"' || r == '\'' })
	case "path":
		return !strings.ContainsFunc(s, unicode.IsControl)
	case "country":
		return s == "" || len(s) == 2 && isLetter(s[0]) && isLetter(s[1])
	}
	return true
}

// keyShaped tells a key that could be the name of a variable, as those of many
// compatible servers could: it has a long word of small letters and digits.
func keyShaped(s string) bool {
	for word := range strings.SplitSeq(s, "_") {
		if len(word) >= 16 && strings.ContainsAny(word, "0123456789") && word != strings.ToUpper(word) {
			return true
		}
	}
	return false
}

// allowed says what a key takes, in the words that follow "is not".
func allowed(f reflect.StructField) string {
	tag := f.Tag
	if words := tag.Get("enum"); words != "" {
		return "one of " + strings.ReplaceAll(strings.TrimSuffix(words, "|"), "|", ", ")
	}
	switch tag.Get("format") {
	case "variable":
		return "the name of an environment variable (the variable holds the key, the file never does)"
	case "url":
		return "an absolute http or https URL"
	case "id":
		return "an id"
	case "model":
		return "a model id"
	case "country":
		return "a two-letter country code"
	case "headers":
		return "a mapping of header names to ${NAME} or Bearer ${NAME}"
	}
	number := map[reflect.Kind]string{reflect.Int: "a whole number", reflect.Float64: "a number"}[f.Type.Kind()]
	switch {
	case number != "" && tag.Get("max") != "":
		return number + " in " + tag.Get("min") + ".." + tag.Get("max")
	case number != "":
		return number + " of at least " + tag.Get("min")
	case f.Type.Kind() == reflect.Bool:
		return "true or false"
	case f.Type.Kind() == reflect.Slice:
		return "a list of strings"
	case f.Type.Kind() == reflect.Map:
		return "a mapping"
	}
	return "a string"
}

// within checks the bounds of the tags.
func within(f reflect.StructField, x float64) bool {
	for _, bound := range []struct {
		tag  string
		sign float64
	}{{"min", 1}, {"max", -1}} {
		if limit, err := strconv.ParseFloat(f.Tag.Get(bound.tag), 64); err == nil && (x-limit)*bound.sign < 0 {
			return false
		}
	}
	return true
}

func isLetter(b byte) bool { return b|0x20 >= 'a' && b|0x20 <= 'z' }

func isWord(r rune) bool {
	return r == '_' || r >= '0' && r <= '9' || r < 0x80 && isLetter(byte(r))
}
