package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// badFile is a file and the lines of the error of Load, without the path of the file.
type badFile struct{ name, yaml, want string }

// reference ends the messages about headers.
const reference = " is not ${NAME} or Bearer ${NAME}" +
	" (the variable holds the secret, this file does not)"

var badFiles = []badFile{
	// Values that their keys do not take.
	{"number beyond the largest",
		"model_profiles: {answer: {max_tool_calls: 99999999999999999999}}",
		"1: model_profiles.answer.max_tool_calls: 1e+20 is not a whole number of at least 0"},
	{"fraction for a whole number", "policy: {max_citations: 1.5}",
		"1: policy.max_citations: 1.5 is not a whole number in 1..10"},
	{"neither 0 nor in bounds", "server: {answer_within_ms: 999}",
		"1: server.answer_within_ms: 999 is not 0 or in 1000..3600000"},
	{"word for 0 or a number", "server: {answer_within_ms: soon}",
		`1: server.answer_within_ms: "soon" is not 0 or in 1000..3600000`},
	{"word for a switch", "server: {debug: maybe}",
		`1: server.debug: "maybe" is not true or false`},
	{"string for a list", "search: {defaults: {domains: a.example}}",
		`1: search.defaults.domains: "a.example" is not a list of host names`},
	{"unknown time zone", "policy: {timezone: Asia/Osaka}",
		`1: policy.timezone: "Asia/Osaka" is not an IANA time zone or local`},
	{"local time zone for a place", "search: {user_location: {timezone: local}}",
		`1: search.user_location.timezone: "local" is not an IANA time zone`},
	{"list for a mapping", "search: {extra: [a]}",
		"1: search.extra: a list is not a mapping"},
	{"path with escapes", `server: {debug_file: "C:\temp\new.log"}`,
		`1: server.debug_file: "C:\temp\n` +
			`ew.log" is not a path (in double quotes a backslash starts an escape, use single quotes)`},
	// Would break the header.
	{"line feed in an id", "openai:\n  project: |\n    p\n",
		`2: openai.project: "p\n" is not an id`},
	{"URL without a scheme", "openai: {base_url: api.example.com/v1}",
		`1: openai.base_url: "api.example.com/v1" is not an absolute http or https URL`},

	// Names that are not those of keys.
	{"section twice", "request:\n  timeout_ms: 5\nrequest:\n  max_retries: 1\n",
		`3: request: already set in c/config.yaml:1`},
	{"member of a value twice", "request:\n  extra_body: {a: 1, a: 2}\n",
		`2: request.extra_body: line 2: mapping key "a" already defined at line 2`},
	{"key without its section", "timeout_ms: 1",
		"1: timeout_ms: unknown key, did you mean request.timeout_ms?"},
	{"key of another section", "search: {domains: []}",
		"1: search.domains: unknown key, did you mean search.defaults.domains?"},
	{"short name of a key", "model_profiles: {answer_quick: {effort: low}}",
		"1: model_profiles.answer_quick.effort: unknown key, did you mean " +
			"model_profiles.answer_quick.reasoning_effort?"},
	{"section and key in one", "server.debug: true",
		"1: server.debug: unknown key"},
	{"name with a line feed", "\"a\\nb\": 1",
		"1: a b: unknown key"},

	// Secrets, which the messages do not repeat.
	{"key for the name of its variable", "openai: {api_key_env: gsk_0123456789abcdefghij}",
		"1: openai.api_key_env: [redacted] is not the name of an environment variable (the " +
			"variable holds the key, this file does not)"},
	{"API key under a name of its own", "openai: {api_key: sk-proj-0123456789abcdef}",
		"1: openai.api_key: unknown key: no secret is read from this file; store the API key with " +
			"openai-responses-mcp login, or set OPENAI_API_KEY"},
	{"token for the API key", "openai: {api-token: sk-proj-0123456789abcdef}",
		"1: openai.api-token: unknown key: no secret is read from this file; store the API key " +
			"with openai-responses-mcp login, or set OPENAI_API_KEY"},
	{"number in quotes", `request: {timeout_ms: "300000"}`,
		`1: request.timeout_ms: "300000" is not a number of milliseconds of at least 1; ` +
			"write it without quotes"},
	{"truth value in quotes", `server: {debug: "true"}`,
		`1: server.debug: "true" is not true or false; write it without quotes`},
	{"no blank after the colon", "policy:\n  max_citations:3\n",
		`2: policy: "max_citations:3" is not a mapping; a blank follows the colon of a key`},
	{"no blank before another key", "policy:\n  max_citations:3\n  timezone: UTC\n",
		"2: not YAML: a blank follows the colon of a key"},
	{"password in a URL of another scheme", "openai: {base_url: 'ftp://u:hunter2@h/'}",
		"1: openai.base_url: [redacted] is not an absolute http or https URL"},
	{"API key as a name", "openai: {sk-proj-0123456789abcdef: x}",
		"1: openai.[redacted]: unknown key"},
	{"API key as a word", "model_profiles: {answer: {verbosity: sk-proj-0123456789abcdef}}",
		`1: model_profiles.answer.verbosity: "[redacted]" is not one of low, medium, high`},
	{"literal in api-key", "openai: {headers: {api-key: hunter2hunter2}}",
		"1: openai.headers: the value of api-key" + reference},
	{"variable and a line feed", `openai: {headers: {api-key: "${A}\n"}}`,
		"1: openai.headers: the value of api-key" + reference},
	{"variable without an end", "openai: {headers: {X-Title: '${hunter2hunter2'}}",
		"1: openai.headers: the value of X-Title" + reference},
	{"value in the name of a header", "openai: {headers: {'api-key: hunter2hunter2': '${A}'}}",
		"1: openai.headers: [redacted] is not the name of a header"},
	{"header alone", "openai: {headers: 'api-key: hunter2hunter2'}",
		"1: openai.headers: [redacted] is not a flat mapping of header names to values"},
	{"header with a list", "openai: {headers: {api-key: [hunter2hunter2]}}",
		"1: openai.headers: a mapping is not a flat mapping of header names to values"},

	// Files with a problem of the whole, or with several.
	{"two documents", "server: {}\n---\nsearch: {}\n",
		" has more than one YAML document"},
	{"list for the file", "- a\n- b\n",
		" not a mapping (key: value)"},
	{"control characters", "\x00\x01\x02",
		"1: not YAML: control characters are not allowed"},
	{"tab", "request:\n\ttimeout_ms: 5\n",
		"2: not YAML: found character that cannot start any token"},
	{"variable without quotes", "openai:\n  headers: {api-key: ${A}}\nserver: {}\n",
		"1: not YAML: did not find expected ',' or '}'"},
	{"number that JSON lacks", "request: {extra_body: {a: .nan}}\n",
		"1: request.extra_body: json: unsupported value: NaN"},
	{"alias of itself", "request: &a {extra_body: {b: *a}}",
		"1: request.extra_body: anchor 'a' value contains itself"},
	{"problem of two keys", "policy:\n  system: {source: file}\nrequest:\n  timeout: 1\n",
		"4: request.timeout: unknown key, did you mean request.timeout_ms?\n" +
			"2: policy.system.source: \"file\" needs policy.system.path"},
}

