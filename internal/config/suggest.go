package config

import (
	"reflect"
	"strings"

	"github.com/agnivade/levenshtein"
)

// unknown says what to write instead of a key that does not exist: the nearest
// known key, or the keys of the section when none is near.
func unknown(t reflect.Type, path, name string) string {
	if secretName(name) && !strings.HasSuffix(squeeze(name), "env") { // api_kye_env is a slip
		return redacted + ": keys are read from the environment only (openai.api_key_env names the variable)"
	}
	if key := nearest(path, name); key != "" {
		return "unknown key, did you mean " + key + "?"
	}
	return "unknown key, the keys here are " + names(t)
}

// nearest finds the known key that is closest to path.name: by its last part
// within the section, by the whole, or by a last part that is right and stands
// in the wrong section. "" when none is close.
func nearest(path, name string) string {
	best, found := 1.0, ""
	offer := func(key string, score float64) {
		if score < best {
			best, found = score, key
		}
	}
	// more than a third of the letters wrong is another word
	const far = 0.34
	full := join(path, name)
	for _, key := range paths() {
		section, last := "", key
		if dot := strings.LastIndexByte(key, '.'); dot >= 0 {
			section, last = key[:dot], key[dot+1:]
		}
		part := distance(squeeze(last), squeeze(name))
		if partOf(squeeze(last), squeeze(name)) {
			part = min(part, far-0.01)
		}
		switch {
		case section == path && part < far:
			offer(key, part)
		case part == 0:
			offer(key, far/2) // elsewhere, but the very word
		}
		if whole := distance(squeeze(key), squeeze(full)); whole < far/2 {
			offer(key, whole+far/2)
		}
	}
	return found
}

// partOf says that one word begins or ends with the other: timeout and
// timeout_ms, detailed and answer_detailed.
func partOf(a, b string) bool {
	if len(a) < len(b) {
		a, b = b, a
	}
	return len(b) >= 3 && (strings.HasPrefix(a, b) || strings.HasSuffix(a, b))
}

// distance is the share of letters to insert, delete or replace to make b of a:
// 0 the same, 1 nothing in common.
func distance(a, b string) float64 {
	const long = 64
	if len(a) > long || len(b) > long || len(a)+len(b) == 0 {
		return 1
	}
	return float64(levenshtein.ComputeDistance(a, b)) / float64(max(len(a), len(b)))
}

// names lists the keys of a section that have an effect.
func names(t reflect.Type) string {
	var list []string
	for name, f := range members(t) {
		if !isIgnored(f) {
			list = append(list, name)
		}
	}
	return strings.Join(list, ", ")
}
