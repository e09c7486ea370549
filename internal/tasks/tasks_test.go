package tasks

import (
	"context"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A task is found by its person alone, here and, if the API runs it, in another process.
func TestOwners(t *testing.T) {
	const alice = "token:alice"
	api := &API{
		Secrets: func() []string { return []string{newSecret} },
		BaseURL: baseURL,
		Keep:    time.Hour,
	}
	for name, api := range map[string]*API{"here": nil, "at the API": api} {
		t.Run(name, func(t *testing.T) {
			o := Options{Timeout: time.Hour, API: api}
			first, second := New(o), New(o)
			defer first.Close()
			c := &call.Call{Tool: "answer", Person: call.Person{ID: alice}}
			run := func(ctx context.Context) (*answer.Answer, error) {
				c.Sink(call.Created{ID: "resp_1"})
				<-ctx.Done()
				return nil, ctx.Err()
			}
			task, keep := first.Start(t.Context(), c, nil, run)
			compare.Equal(t, "kept", keep(time.Hour), true)

			for _, who := range []string{"token:bob", "", alice, "token:bob", ""} {
				found := first.Find(task.ID, who) != nil
				compare.Equal(t, "found by "+who, found, who == alice)
				found = second.Find(task.ID, who) != nil
				compare.Equal(t, "found elsewhere by "+who, found, who == alice && api != nil)
			}
		})
	}
}
