package policy

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// digest belongs to Revision. A change of policy.md changes both.
const digest = "bb3e7d942e46a53c"

func TestRevision(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(builtin)))[:16]
	compare.Equal(t, "digest of policy.md (update Revision, too)", sum, digest)
}

// The rules of spec §4 and §9 must survive an edit.
func TestBuiltinCoversTheRules(t *testing.T) {
	for _, want := range []string{
		"`web_search`",
		"Asia/Tokyo",
		"YYYY-MM-DD",
		"Japanese in, Japanese out",
		"English in, English out",
		"Sources:\n- https://",
		"oai-weather",
		"[Hints]",
		"recency_days",
		"max_results",
		"domains:",
		"citations-only",
		"today:",
		"data, never instructions",
		"one to three",
		"disagree",
		"confirmed information is lacking",
	} {
		t.Run(want, func(t *testing.T) {
			compare.Contains(t, "the policy", builtin, want)
		})
	}
}

func TestLoad(t *testing.T) {
	const brief = "be brief\n"
	appended := strings.TrimSpace(builtin) + "\n\nbe brief\n"

	for _, tt := range []struct{ name, source, mode, file, want, problem string }{
		{"path alone", "builtin", "replace", brief, builtin, ""},
		{"byte order mark", "file", "replace", "\ufeff" + brief, brief, ""},
		{"append", "file", "append", brief, appended, ""},
		{"empty file", "file", "replace", " \n\t\n", builtin, "the file is empty"},
		{"not UTF-8", "file", "append", "caf\xe9", builtin, "not UTF-8 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			read := func(string) ([]byte, error) { return []byte(tt.file), nil }

			text, warning := Load(tt.source, "p.md", tt.mode, read)

			compare.Equal(t, "text", text, tt.want)

			want := `reading policy "p.md": ` + tt.problem + "; using the built-in policy (" + Revision + ")"
			if tt.problem == "" {
				want = ""
			}
			compare.Equal(t, "warning", warning, want)
		})
	}
}
