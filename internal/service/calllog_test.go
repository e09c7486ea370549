package service

import (
	"bytes"
	"log/slog"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The line of a call has the fields of the example that operators read.
func TestCallLogFields(t *testing.T) {
	const runbooks = "docs/reference/runbooks.md"
	page, err := os.ReadFile("../../" + runbooks)
	if err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	s := &Service{Log: slog.New(slog.NewTextHandler(&log, nil))}
	s.CallLogger(&logging.Limiter{})(server.CallEnd{Call: &call.Call{}})

	fields := func(text, before string) (names []string) {
		_, line, _ := strings.Cut(text, before)
		line, _, _ = strings.Cut(line, "\n")
		for _, m := range regexp.MustCompile(`(\w+)=`).FindAllStringSubmatch(line, -1) {
			names = append(names, m[1])
		}
		return names
	}
	want := fields(string(page), " INF call ")
	compare.Equal(t, "fields of a call, and of the example in "+runbooks, fields(log.String(), " msg=call "), want)

	log.Reset()
	c := &call.Call{Used: call.Used{GuessedTokens: 1}}
	c.Usage.CacheWrite = 1
	s.CallLogger(&logging.Limiter{})(server.CallEnd{Call: c})
	for _, name := range []string{"guessed_tokens", "cache_write_tokens"} {
		compare.Contains(t, "the line", log.String(), " "+name+"=1 ")
		compare.Contains(t, runbooks, string(page), "`"+name+"`")
	}
}

// Calls without a request to the API share a line if their tool and their reason are the same.
func TestLoopsShareLines(t *testing.T) {
	var log bytes.Buffer
	s := &Service{Log: slog.New(slog.NewTextHandler(&log, nil))}
	limiter := &logging.Limiter{}
	observe := s.CallLogger(limiter)
	for _, requests := range []int{0, 0, 0, 1, 1} {
		observe(server.CallEnd{
			Call: &call.Call{Used: call.Used{Requests: requests}},
			Err:  call.KindAuth.Errorf("refused"),
		})
	}
	observe(server.CallEnd{
		Call: &call.Call{Tool: "answer_quick"},
		Err:  call.KindAuth.Errorf("refused"),
	})
	limiter.Flush()
	compare.Equal(t, "lines", strings.Count(log.String(), "\n"), 5)
	compare.Equal(t, "shared lines", strings.Count(log.String(), " count=2 "), 1)
}

// No part of a key is left where a text of the API is cut for the log.
func TestKeyInCallLog(t *testing.T) {
	const key = "0f3c9a77b1de42Q8w2Xr5Tn1BzHn4Vs8Ec2Ra7Lm6Pk9Yd3Wq5"
	r := redact.New(key)
	for n := range 200 {
		said := strings.Repeat("x", n) + key
		for _, err := range []error{
			call.KindNoText.Errorf("incomplete: %s", said),
			&call.APIError{Kind: call.KindBadRequest, Code: said},
		} {
			var log bytes.Buffer
			s := &Service{
				Log:     slog.New(slog.NewTextHandler(&log, nil)),
				Advisor: advice.Advisor{Redactor: r},
				Options: Options{Redactor: r},
			}
			s.CallLogger(&logging.Limiter{})(server.CallEnd{Call: &call.Call{}, Err: err})
			if strings.Contains(log.String(), key[:4]) {
				t.Fatalf("after %d characters: %s", n, &log)
			}
		}
	}
}
