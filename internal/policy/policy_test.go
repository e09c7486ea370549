package policy

import (
	"crypto/sha256"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"
)

// digest belongs to Revision. A change of policy.md changes both.
const digest = "bb3e7d942e46a53c"

func TestRevision(t *testing.T) {
	form := regexp.MustCompile(`^\d{4}-\d{2}-\d{2} v\d+\.\d+\.\d+$`)
	if !form.MatchString(Revision) {
		t.Errorf("Revision = %q, want a date and a version such as 2026-11-21 v1.3.0", Revision)
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(builtin)))[:16]
	if sum != digest {
		t.Errorf("policy.md has digest %s, want %s: update Revision and digest", sum, digest)
	}
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
			if !strings.Contains(builtin, want) {
				t.Errorf("the policy lacks %q", want)
			}
		})
	}
}

func TestLoad(t *testing.T) {
	files := fstest.MapFS{
		"p.md":     {Data: []byte("be brief\n")},
		"bom.md":   {Data: []byte("\ufeffbe brief\n")},
		"empty.md": {Data: []byte(" \n\t\n")},
		"latin.md": {Data: []byte("caf\xe9")},
	}
	for _, tt := range []struct{ name, source, path, mode, want, problem string }{
		{"path alone", "builtin", "p.md", "replace", builtin, ""},
		{"byte order mark", "file", "bom.md", "replace", "be brief\n", ""},
		{"append", "file", "p.md", "append", strings.TrimSpace(builtin) + "\n\nbe brief\n", ""},
		{"empty file", "file", "empty.md", "replace", builtin, "the file is empty"},
		{"not UTF-8", "file", "latin.md", "append", builtin, "not UTF-8 text"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			want := ""
			if tt.problem != "" {
				const format = "reading policy %q: %s; using the built-in policy (%s)"
				want = fmt.Sprintf(format, tt.path, tt.problem, Revision)
			}

			text, warning := Load(tt.source, tt.path, tt.mode, files.ReadFile)
			if text != tt.want {
				t.Errorf("text = %.40q, want %.40q", text, tt.want)
			}
			if warning != want {
				t.Errorf("warning = %q, want %q", warning, want)
			}
		})
	}
}
