package config

import (
	"fmt"
	"strings"
	"testing"
)

// TestYAMLErrors lists what is wrong with a file and the lines about it, without its path.
func TestYAMLErrors(t *testing.T) {
	const reference = " is not ${NAME} or Bearer ${NAME} (the variable holds the secret, this file does not)"
	for _, tt := range []struct{ yaml, want string }{
		// ranges
		{"request: {timeout_ms: 99999999999999999999}", "1: request.timeout_ms: 1e+20 is not a whole number of at least 1"},
		{"search: {defaults: {recency_days: -0.5}}", "1: search.defaults.recency_days: -0.5 is not a number of at least 0"},
		{"search: {defaults: {recency_days: .nan}}", "1: search.defaults.recency_days: NaN is not a number of at least 0"},
		// types
		{"request: {timeout_ms: 1.5}", "1: request.timeout_ms: 1.5 is not a whole number of at least 1"},
		{"request: {timeout_ms: !!int abc}", "1: request.timeout_ms: cannot decode !!str `abc` as a !!int"},
		{"server: {debug: maybe}", `1: server.debug: "maybe" is not true or false`},
		{"search: {defaults: {domains: a.example}}", `1: search.defaults.domains: "a.example" is not a list of host names`},
		{"search:\n  defaults:\n    domains:\n      - a.example\n      - 5\n", `3: search.defaults.domains: "5" is not a host name`},
		{"policy: {timezone: Asia/Osaka}", `1: policy.timezone: "Asia/Osaka" is not an IANA time zone or local`},
		{"search: {user_location: {timezone: local}}", `1: search.user_location.timezone: "local" is not an IANA time zone`},
		{"model_profiles: {answer_quick: {service_tier: very fast}}", `1: model_profiles.answer_quick.service_tier: "very fast" is not a word`},
		{"search: {extra: [a]}", "1: search.extra: a list is not a mapping"},
		{"search: {user_location: {country: Japan}}", `1: search.user_location.country: "Japan" is not a two-letter country code`},
		// words
		{"model_profiles: {answer: {reasoning_effort: High}}", `1: model_profiles.answer.reasoning_effort: "High" is not one of none, minimal, low, medium, high, xhigh, max`},
		{"model_profiles: {answer: {model: gpt 5}}", `1: model_profiles.answer.model: "gpt 5" is not a model id`},
		{"responses: {stream: 5}", "1: responses.stream: \"5\" is not one of auto, true, false"},
		{`server: {debug_file: "C:\temp\new.log"}`, `1: server.debug_file: "C:\temp\new.log" is not a path (in double quotes a backslash starts an escape, use single quotes)`},
		{`server: {debug_file: "C:\Users\x.log"}`, "1: not YAML: did not find expected hexdecimal number"},
		{"openai:\n  project: |\n    p\n", `2: openai.project: "p\n" is not an id`}, // would break the header
		{"openai: {base_url: api.example.com/v1}", `1: openai.base_url: "api.example.com/v1" is not an absolute http or https URL`},
		{"openai: {base_url: 'http://h:port/'}", `1: openai.base_url: "http://h:port/" is not an absolute http or https URL`},
		// keys
		{"request:\n  timeout_ms: 5\nrequest:\n  max_retries: 1\n", `3: request: already set in line 1`},
		{"request:\n  extra_body: {a: 1, a: 2}\n", `2: request.extra_body: line 2: mapping key "a" already defined at line 2`},
		{"request: {timeuot_ms: 1}", "1: request.timeuot_ms: unknown key, did you mean request.timeout_ms?"},
		{"timeout_ms: 1", "1: timeout_ms: unknown key, did you mean request.timeout_ms?"},
		{"search: {domains: []}", "1: search.domains: unknown key, did you mean search.defaults.domains?"},
		{"model: x", "1: model: unknown key, did you mean model_profiles.answer.model?"},
		{"model_profiles: {detailed: {}}", "1: model_profiles.detailed: unknown key, did you mean model_profiles.answer_detailed?"},
		{"model_profiles: {answer: {effort: low}}", "1: model_profiles.answer.effort: unknown key, did you mean model_profiles.answer.reasoning_effort?"},
		{"policy: {zebra: 1}", "1: policy.zebra: unknown key"},
		{"zebra: 1", "1: zebra: unknown key"},
		{"m: 1", "1: m: unknown key"},
		{"\"a\\nb\": 1", "1: a b: unknown key"},
		// a secret that is not where it belongs
		{"openai: {api_key_env: gsk_0123456789abcdefghij}", "1: openai.api_key_env: [redacted] is not the name of an environment variable (the variable holds the key, this file does not)"},
		{"openai: {api_key_env: [sk-proj-0123456789abcdef]}", "1: openai.api_key_env: [redacted] is not the name of an environment variable (the variable holds the key, this file does not)"},
		{"openai: {api_key: sk-proj-0123456789abcdef}", "1: openai.api_key: unknown key, did you mean openai.api_key_env?"},
		{"openai: {token: hunter2-hunter2}", "1: openai.token: unknown key, did you mean model_profiles.answer.max_output_tokens?"},
		{"openai: {base_url: 'ftp://u:hunter2-hunter2@h/'}", "1: openai.base_url: [redacted] is not an absolute http or https URL"},
		{"openai: {base_url: 'u:hunter2-hunter2@h'}", "1: openai.base_url: [redacted] is not an absolute http or https URL"},
		{"openai: {sk-proj-0123456789abcdef: x}", "1: openai.[redacted]: unknown key"},
		{"a: *sk-proj-0123456789abcdef", "1: not YAML: unknown anchor '[redacted]' referenced"},
		{"model_profiles: {answer: {verbosity: sk-proj-0123456789abcdef}}", `1: model_profiles.answer.verbosity: "[redacted]" is not one of low, medium, high`},
		{"openai: {headers: {api-key: hunter2hunter2}}", "1: openai.headers: the value of api-key" + reference},
		{"openai: {headers: {Cookie: hunter2hunter2}}", "1: openai.headers: the value of Cookie" + reference},
		{"openai: {headers: {api-key: 'hunter2hunter2 ${A}'}}", "1: openai.headers: the value of api-key" + reference},
		{`openai: {headers: {api-key: "${A}\n"}}`, "1: openai.headers: the value of api-key" + reference},
		{"openai: {headers: {X-Title: '${hunter2hunter2'}}", "1: openai.headers: the value of X-Title" + reference},
		{"openai: {headers: {'api-key: hunter2hunter2': '${A}'}}", "1: openai.headers: [redacted] is not the name of a header"},
		{"openai: {headers: 'api-key: hunter2hunter2'}", "1: openai.headers: [redacted] is not a mapping of header names to values"},
		{"openai: {headers: {api-key: [hunter2hunter2]}}", "1: openai.headers: [redacted] is not a mapping of header names to values"},
		// the file as a whole
		{"server: {}\n---\nsearch: {}\n", " has more than one YAML document"},
		{"- a\n- b\n", "1: not a mapping (key: value)"},
		{"\x00\x01\x02", "1: not YAML: control characters are not allowed"},
		{"request:\n\ttimeout_ms: 5\n", "2: not YAML: found character that cannot start any token"},
		{"request: {}\nserver: *s\n", "1: not YAML: unknown anchor 's' referenced"},
		{"openai:\n  headers: {api-key: ${A}}\nserver: {}\n", "1: not YAML: did not find expected ',' or '}'"},
		{"request: {extra_body: {a: .nan}}\n", "1: request.extra_body: cannot be written as JSON: unsupported value: NaN"},
		// all of them
		{"policy:\n  system: {source: file}\nrequest:\n  timeout: 1\n", "4: request.timeout: unknown key, did you mean request.timeout_ms?\n2: policy.system.source: \"file\" needs policy.system.path"},
		{"server: {debug: 1}\npolicy: {max_citations: 99}\nrequest: 5\n", "1: server.debug: 1 is not true or false\n2: policy.max_citations: 99 is not in 1..10\n3: request: 5 is not a mapping"},
	} {
		_, warnings, err := Load(write(t, tt.yaml), nil)
		want := file + ":" + strings.ReplaceAll(tt.want, "\n", "\n"+file+":")
		if strings.Contains(want, "not YAML") {
			want += " (indent with spaces, and put paths and ${NAME} in single quotes)"
		}
		if fmt.Sprint(err) != want || len(warnings) > 0 {
			t.Errorf("Load(%q)\n got %v, warnings %q\nwant %s", tt.yaml, err, warnings, want)
		}
	}
}

