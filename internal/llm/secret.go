package llm

import (
	"bytes"
	"slices"
	"strings"
)

const redacted = "[redacted]"

// secretsOf are the key and the values of headers, the longest first: at one
// place of a text that one must be found which the other is a part of.
func secretsOf(key string, headers map[string]string) []string {
	secrets := []string{key}
	for _, value := range headers {
		_, bare, _ := strings.Cut(value, " ") // what follows a scheme
		secrets = append(secrets, value, bare)
	}
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	return secrets
}

// scrubber takes secrets out of texts that others wrote: a gateway may repeat
// them in an error body. A very short one would only damage those texts.
func scrubber(secrets []string) *strings.Replacer {
	var pairs []string
	for _, s := range secrets {
		if len(s) >= 4 {
			pairs = append(pairs, s, redacted)
		}
	}
	return strings.NewReplacer(pairs...)
}

// hider takes secrets out of the JSON of an answer, where no model could know
// them, but a server that shows what it was sent does. Only those that cannot be
// words of it: the key of a local server may be its name.
func hider(secrets []string) func([]byte) []byte {
	const long = 16
	var list [][]byte
	for _, s := range secrets {
		if len(s) >= long && strings.ContainsAny(s, "0123456789") && !strings.ContainsAny(s, " \"\\") {
			list = append(list, []byte(s))
		}
	}
	return func(answer []byte) []byte {
		for _, s := range list {
			if bytes.Contains(answer, s) {
				answer = bytes.ReplaceAll(answer, s, []byte(redacted))
			}
		}
		return answer
	}
}
