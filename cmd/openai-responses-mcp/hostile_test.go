package main_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// echo is a server, as a proxy, that repeats everything secret it is sent.
type echo struct {
	*httptest.Server
	home   string // of the programs that ask it
	answer func(w http.ResponseWriter, r *http.Request, said string)

	mu   sync.Mutex
	seen int
	line string   // the last command line that asked, where the system tells
	bad  []string // what was sent where it does not belong
}

// newEcho starts one. said is what it repeats: headers and query, as they came.
func newEcho(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, said string)) *echo {
	t.Helper()
	e := &echo{home: t.TempDir(), answer: answer}
	e.Server = httptest.NewServer(e)
	t.Cleanup(e.Close)
	return e
}

func (e *echo) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	_, _ = body.ReadFrom(r.Body)
	e.mu.Lock()
	e.seen++
	if r.Header.Get("Authorization") != "Bearer "+canaryKey || r.Header.Get("X-Team") != canaryTeam || r.URL.Query().Get("api-key") != canaryQuery {
		e.bad = append(e.bad, fmt.Sprintf("the request lacks a credential: %q %q", r.URL, r.Header))
	}
	rest := r.Header.Clone()
	for _, name := range []string{"Authorization", "X-Team", "Proxy-Authorization"} {
		rest.Del(name)
	}
	e.line = commandLines(e.home)
	if part := leaked(fmt.Sprint(rest, r.URL.Path) + body.String() + e.line); part != "" {
		e.bad = append(e.bad, "a secret goes elsewhere than it belongs: "+part)
	}
	e.mu.Unlock()
	_, basic, _ := strings.Cut(r.Header.Get("Proxy-Authorization"), " ")
	proxied, _ := base64.StdEncoding.DecodeString(basic)
	e.answer(w, r, strings.Join([]string{r.Header.Get("Authorization"), r.Header.Get("X-Team"), r.URL.RawQuery, "me:" + canaryUser, basic, string(proxied)}, " ; "))
}

// check wants that requests came, and how.
func (e *echo) check(t *testing.T) {
	t.Helper()
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == 0 || runtime.GOOS == "linux" && !strings.Contains(e.line, "--stdio") {
		t.Errorf("%d requests, the last by %q: this tests nothing", e.seen, e.line)
	}
	for _, text := range e.bad {
		t.Error(text)
	}
}

// env is that of a program that goes through the proxy with all the canaries.
func (e *echo) env() []string {
	return environment(e.home, "OPENAI_API_KEY="+canaryKey, "TEAM_TOKEN="+canaryTeam, "OPENAI_BASE_URL="+canaryBase,
		"OPENAI_MAX_RETRIES=0", "HTTP_PROXY="+proxyUser+strings.TrimPrefix(e.URL, "http://"))
}

