package policy

import (
	"crypto/sha256"
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// digest belongs to Revision. A change of policy.md changes both.
const digest = "f2c31e8f89bdc72a"

func TestRevision(t *testing.T) {
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(builtin)))[:16]
	compare.Equal(t, "digest of policy.md: write it here, and the day and version into Revision", sum, digest)
}

// The rules of spec §4 and §9 must survive an edit.
func TestBuiltinCoversTheRules(t *testing.T) {
	for _, want := range []string{
		"`web_search`",
		"Asia/Tokyo",
		"YYYY-MM-DD",
		"(accessed 2025-08-09)",
		"Japanese in, Japanese out",
		"English in, English out",
		"Sources:\n- https://",
		"oai-weather",
		"[Hints]",
		"citations-only",
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
