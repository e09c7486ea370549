package server

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// callAs calls answer, and returns the call as it was observed.
func (s *Server) callAs(t *testing.T, name, query string, calls *[]CallEnd) CallEnd {
	t.Helper()
	person := call.Person{ID: "token:" + name, Name: name}
	s.callTool(t.Context(), t.Context(), request(query), person)
	return (*calls)[len(*calls)-1]
}

// callsPerHour is a budget of n calls an hour.
func callsPerHour(n int) *budget.Budget {
	return budget.New(budget.Options{Limits: budget.Limits{CallsPerHour: n}})
}

// The error says when the next call is possible. Invalid arguments and calls that the API was not
// asked for take nothing, failed calls do.
func TestLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, calls := newServer(func(o *Options) { o.Budget = callsPerHour(3) })
		for _, tt := range compare.Rows[struct {
			After                time.Duration
			Query, Outcome, Want string
		}](t, "limited") {
			time.Sleep(tt.After)
			ended := s.callAs(t, "alice", tt.Query, calls)
			compare.Equal(t, "outcome", ended.Outcome, tt.Outcome)

			compare.Equal(t, "error", fmt.Sprint(ended.Err), tt.Want)
		}
	})
}

// A call that would be a task is refused at once. Requests about a task are no calls.
func TestLimitedTask(t *testing.T) {
	inSession(t, func(p *peer) {
		id := p.start("why")
		for range 3 {
			p.wantTask(id, `"status":"working"`)
		}
		p.want(p.call(withTasks, "why"), `"isError":true`,
			`"answer failed: used 1 of 1 calls an hour; the next call at 01:00 (UTC), in 1 h 0 min"`)
	}, func(o *Options) { o.Budget = callsPerHour(1) })
}
