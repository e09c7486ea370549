package logging

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// valuer hides the secret until the handler asks for it.
type valuer struct{ s string }

func (v valuer) LogValue() slog.Value {
	return slog.GroupValue(slog.String("deep", v.s), slog.Any("deeper", []byte(v.s)))
}

type stringer struct{ s string }

func (s *stringer) String() string { return "stringer " + s.s }

type broken struct{}

func (broken) MarshalJSON() ([]byte, error) { panic("no JSON today") }

// Every way by which a key can get into a record, and no way out of it.
func TestNoSecretInAnyValue(t *testing.T) {
	// A key with characters that quoting, JSON and URLs all write differently.
	for _, key := range []string{"sk-proj-AbCd_0123456789", `we"ird\<key>&+ /é`, "日本語の鍵"} {
		nested, _ := json.Marshal(map[string]string{"inner": string(must(json.Marshal(key)))})
		plain := fmt.Sprintf(`{"key":%q,"n":1}`, key)
		attrs := []any{
			"string", key,
			"sentence", "before " + key + " after",
			"bytes", []byte(key),
			"raw", json.RawMessage(must(json.Marshal(map[string]any{"k": key}))),
			"nestedJSON", json.RawMessage(nested),
			"quoted", plain,
			"error", fmt.Errorf("wrapping: %w", errors.New("bad key "+key)),
			"quotedError", fmt.Errorf("parsing %q: no", key),
			"urlError", &url.Error{Op: "Get", URL: "https://x.example/?k=" + url.QueryEscape(key), Err: errors.New(key)},
			"joined", errors.Join(errors.New("one"), errors.New(key)),
			"stringer", &stringer{key},
			"valuer", valuer{key},
			"map", map[string]any{key: []any{key, map[string]string{"x": key}}},
			"struct", struct{ Key, Other string }{key, "fine"},
			"pointer", &struct{ Inner *struct{ Key string } }{&struct{ Key string }{key}},
			"header", http.Header{"Authorization": {"Bearer " + key}, "X": {key}},
			"nestedBytes", struct{ Body []byte }{[]byte("a " + key)},
			"mapOfBytes", map[string]any{"b": [][]byte{[]byte(key)}},
			"unmarshalable", map[string]any{"f": func() {}, "k": key},
			slog.Group("group", "k", key, slog.Group("sub", "k", key)),
			key, "a secret for a name",
		}
		var out buffer
		l, stop := open(t, Options{Debug: true, Stderr: &out, Secrets: []string{"", " " + key + "\n"}})
		l.With(attrs...).Warn("message "+key, attrs...)
		stop()
		for _, form := range spellings(key) {
			if strings.Contains(out.String(), form) {
				t.Errorf("the log holds the key %q as %q:\n%s", key, form, out.String())
			}
		}
		if n := strings.Count(out.String(), "\n"); n != 1 {
			t.Errorf("one record became %d lines", n)
		}
	}
}

func must(b []byte, err error) []byte {
	if err != nil {
		panic(err)
	}
	return b
}

func TestRedactText(t *testing.T) {
	r := newRedactor([]string{"abcd", "abcdefgh", "xyz"})
	for _, c := range []struct{ in, want string }{
		{"", ""},
		{"abcdefgh abcd", "[redacted] [redacted]"}, // the longer secret first
		{"xyz", "xyz"}, // too short to be a secret

		{"Authorization: Bearer eyJhbGciOi.J9", "Authorization: Bearer [redacted]"},
		{"proxy-authorization: Basic dXNlcjpwYXNz\r\n", "proxy-authorization: Basic [redacted]\r\n"},
		{`{"Authorization":["Bearer tok"],"b":1}`, `{"Authorization":["Bearer [redacted]"],"b":1}`},
		{`{\"authorization\":\"Bearer tok\"}`, `{\"authorization\":\"Bearer [redacted]\"}`},
		{"map[Authorization:[Bearer tok] X:[1]]", "map[Authorization:[Bearer [redacted]] X:[1]]"},
		{"Authorization: Bearer abcdefgh", "Authorization: Bearer [redacted]"}, // found twice, marked once
		{"authorization: abc", "authorization: [redacted]"},
		{"config.yaml:3: openai.headers.Authorization: T is not set", "config.yaml:3: openai.headers.Authorization: T is not set"},
		{"set it to http://USER:PASSWORD@HOST:PORT", "set it to http://USER:PASSWORD@HOST:PORT"},
		{"the authorization server", "the authorization server"},

		{"key sk-proj-0123_456-789.", "key [redacted]."},
		{"Incorrect API key provided: sk-tHis*****that.", "Incorrect API key provided: [redacted]."}, // the API's own words
		{`"a\nsk-0123456789"`, `"a\n[redacted]"`},                                                    // \n of JSON is not a letter n
		{`\u003csk-0123456789\u003e`, `\u003c[redacted]\u003e`},
		{"task-management-system", "task-management-system"},
		{"sk-learn", "sk-learn"},

		{"http://user:pa%40ss@proxy:3128/", "http://[redacted]@proxy:3128/"},
		{"https://example.com/@user", "https://example.com/@user"},
	} {
		if got := r.text(c.in); got != c.want {
			t.Errorf("text(%q) = %q, want %q", c.in, got, c.want)
		}
	}
}

