package cli

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestTemporary(t *testing.T) {
	hash := strings.Repeat("4f", 32)

	for path, want := range map[string]bool{
		"/tmp/go-build3930207189/b001/exe/openai-responses-mcp":                        true,
		"/home/u/.cache/go-build/4f/" + hash + "-d/openai-responses-mcp":               true,
		`C:\Users\u\AppData\Local\Temp\go-build39\b001\exe\openai-responses-mcp.exe`:   true,
		`C:\Users\u\AppData\Local\go-build\4f\` + hash + `-d\openai-responses-mcp.exe`: true,
		"/home/u/go/bin/openai-responses-mcp":                                          false,
		"/home/u/go-build39/openai-responses-mcp":                                      false,
		"/opt/" + hash + "/openai-responses-mcp":                                       false,
		`C:\Users\u\go\bin\openai-responses-mcp.exe`:                                   false,
	} {
		t.Run(path, func(t *testing.T) {
			compare.Equal(t, "temporary", temporary().MatchString(path), want)
		})
	}
}
