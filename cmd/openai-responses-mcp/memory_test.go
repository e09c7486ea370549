//go:build unix

package main

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A person never gets the answer to another person's question. Anonymous callers over HTTP cannot
// be told apart.
func TestEarlierQuestion(t *testing.T) {
	t.Parallel()
	const anonymous = overHTTP + "MCP_HTTP_TOKENS= "

	for _, tt := range []struct {
		name, args          string
		first, second, want string // the tokens, and what follows the question of the first
	}{
		{"the same person", overHTTP, alice, alice, "answer"},
		{"two people", overHTTP, alice, bob, "question"},
		{"anonymous", anonymous, "", "", "question"},
		{"stdio", overStdio, "", "", "answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "ok")
			r := newReplica(t, env, tt.args)
			r.tool(tt.first, "answer", "query", "Who is it?")

			m, _ := r.tool(tt.second, "answer", "query", "And then?", "follow_up_to", "Who is it?")
			got := m.Get(`result._meta.openai-responses-mcp/follow_up`).Str
			compare.Equal(t, "follow_up", got, tt.want)
			compare.Equal(t, "requests", len(api.Requests()) >= 2, true)
		})
	}
}
