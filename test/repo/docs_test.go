package repo_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// page is a Markdown file with its fenced blocks cut out.
type page struct {
	name, prose string
	blocks      []block
}

type block struct {
	kind, text string // the kind is sh, json, ...
	line       int
}

var (
	everywhere = []string{"*.md", "docs/*.md", "docs/*/*.md"}
	fenced     = regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$")
)

func pages(t *testing.T, patterns ...string) (all []page) {
	t.Helper()
	for _, name := range files(t, patterns...) {
		text := read(t, name)
		p := page{name: name, prose: fenced.ReplaceAllString(text, "")}
		for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
			indent, kind, lines := text[m[2]:m[3]], text[m[4]:m[5]], text[m[6]:m[7]]
			lines = regexp.MustCompile("(?m)^"+indent).ReplaceAllString(lines, "")
			p.blocks = append(p.blocks, block{kind, lines, strings.Count(text[:m[0]], "\n") + 1})
		}
		all = append(all, p)
	}
	return all
}

var (
	link      = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading   = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped   = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
	reference = regexp.MustCompile(`\$\{(\w+)\}`)
)

func TestLinks(t *testing.T) {
	for _, p := range pages(t, everywhere...) {
		for _, m := range link.FindAllStringSubmatch(p.prose, -1) {
			target := m[1] + m[2]
			if strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:") {
				continue
			}
			file, anchor, _ := strings.Cut(target, "#")
			name := p.name
			if file != "" {
				name = path.Join(path.Dir(p.name), file)
			}
			_, err := os.Stat(filepath.Join(root, filepath.FromSlash(name)))
			if err != nil {
				t.Errorf("%s links to %s: %v", p.name, target, err)
			}
			if err != nil || anchor == "" {
				continue
			}
			headings := heading.FindAllStringSubmatch(fenced.ReplaceAllString(read(t, name), ""), -1)
			if !slices.ContainsFunc(headings, func(h []string) bool { // GitHub makes a link target of each
				return anchor == strings.ReplaceAll(strings.ToLower(dropped.ReplaceAllString(h[1], "")), " ", "-")
			}) {
				t.Errorf("%s links to %s, and %s has no such heading", p.name, target, name)
			}
		}
	}
}

// JSON blocks are one or more values, YAML blocks are configurations.
func TestBlocks(t *testing.T) {
	for _, p := range pages(t, everywhere...) {
		for _, b := range p.blocks {
			at := fmt.Sprintf("%s:%d", p.name, b.line)
			switch b.kind {
			case "json":
				d := json.NewDecoder(strings.NewReader(b.text))
				for err := error(nil); err == nil && d.More(); {
					if err = d.Decode(new(any)); err != nil {
						t.Errorf("%s: %v", at, err)
					}
				}
			case "yaml":
				if strings.Contains(b.text, "apiVersion:") {
					continue // Kubernetes
				}
				file := filepath.Join(t.TempDir(), "config.yaml")
				if err := os.WriteFile(file, []byte(b.text), 0o600); err != nil {
					t.Fatal(err)
				}
				var environ []string
				for _, m := range reference.FindAllStringSubmatch(b.text, -1) {
					environ = append(environ, m[1]+"=value")
				}
				if _, warnings, err := config.Load(config.Flags{Config: &file}, environ); err != nil || len(warnings) > 0 {
					t.Errorf("%s: %v %q", at, err, warnings)
				}
			}
		}
	}
}

var (
	code    = regexp.MustCompile("`[^`\n]+`")
	flagged = regexp.MustCompile("^`(?:openai-responses-mcp )?(?:[a-z]+ )?(--[a-z][a-z-]+)")
	keyed   = regexp.MustCompile("^`((?:openai|request|responses|model_profiles|policy|search|server)\\.[a-z_.]+)`$")
	manual  = regexp.MustCompile(`Fl -([a-z][a-z-]+)`)
)

// Flags and keys in the text exist, and the manual page has every flag.
func TestFlagsAndKeys(t *testing.T) {
	var usage string
	for _, name := range files(t, "internal/cli/usage*.txt") {
		usage += read(t, name)
	}
	keys := read(t, "docs/reference/config-reference.md")
	isKey := func(s string) bool {
		return strings.Contains(keys, "\n### "+s+"\n") || strings.Contains(keys, "\n| `"+s+"`")
	}
	for _, p := range pages(t, everywhere...) {
		for _, c := range code.FindAllString(p.prose, -1) {
			if m := flagged.FindStringSubmatch(c); m != nil && !strings.Contains(usage, m[1]) && m[1] != "--omit" { // npm's
				t.Errorf("%s: %s is not in the usage texts", p.name, c)
			}
			if m := keyed.FindStringSubmatch(c); m != nil && path.Ext(m[1]) != ".json" && !isKey(m[1]) {
				t.Errorf("%s: there is no key %s", p.name, m[1])
			}
		}
	}
	page := read(t, "packaging/man/openai-responses-mcp.1")
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(usage, -1) {
		if !regexp.MustCompile(`-` + name[2:] + `\b`).MatchString(page) {
			t.Errorf("the manual page does not have %s", name)
		}
	}
	for _, m := range manual.FindAllStringSubmatch(page, -1) {
		if !strings.Contains(usage, "--"+m[1]) {
			t.Errorf("the manual page has --%s, the usage texts do not", m[1])
		}
	}
}