func TestEnvAndFlagErrors(t *testing.T) {
	for _, tt := range []struct {
		environ []string
		flags   Flags
		want    string
	}{
		{[]string{"OPENAI_API_TIMEOUT=0x10"}, Flags{}, `OPENAI_API_TIMEOUT: request.timeout_ms: "0x10" is not a whole number of at least 1`},
		{[]string{"SEARCH_RECENCY_DAYS=NaN"}, Flags{}, "SEARCH_RECENCY_DAYS: search.defaults.recency_days: NaN is not a number of at least 0"},
		{[]string{"OPENAI_BASE_URL=ftp://u:p@h/?key=5"}, Flags{}, `OPENAI_BASE_URL: openai.base_url: [redacted] is not an absolute http or https URL`},
		{[]string{`MODEL_ANSWER="gpt-5.2"`}, Flags{}, `MODEL_ANSWER: model_profiles.answer.model: "\"gpt-5.2\"" is not a model id`},
		{nil, Flags{Model: new("")}, `--model: model_profiles.answer.model: "" is not a model id`},
		// All of them, in the order of the table, and the flags last.
		{[]string{"MAX_CITATIONS=0", "OPENAI_MAX_RETRIES=x"}, Flags{Model: new("a b")}, "OPENAI_MAX_RETRIES: request.max_retries: \"x\" is not a whole number in 0..10\nMAX_CITATIONS: policy.max_citations: 0 is not in 1..10\n--model: model_profiles.answer.model: \"a b\" is not a model id"},
	} {
		if _, _, err := Load(tt.flags, tt.environ); fmt.Sprint(err) != tt.want {
			t.Errorf("Load(%+v, %q)\n got %v\nwant %s", tt.flags, tt.environ, err, tt.want)
		}
	}
}
