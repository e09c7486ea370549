package cli

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A program below /tmp or a cache of Go goes away.
func TestTemporary(t *testing.T) {
	for _, row := range compare.Table(t, "temporary", 2) {
		t.Run(row[1], func(t *testing.T) {
			compare.Equal(t, "temporary", fmt.Sprint(goRunPath().MatchString(row[1])), row[0])
		})
	}
}