// hostile are the ways in which a server repeats a secret.
var hostile = map[string]func(w http.ResponseWriter, r *http.Request, said string){
	"401 in every field": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 401, "application/json", fmt.Sprintf(`{"error":{"message":"Incorrect %[1]s","type":%[1]q,"code":%[1]q,"param":%[1]q}}`, said))
	},
	"400 masked": func(w http.ResponseWriter, _ *http.Request, _ string) {
		said := ""
		for _, c := range canaries() {
			said += c[:8] + strings.Repeat("*", 20) + c[len(c)-4:] + ", " + c[:6] + "..." + c[len(c)-4:] + "; "
		}
		send(w, 400, "application/json", fmt.Sprintf(`{"error":{"message":"Refused: %s","code":"x"}}`, said))
	},
	"500 all escaped": func(w http.ResponseWriter, _ *http.Request, said string) {
		text := ""
		for _, c := range []byte(said) {
			text += fmt.Sprintf(`\u%04x`, c)
		}
		send(w, 500, "application/json", `{"error":{"message":"`+text+`","code":"`+text+`"}}`)
	},
	"403 in percents": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 403, "application/json", `{"error":{"message":"see https://h.example/?x=`+url.QueryEscape(said)+`"}}`)
	},
	"502 in base64": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 502, "text/plain", "upstream said "+base64.StdEncoding.EncodeToString([]byte(said))+" "+hex.EncodeToString([]byte(said)))
	},
	"503 page": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 503, "text/html", "<html><body>"+said+"</body></html>")
	},
	"422 cut by a bound": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 422, "text/plain", strings.Repeat("x", 170)+said+strings.Repeat("y", 100)+said)
	},
	"200 in ids and headers": func(w http.ResponseWriter, _ *http.Request, said string) {
		for _, name := range []string{"X-Request-Id", "X-Echo", "Openai-Organization", "Set-Cookie"} {
			w.Header().Set(name, said)
		}
		send(w, 200, "application/json", fmt.Sprintf(`{"id":%[1]q,"model":%[1]q,"status":"completed","output":[{"type":"message","id":"m","role":"assistant","content":[{"type":"output_text","text":"`+hostileText+`"}]}]}`, said))
	},
	// In an answer the key and what headers carry are looked for, nothing else.
	"200 in the answer": func(w http.ResponseWriter, r *http.Request, _ string) {
		send(w, 200, "application/json", answerOf(r.Header.Get("Authorization")+" "+r.Header.Get("X-Team")))
	},
	"stream in the answer": func(w http.ResponseWriter, r *http.Request, _ string) {
		said := r.Header.Get("Authorization") + " " + r.Header.Get("X-Team")
		send(w, 200, "text/event-stream", fmt.Sprintf("data: {\"type\":\"response.output_item.added\",\"output_index\":0,\"item\":{\"type\":\"web_search_call\",\"id\":%[1]q,\"action\":{\"type\":\"search\",\"query\":%[1]q}}}\n\n"+
			"data: {\"type\":\"response.completed\",\"response\":%[2]s}\n\n", said, answerOf(said)))
	},
	"200 that is none": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 200, "application/"+said, said+" is what you sent")
	},
	"error event": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 200, "text/event-stream", fmt.Sprintf("data: no JSON %[1]s\n\nevent: %[1]s\ndata: x\n\ndata: {\"type\":\"error\",\"code\":%[1]q,\"message\":%[1]q}\n\n", said))
	},
	"failed response": func(w http.ResponseWriter, _ *http.Request, said string) {
		send(w, 200, "text/event-stream", fmt.Sprintf("data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"error\":{\"code\":%[1]q,\"message\":%[1]q}}}\n\n", said))
	},
	"stream cut off": func(w http.ResponseWriter, _ *http.Request, said string) {
		w.Header().Set("Content-Length", "100000")
		send(w, 200, "text/event-stream", fmt.Sprintf("data: {\"type\":\"response.created\",\"response\":{\"id\":%[1]q,\"model\":%[1]q}}\n\n", said))
	},
	"redirect": func(w http.ResponseWriter, _ *http.Request, said string) {
		w.Header().Set("Location", "http://elsewhere.invalid/?"+url.QueryEscape(said))
		send(w, 307, "text/plain", said)
	},
	"no HTTP": func(w http.ResponseWriter, _ *http.Request, said string) { raw(w, said+"\r\n\r\n") },
	"bad header": func(w http.ResponseWriter, _ *http.Request, said string) {
		raw(w, "HTTP/1.1 200 OK\r\n"+said+"\r\n\r\n")
	},
	"bytes that nobody asked for": func(w http.ResponseWriter, _ *http.Request, said string) {
		raw(w, "HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\n\r\n{}"+said+said)
	},
}

func send(w http.ResponseWriter, status int, contentType, body string) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write([]byte(body))
}

// raw answers with bytes that net/http would not write.
func raw(w http.ResponseWriter, text string) {
	conn, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		return
	}
	_, _ = conn.Write([]byte(text))
	_ = conn.Close()
}

// answerOf is a response that has a text wherever it can have one.
func answerOf(said string) string {
	return fmt.Sprintf(`{"id":%[1]q,"status":"completed","output":[{"type":"web_search_call","id":%[1]q,"action":{"type":"search","query":%[1]q,"sources":[{"type":"url","url":"https://a.example/%[1]s"}]}},`+
		`{"type":"message","id":%[1]q,"role":"assistant","content":[{"type":"output_text","text":%[1]q,"annotations":[{"type":"url_citation","url":"https://b.example/?%[1]s","title":%[1]q}]}]}]}`, said)
}