// tint drops escape sequences and what follows a byte that is not UTF-8. Had it
// done so after the redaction, the halves of a key would have met again.
func TestControlBytes(t *testing.T) {
	var out buffer
	l, stop := open(t, Options{Debug: true, Stderr: &out, Secrets: []string{"topsecret"}})
	l.Debug("top\x1b[0msecret\r\nnext\u202e", "v", "top\x1b[0msecret", "w", "a\xffb\ufffdc\nd")
	stop()
	got := out.String()
	if strings.Contains(got, "topsecret") {
		t.Errorf("the key came together again: %q", got)
	}
	want := ` top\x1b[0msecret\r\nnext\u202e v=top\u001b[0msecret w="a\\xffb\\ufffdc\nd"` + "\n"
	if !strings.HasSuffix(got, want) {
		t.Errorf("line %q does not end in %q", got, want)
	}
}

// Bytes that say nothing secret stay as encoding/json writes them.
func TestNestedBytes(t *testing.T) {
	var out buffer
	l, stop := open(t, Options{Debug: true, Stderr: &out, Secrets: []string{"hush-hush"}})
	l.Debug("m", "v", struct{ A, B []byte }{[]byte("public text"), []byte("Authorization: Bearer x")}, "w", map[string][]byte{"k": []byte("my hush-hush")})
	stop()
	want := ` m v="{\"A\":\"cHVibGljIHRleHQ=\",\"B\":\"[redacted]\"}" w="{\"k\":\"[redacted]\"}"` + "\n"
	if got := out.String(); !strings.HasSuffix(got, want) {
		t.Errorf("line %q does not end in %q", got, want)
	}
}

func TestRedact(t *testing.T) {
	secrets := []string{"hush-hush", ""}
	redact := Redact(secrets...)
	secrets[0] = "other"
	for in, want := range map[string]string{
		"":                                 "",
		"x other x":                        "x other x",
		"a hush-hush\nb":                   "a [redacted]\nb",
		"AUTHORIZATION: Bearer abc":        "AUTHORIZATION: Bearer [redacted]",
		"wrong key sk-proj-0123456789 (1)": "wrong key [redacted] (1)",
		"https://u:p@h.example/":           "https://[redacted]@h.example/",
	} {
		if got := redact(in); got != want {
			t.Errorf("Redact(hush-hush)(%q) = %q, want %q", in, got, want)
		}
	}
	if got := Redact()("sk-0123456789 hush-hush"); got != "[redacted] hush-hush" {
		t.Errorf("Redact()(…) = %q", got)
	}
}

func TestRender(t *testing.T) {
	var none *stringer
	for _, c := range []struct {
		in   any
		want string
	}{
		{nil, "<nil>"},
		{none, "<nil>"}, // a nil pointer whose String would panic
		{[]byte(`{"a":1}`), `{"a":1}`},
		{json.RawMessage(`[1,`), `[1,`}, // cut JSON is shown as it came
		{errors.New("boom"), "boom"},
		{[]string{"a", "<b>"}, `["a","<b>"]`},
		{map[string]any{"b": 1, "a": nil}, `{"a":null,"b":1}`},
		{map[string]any{"c": make(chan int, 1) == nil, "r": json.RawMessage(`{`)}, "map[c:false r:[123]]"},
		{broken{}, "logging.broken that cannot be shown"},
	} {
		if got := render(c.in); got != c.want {
			t.Errorf("render(%#v) = %q, want %q", c.in, got, c.want)
		}
	}
}
