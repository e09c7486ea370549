package answer

import (
	"fmt"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What Fetch returns of a response: the answer of Ask, also on the next day, or an error.
func TestFetch(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name     string
		GivenOut bool
		Body     string
		Elapsed  time.Duration
		Want     string
	}](t, "fetch") {
		compare.Bubble(t, tt.Name, func(t *testing.T) {
			a, _ := newAnswerer(0, tt.Body)
			began := time.Now()
			want, _ := a.Ask(t.Context(), &call.Call{Tool: "answer"}, Question{Query: "why"})
			time.Sleep(24*time.Hour - time.Since(began))

			c := &call.Call{Tool: "answer"}
			got, err := a.Fetch(t.Context(), c, ResponseRef{
				CallBegan:  began,
				Tool:       "answer",
				ResponseID: "resp_1",
				GivenOut:   tt.GivenOut,
			})
			compare.Equal(t, "error", fmt.Sprint(err), tt.Want)
			if err == nil {
				want.Meta.Elapsed = tt.Elapsed
				compare.Equal(t, "answer", got, want)
			}
		})
	}
}
