package service

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The configuration has a profile for each tool.
func TestTools(t *testing.T) {
	byTool := profiles(new(config.Config))

	compare.Equal(t, "tools, one for each profile", len(server.Table.Tools), len(byTool))
	for _, tool := range server.Table.Tools {
		if _, ok := byTool[tool.Name]; !ok {
			t.Errorf("there is no profile for the tool %s", tool.Name)
		}
	}
}