func TestBadFile(t *testing.T) {
	const hint = " (indent with spaces, and put paths and ${NAME} in single quotes)"

	for _, tt := range badFiles {
		t.Run(tt.name, func(t *testing.T) {
			want := file + ":" + strings.ReplaceAll(tt.want, "\n", "\n"+file+":")
			if strings.Contains(want, "not YAML") {
				want += hint
			}

			_, _, err := Load(write(t, tt.yaml), nil)

			compare.Equal(t, "Load()", fmt.Sprint(err), want)
		})
	}
}

// Every problem is reported: those of the variables in the order of the keys, and the flags last.
func TestBadEnvironment(t *testing.T) {
	environ := []string{
		"SEARCH_RECENCY_DAYS=NaN",
		"MAX_CITATIONS=0",
		"OPENAI_API_TIMEOUT=0x10",
		"OPENAI_BASE_URL=ftp://h/?key=5",
		`MODEL_QUICK="gpt-5.2"`,
		"OPENAI_API_KEY=sk-key",
		"OPENAI_API_KEY_FILE=file",
	}
	const want = `OPENAI_BASE_URL: openai.base_url: [redacted] is not an absolute http or https URL
OPENAI_API_TIMEOUT: request.timeout_ms: "0x10" is not a number of milliseconds of at least 1
MODEL_QUICK: model_profiles.answer_quick.model: "\"gpt-5.2\"" is not a model id
MAX_CITATIONS: policy.max_citations: 0 is not in 1..10
SEARCH_RECENCY_DAYS: search.defaults.recency_days: NaN is not a number of at least 0
--model: model_profiles.answer.model: "" is not a model id
OPENAI_API_KEY and OPENAI_API_KEY_FILE are both set: use one of them`

	_, _, err := Load(Flags{Model: new("")}, environ)

	compare.Equal(t, "Load()", fmt.Sprint(err), want)
}

// Package env names only the Go field of a value that it cannot parse. Other variables are not blamed.
func TestEachVariable(t *testing.T) {
	numbers := []string{"OPENAI_API_TIMEOUT=5", "OPENAI_MAX_RETRIES=5", "MAX_CITATIONS=5",
		"REQUERY_ATTEMPTS=5", "SEARCH_RECENCY_DAYS=5", "SEARCH_MAX_RESULTS=5",
		"ANSWER_WITHIN_MS=5000"}

	for _, f := range newLoader(nil).fields {
		if f.variable == "" || f.key == "server.debug" { // a bad value of DEBUG is a file
			continue
		}
		t.Run(f.variable, func(t *testing.T) {
			_, _, err := Load(Flags{}, append(numbers, f.variable+`='a b'`))

			want := f.variable + ": " + f.key + `: "'a b'" is not ` + allowed(f)
			compare.Equal(t, "Load()", fmt.Sprint(err), want)
		})
	}
}

func TestManyProblems(t *testing.T) {
	_, _, err := Load(write(t, strings.Repeat("key: 1\n", 1000)), nil)

	compare.Equal(t, "lines after the first", strings.Count(fmt.Sprint(err), "\n"), maxProblems)
}
