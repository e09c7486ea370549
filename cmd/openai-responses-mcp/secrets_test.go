package main

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The secrets that a program is given. Some need escapes in JSON and in URLs.
const (
	headerSecret = `team0f3c9a"77/b1de42`
	querySecret  = "query Q8w2Xr5Tn1Bz"
	proxySecret  = "Hn4/Vs8Ec2Ra7"
	secretConfig = "openai: { headers: { X-Team: '${TEAM_TOKEN}' } }\n"
)

// leak returns a secret that a text has, as it is, as JSON or in a URL, or the beginning of one.
func leak(text string) string {
	for _, s := range []string{key, headerSecret, headerSecret[:8], querySecret, proxySecret} {
		for _, form := range []string{
			s,
			strings.Trim(fmt.Sprintf("%q", s), `"`),
			url.QueryEscape(s),
			url.PathEscape(s),
			base64.StdEncoding.EncodeToString([]byte("me:" + s)),
		} {
			if strings.Contains(text, form) {
				return form
			}
		}
	}

	return ""
}

// said returns the secrets of a request, and wants that they are in their headers only.
func said(t *testing.T, r *http.Request) string {
	for _, name := range []string{"Authorization", "X-Team", "Proxy-Authorization"} {
		if leak(r.Header.Get(name)) == "" {
			t.Errorf("no secret in %s", name)
		}
		r.Header.Del(name)
	}

	if s := leak(fmt.Sprint(r.Header, r.URL.Path)); s != "" {
		t.Errorf("a secret is sent elsewhere: %s", s)
	}
	secrets := []string{"Bearer " + key, headerSecret, r.URL.RawQuery, querySecret, proxySecret}

	return strings.Join(secrets, " ; ")
}

// newEcho starts a proxy that answers each request with an echo.
func newEcho(t *testing.T, status, contentType, body string) *httptest.Server {
	code, _ := strconv.Atoi(status)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		io.Copy(io.Discard, r.Body)
		text := said(t, r)
		split := strings.Join(strings.Split(headerSecret, ""), "\u200b") // invisible
		split = strings.ReplaceAll(split, `"`, `\"`)

		fill := strings.NewReplacer(
			"SAID", text,
			"JSON", fmt.Sprintf("%q", text),
			"SPLITS", strings.Repeat(split, 40),
			"SPLIT", split,
			"QUERY", url.QueryEscape(text),
			"PATH", url.PathEscape(text),
		)

		if code == 0 {
			c, _, _ := http.NewResponseController(w).Hijack()
			io.WriteString(c, fill.Replace(body))
			c.Close()
			return
		}

		w.Header().Set("X-Request-Id", text)
		w.Header().Set("Content-Type", fill.Replace(contentType))
		w.Header().Set("Location", "http://elsewhere.invalid/?"+url.QueryEscape(text))

		w.WriteHeader(code)
		io.WriteString(w, fill.Replace(body))
	}))
	t.Cleanup(s.Close)

	return s
}

// commands print an answer of the API, or the configuration.
var commands = []string{
	"--stdio",
	"--stdio --debug --show-config",
	"ask x",
	"ask --debug=debug.log --json x",
	"ask --events --usage --debug x",
	"doctor --live --debug",
	"doctor --json",
	"smoke x",
	"--show-config",
	"setup codex",
	"login",
}

// No command repeats a secret on stdout, on stderr or in a file, with any answer of the API, and
// secrets are sent in their headers only.
func TestSecrets(t *testing.T) {
	compare.SkipShort(t, "starts 121 programs")
	t.Parallel()

	session := strings.Join([]string{
		initialize,
		initialized,
		withProgress(ask("1", "x")),
		ask("2", "Is "+key+" a good key?"),
	}, "\n")

	compare.Each(t, "echoes", 4, func(t *testing.T, row []string) {
		t.Parallel()
		s := newEcho(t, row[1], row[2], row[3])

		home := home(t, secretConfig)
		address := strings.TrimPrefix(s.URL, "http://")
		words := []string{
			"OPENAI_API_KEY=" + key,
			"TEAM_TOKEN=" + headerSecret,
			"OPENAI_MAX_RETRIES=0",
			"OPENAI_BASE_URL=http://api.invalid/v1?api-key=" + url.QueryEscape(querySecret),
			"HTTP_PROXY=http://me:" + url.QueryEscape(proxySecret) + "@" + address,
			"--config=config.yaml",
		}
		for _, args := range commands {
			cmd := program(home, slices.Concat(strings.Fields(args), words)...)
			cmd.Stdin = strings.NewReader(session)
			if args == "login" {
				cmd.Stdin = strings.NewReader(key)
				cmd.Env = append(cmd.Env, "OPENAI_API_KEY=") // it is typed only
			}

			out, _ := cmd.CombinedOutput() // Most fail.
			if len(out) == 0 {
				t.Errorf("%s printed nothing", args)
			}

			checkOutput(t, args, string(out))
		}

		log, _ := os.ReadFile(filepath.Join(home, "debug.log"))
		checkOutput(t, "debug.log", string(log))
		compare.Contains(t, "debug.log", string(log), "openai(client): request")
	})
}

// checkOutput wants that a text has neither a secret nor a stack trace.
func checkOutput(t *testing.T, from, text string) {
	t.Helper()
	if s := leak(text); s != "" {
		t.Errorf("%s has %q:\n%s", from, s, text)
	}
	clean(t, text)
}
