package cli

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/command/clients"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// On Windows the client's own command is for one of two shells.
func TestWindows(t *testing.T) {
	codex, _ := clients.Find("codex")
	ways := otherWays(codex, clients.Server{OS: "windows"})
	compare.Contains(t, "ways", ways, "or run it in the Command Prompt (cmd) and add")
}

// A program below /tmp or a cache of Go goes away.
func TestTemporary(t *testing.T) {
	for _, row := range compare.Table(t, "temporary", 2) {
		t.Run(row[1], func(t *testing.T) {
			compare.Equal(t, "temporary", fmt.Sprint(goRunPath().MatchString(row[1])), row[0])
		})
	}
}
