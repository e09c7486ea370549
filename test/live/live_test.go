package main

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestQuestions(t *testing.T) {
	const key = "sk-live-test-0123456789"
	steps := map[string][]string{"cancel": {"slow=1h"}}

	// The checks in which the fake API is not like the real one.
	different := map[string][]string{
		"plain": {
			"a response with store: true is kept",
			"a kept response does not send encrypted reasoning",
			"a kept response can be deleted",
		},
		"cancel": {"only a response that began as a stream can be streamed"},
	}

	for _, q := range questions {
		t.Run(q.name, func(t *testing.T) {
			api, err := apitest.Start(append(steps[q.name], "always", "search")...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(api.Close)
			s := newSession(api.URL, key, "gpt-5-mini")
			q.ask(s)

			compare.Equal(t, "checks that differ", s.different, different[q.name])
			log := s.log.String()
			compare.Contains(t, "the traffic", log, `"gpt-5-mini"`)
			if strings.Contains(log, key) {
				t.Error("the traffic has the key")
			}
		})
	}
}
