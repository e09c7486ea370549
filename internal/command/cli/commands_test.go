package cli

import (
	"fmt"
	"testing"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/command/clients"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// On Windows variables have no case, and the client's own command is for one of two shells.
func TestWindows(t *testing.T) {
	variables := env.ToMap(withUpperCase([]string{"Debug=a", "PATH=b", "path=c"}))
	compare.Equal(t, "variables", fmt.Sprint(variables), "map[DEBUG:a Debug:a PATH:b path:c]")

	codex, _ := clients.Find("codex")
	ways := otherWays(codex, clients.Server{OS: "windows"})
	compare.Contains(t, "ways", ways, "or run it in the Command Prompt (cmd) and add")
}

// A program below /tmp, or in a cache of Go or npx, goes away.
func TestTemporary(t *testing.T) {
	for _, row := range compare.Table(t, "temporary", 2) {
		t.Run(row[1], func(t *testing.T) {
			isTemporary := goRunPath().MatchString(row[1]) || npxPath().MatchString(row[1])
			compare.Equal(t, "temporary", fmt.Sprint(isTemporary), row[0])
		})
	}
}
