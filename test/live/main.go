// Live asks the real Responses API six short questions and checks what the program relies on: how
// the API answers, and what the specification says about answers. It needs a key, costs a few cents
// and runs only by hand, from the root of the repository:
//
//	OPENAI_API_KEY=... go run ./test/live
//
// OPENAI_BASE_URL names another server. The exit code is 1 if something differs. What was sent and
// received, without headers and so without the key, is in test/live/traffic, which git ignores.
//
//	main.go    the run, and the requests
//	checks.go  the questions and their checks
package main

import (
	"bytes"
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
)

const maxRequest = 3 * time.Minute

const folder = "test/live/traffic"

func main() {
	model := flag.String("model", "gpt-5-mini", "the model to ask")
	flag.Parse()

	base := cmp.Or(os.Getenv("OPENAI_BASE_URL"), "https://api.openai.com/v1")
	if err := run(base, os.Getenv("OPENAI_API_KEY"), *model); err != nil {
		fmt.Fprintln(os.Stderr, "live:", err)
		os.Exit(1)
	}
}

func run(base, key, model string) error {
	if key == "" {
		return errors.New("missing API key: set OPENAI_API_KEY")
	}
	if err := os.MkdirAll(folder, 0o700); err != nil {
		return err
	}
	s := newSession(base, key, model)
	for _, q := range questions {
		fmt.Printf("\n%s\n", q.name)
		q.ask(s)
		err := os.WriteFile(folder+"/"+q.name+".txt", s.log.Bytes(), 0o600)
		if err != nil {
			return err
		}
		s.log.Reset()
	}

	fmt.Printf("\ncost: %d tokens, %d searches\n", s.tokens, s.searches)
	if len(s.different) > 0 {
		return fmt.Errorf("%d checks differ", len(s.different))
	}
	return nil
}

// session is a run against one API. It is the http.RoundTripper of its requests, which records, and
// breaks a stream when it is told to.
type session struct {
	api       llm.Options
	model     string
	tokens    int64
	searches  int64
	different []string // checks that failed

	base     http.RoundTripper
	log      bytes.Buffer
	received bytes.Buffer // bodies of the current request, or of all that an answer takes
	cutAfter int          // events after which a stream breaks; 0: none does
}

func newSession(base, key, model string) *session {
	s := &session{model: model, base: httpclient.New(nil).Transport}
	s.api = llm.Options{
		API:        llm.API{BaseURL: strings.TrimSuffix(base, "/")},
		APIKey:     key,
		HTTPClient: &http.Client{Transport: s, Timeout: maxRequest},
	}
	return s
}

// check prints whether a sentence holds, and the end of the traffic if it does not.
func (s *session) check(sentence string, holds bool) {
	if holds {
		fmt.Println("  ok      ", sentence)
		return
	}
	s.different = append(s.different, sentence)
	log := s.log.Bytes()
	fmt.Printf("  DIFFERS  %s\n           after %s\n", sentence, log[max(0, len(log)-500):])
}

// send sends a request, "GET /id", and returns as much of the answer as comes.
func (s *session) send(request, body string) string {
	s.received.Reset()
	method, path, _ := strings.Cut(request, " ")
	req, err := http.NewRequest(method, s.api.BaseURL+"/responses"+path, strings.NewReader(body))
	if err != nil {
		return err.Error()
	}
	req.Header.Set("Authorization", "Bearer "+s.api.APIKey)
	req.Header.Set("Content-Type", "application/json")

	resp, err := s.api.HTTPClient.Do(req)
	if err != nil {
		return err.Error()
	}
	io.Copy(io.Discard, resp.Body) // received has what comes before an error
	resp.Body.Close()
	return s.received.String()
}

func (s *session) RoundTrip(req *http.Request) (*http.Response, error) {
	fmt.Fprintf(&s.log, "\n\n> %s %s\n", req.Method, req.URL.RequestURI())
	if req.GetBody != nil {
		sent, _ := req.GetBody() // from memory
		s.log.ReadFrom(sent)
	}

	resp, err := s.base.RoundTrip(req)
	if err != nil {
		fmt.Fprintf(&s.log, "\n\n< %v\n", err)
		return nil, err
	}
	fmt.Fprintf(&s.log, "\n\n< %s %s\n", resp.Status, resp.Header.Get("X-Request-Id"))
	resp.Body = &body{resp.Body, s}
	return resp, nil
}

// body is the body of an answer.
type body struct {
	io.ReadCloser
	*session
}

func (b *body) Read(p []byte) (int, error) {
	if b.cutAfter > 0 {
		if bytes.Count(b.received.Bytes(), []byte("\n\n")) >= b.cutAfter {
			b.cutAfter = 0
			return 0, io.ErrUnexpectedEOF
		}
		p = p[:1] // so that nothing of the next event is read
	}

	n, err := b.ReadCloser.Read(p)
	b.received.Write(p[:n])
	b.log.Write(p[:n])
	return n, err
}
