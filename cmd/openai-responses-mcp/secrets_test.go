package main

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The secrets that a program is given. Some need escapes in JSON and in URLs.
const (
	headerSecret = `team0f3c9a"77/b1de42`
	querySecret  = "query Q8w2Xr5Tn1Bz"
	proxySecret  = "Hn4/Vs8Ec2Ra7"
	secretConfig = "openai: { headers: { X-Team: '${TEAM_TOKEN}' } }\n"
)

// echoes are answers of an API, and of a proxy, that repeats what it is sent.
var echoes = map[string]func(w http.ResponseWriter, said string){
	"every field": func(w http.ResponseWriter, said string) {
		send(w, 401, "application/json", fmt.Sprintf(`{"error":{"message":%[1]q,"type":%[1]q,"code":%[1]q,"param":%[1]q}}`, said))
	},
	"escaped": func(w http.ResponseWriter, said string) {
		send(w, 403, "application/json", fmt.Sprintf(`{"error":{"message":%q}}`, url.QueryEscape(said)+" "+url.PathEscape(said)))
	},
	"a page":    func(w http.ResponseWriter, said string) { send(w, 503, "text/html", "<p>"+said) },
	"truncated": func(w http.ResponseWriter, said string) { send(w, 422, "text/plain", strings.Repeat("x", 140)+said) },
	// No limit of a text is between the characters of a secret.
	"invisible characters": func(w http.ResponseWriter, said string) {
		split := strings.ReplaceAll(strings.Join(strings.Split(headerSecret, ""), "\u200b"), `"`, `\"`)
		send(w, 400, "application/json", fmt.Sprintf(`{"error":{"message":"%[1]s","type":"%[2]s","code":"%[2]s","param":"%[2]s"}}`, strings.Repeat("x", 12)+strings.Repeat(split, 40), split))
	},
	"content type": func(w http.ResponseWriter, said string) {
		send(w, 200, "application/"+said, said)
	},
	"error event": func(w http.ResponseWriter, said string) {
		send(w, 200, "text/event-stream", fmt.Sprintf("data: %[1]s\n\ndata: {\"type\":\"error\",\"code\":%[1]q,\"message\":%[1]q}\n\n", said))
	},
	"failed": func(w http.ResponseWriter, said string) {
		send(w, 200, "application/json", fmt.Sprintf(`{"id":%[1]q,"status":"failed","output":[],"error":{"code":%[1]q,"message":%[1]q}}`, said))
	},
	"answered": func(w http.ResponseWriter, said string) {
		w.Header().Set("X-Request-Id", said)
		w.Header().Set("Content-Type", "application/json")
		_, _ = fmt.Fprintf(w, `{"id":%[1]q,"model":%[1]q,"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"yes"}]}]}`, said)
	},
	"redirect": func(w http.ResponseWriter, said string) {
		w.Header().Set("Location", "http://elsewhere.invalid/?"+url.QueryEscape(said))
		send(w, 307, "text/plain", said)
	},
	"not HTTP": func(w http.ResponseWriter, said string) {
		if c, _, err := http.NewResponseController(w).Hijack(); err == nil {
			_, _ = io.WriteString(c, "HTTP/1.1 200 OK\r\n"+said+"\r\n\r\n")
			_ = c.Close()
		}
	},
}

func send(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("X-Request-Id", strings.Map(func(c rune) rune { return max(c, ' ') }, body))
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
}

// leak returns a secret that a text has, as it is, as JSON or in a URL, or the
// beginning of one.
func leak(text string) string {
	for _, s := range []string{key, headerSecret, headerSecret[:8], querySecret, proxySecret} {
		for _, form := range []string{s, fmt.Sprintf("%q", s), url.QueryEscape(s), url.PathEscape(s), base64.StdEncoding.EncodeToString([]byte("me:" + s))} {
			if strings.Contains(text, strings.Trim(form, `"`)) {
				return form
			}
		}
	}
	return ""
}

// No command repeats a secret on stdout, on stderr or in a file, with any answer of
// the API, and secrets are sent in their headers only.
func TestSecrets(t *testing.T) {
	t.Parallel()
	for name, answer := range echoes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				said := strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Team"), r.URL.RawQuery, querySecret, proxySecret}, " ; ")
				if r.Header.Get("Authorization") != "Bearer "+key || r.Header.Get("X-Team") != headerSecret || r.Header.Get("Proxy-Authorization") == "" {
					t.Errorf("credentials are missing: %v", r.Header)
				}
				for _, name := range []string{"Authorization", "X-Team", "Proxy-Authorization"} {
					r.Header.Del(name)
				}
				if s := leak(fmt.Sprint(r.Header, r.URL.Path)); s != "" {
					t.Errorf("a secret is sent elsewhere: %s", s)
				}
				answer(w, said)
			}))
			t.Cleanup(s.Close)
			home := t.TempDir()
			if err := os.WriteFile(filepath.Join(home, "config.yaml"), []byte(secretConfig), 0o600); err != nil {
				t.Fatal(err)
			}
			env := []string{
				"OPENAI_API_KEY=" + key, "TEAM_TOKEN=" + headerSecret, "OPENAI_MAX_RETRIES=0",
				"OPENAI_BASE_URL=http://api.invalid/v1?api-key=" + url.QueryEscape(querySecret),
				"HTTP_PROXY=http://me:" + url.QueryEscape(proxySecret) + "@" + strings.TrimPrefix(s.URL, "http://"),
			}
			session := strings.Join([]string{initialize, initialized, watched(ask("1", "x")), ask("2", "Is "+key+" a good key?")}, "\n") + "\n"
			for _, args := range []string{
				"--stdio", "--stdio --debug --show-config", "ask x", "ask --debug=debug.log --json x", "ask --events --usage --debug x",
				"doctor --live --debug", "doctor --json", "smoke x", "--show-config", "setup codex",
			} {
				cmd := program(home, slices.Concat(env, strings.Fields(args), []string{"--config=config.yaml"})...)
				var out bytes.Buffer
				cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(session), &out, &out
				_ = cmd.Run() // Most fail.
				if s := leak(out.String()); s != "" || crash.MatchString(out.String()) || out.Len() == 0 {
					t.Errorf("%s printed %q:\n%s", args, s, &out)
				}
			}
			log, err := os.ReadFile(filepath.Join(home, "debug.log"))
			if s := leak(string(log)); err != nil || s != "" || !strings.Contains(string(log), "openai(client): request") {
				t.Errorf("debug.log has %q, %v:\n%s", s, err, log)
			}
		})
	}
}
