package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The pages have the usual sections in the usual order, and flags as one types them.
func TestSections(t *testing.T) {
	out := t.TempDir()
	err := write(out, time.Unix(0, 0).UTC())
	if err != nil {
		t.Fatal(err)
	}

	for _, tt := range []struct {
		page, sections string
		parts          []string
	}{
		{
			"openai-responses-mcp.1",
			"NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT FILES PRECEDENCE EXIT STATUS SEE ALSO",
			[]string{
				"\\fBopenai-responses-mcp --stdio [flags]\\fP\n",
				"\\fBopenai-responses-mcp COMMAND [flags]\\fP\n",
				"\\fB--stdio\\fP\n",
				"\\fB--debug\\fP[=PATH]\n",
				"HTTPS_PROXY ", "NO_PROXY ", "SSL_CERT_FILE ", "NO_COLOR ",
				"config.yaml ", "Flags win over variables",
			},
		},
		{
			"openai-responses-mcp-serve.1",
			"NAME SYNOPSIS DESCRIPTION OPTIONS ENVIRONMENT SEE ALSO",
			[]string{"\\fB--http\\fP=ADDRESS\n", "\\fB--drain\\fP=request.timeout_ms\n", "MCP_HTTP_TOKENS "},
		},
		{
			"openai-responses-mcp-ask.1",
			"NAME SYNOPSIS DESCRIPTION OPTIONS EXAMPLE SEE ALSO",
			[]string{"\\fB--json\\fP\n", "\\fB--domains\\fP=DOMAINS\n"},
		},
	} {
		t.Run(tt.page, func(t *testing.T) {
			data, err := os.ReadFile(filepath.Join(out, "man", tt.page))
			if err != nil {
				t.Fatal(err)
			}
			page := string(data)

			var sections []string
			for line := range strings.Lines(page) {
				title, isTitle := strings.CutPrefix(line, ".SH ")
				if isTitle {
					sections = append(sections, strings.TrimSpace(title))
				}
			}
			compare.Equal(t, "sections", strings.Join(sections, " "), tt.sections)
			for _, part := range tt.parts {
				compare.Contains(t, "the page", page, part)
			}
		})
	}
}
