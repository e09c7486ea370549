package repo_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// page is a Markdown file with its fenced blocks cut out.
type page struct {
	name   string
	prose  string
	blocks []block
}

// block is a fenced block of a page.
type block struct {
	kind string // sh, json, ...
	text string
	line int
}

var (
	everywhere = []string{"*.md", "docs/*.md", "docs/*/*.md"}
	fenced     = regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$")
)

func pages(t *testing.T, patterns ...string) []page {
	t.Helper()
	var all []page
	for _, name := range files(t, patterns...) {
		text := read(t, name)
		p := page{name: name, prose: fenced.ReplaceAllString(text, "")}
		for _, m := range fenced.FindAllStringSubmatchIndex(text, -1) {
			indent := regexp.MustCompile("(?m)^" + text[m[2]:m[3]])
			p.blocks = append(p.blocks, block{
				kind: text[m[4]:m[5]],
				text: indent.ReplaceAllString(text[m[6]:m[7]], ""),
				line: strings.Count(text[:m[0]], "\n") + 1,
			})
		}
		all = append(all, p)
	}
	return all
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`)
	heading = regexp.MustCompile(`(?m)^#+ (.+)$`)
	dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)
)

func TestLinks(t *testing.T) {
	for _, p := range pages(t, everywhere...) {
		t.Run(p.name, func(t *testing.T) {
			for _, m := range link.FindAllStringSubmatch(p.prose, -1) {
				target := m[1] + m[2]
				outside := strings.Contains(target, "://") || strings.HasPrefix(target, "mailto:")
				if !outside {
					checkLink(t, p.name, target)
				}
			}
		})
	}
}

// checkLink checks that a link of a page leads to a file, and to a heading if it has an anchor.
func checkLink(t *testing.T, from, target string) {
	t.Helper()
	file, anchor, _ := strings.Cut(target, "#")

	name := from
	if file != "" {
		name = path.Join(path.Dir(from), file)
	}
	if _, err := os.Stat(filepath.Join(root, filepath.FromSlash(name))); err != nil {
		t.Errorf("link to %s: %v", target, err)
		return
	}
	if anchor != "" && !anchors(read(t, name))[anchor] {
		t.Errorf("link to %s, and %s has no such heading", target, name)
	}
}

// anchors returns the targets of links that GitHub makes of the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, h := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(text, ""), -1) {
		words := strings.ToLower(dropped.ReplaceAllString(h[1], ""))
		all[strings.ReplaceAll(words, " ", "-")] = true
	}
	return all
}

// JSON blocks are one or more values, YAML blocks are configurations.
func TestBlocks(t *testing.T) {
	for _, p := range pages(t, everywhere...) {
		for _, b := range p.blocks {
			at := fmt.Sprintf("%s:%d", p.name, b.line)
			kubernetes := strings.Contains(b.text, "apiVersion:")
			switch {
			case b.kind == "json":
				t.Run(at, func(t *testing.T) { checkJSON(t, b.text) })
			case b.kind == "yaml" && !kubernetes:
				t.Run(at, func(t *testing.T) { checkConfiguration(t, b.text) })
			}
		}
	}
}

func checkJSON(t *testing.T, text string) {
	d := json.NewDecoder(strings.NewReader(text))
	var err error
	for err == nil {
		err = d.Decode(new(any))
	}
	if err != io.EOF {
		t.Error(err)
	}
}

// reference matches a variable in a configuration.
var reference = regexp.MustCompile(`\$\{(\w+)\}`)

func checkConfiguration(t *testing.T, text string) {
	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, m := range reference.FindAllStringSubmatch(text, -1) {
		environ = append(environ, m[1]+"=value")
	}

	_, warnings, err := config.Load(config.Flags{Config: &file}, environ)
	if err != nil {
		t.Error(err)
	}
	if len(warnings) > 0 {
		t.Errorf("warnings: %q", warnings)
	}
}

// npmFlags are the flags of npm that the documents name.
var npmFlags = map[string]bool{"--omit": true, "--prefix": true}

var (
	code    = regexp.MustCompile("`[^`\n]+`")
	flagged = regexp.MustCompile("^`(?:openai-responses-mcp )?(?:[a-z]+ )?(--[a-z][a-z-]+)")
	keyed   = regexp.MustCompile(
		"^`((?:openai|request|responses|model_profiles|policy|search|server)\\.[a-z_.]+)`$")
)

// Flags and keys in the text exist.
func TestFlagsAndKeys(t *testing.T) {
	usage := usageTexts(t)
	keys := read(t, "docs/reference/config-reference.md")
	isKey := func(name string) bool {
		section := "\n### " + name + "\n"
		row := "\n| `" + name + "`"
		return strings.Contains(keys, section) || strings.Contains(keys, row)
	}

	for _, p := range pages(t, everywhere...) {
		t.Run(p.name, func(t *testing.T) {
			for _, c := range code.FindAllString(p.prose, -1) {
				flag := flagged.FindStringSubmatch(c)
				if flag != nil && !npmFlags[flag[1]] && !strings.Contains(usage, flag[1]) {
					t.Errorf("%s is not in the usage texts", c)
				}
				key := keyed.FindStringSubmatch(c)
				if key != nil && path.Ext(key[1]) != ".json" && !isKey(key[1]) {
					t.Errorf("there is no key %s", key[1])
				}
			}
		})
	}
}

func usageTexts(t *testing.T) string {
	t.Helper()
	var all strings.Builder
	for _, name := range files(t, "internal/cli/usage*.txt") {
		all.WriteString(read(t, name))
	}
	return all.String()
}

// The manual page and the usage texts have the same flags.
func TestManual(t *testing.T) {
	usage := usageTexts(t)
	manual := read(t, "packaging/man/openai-responses-mcp.1")
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(usage, -1) {
		if !regexp.MustCompile(`-` + name[2:] + `\b`).MatchString(manual) {
			t.Errorf("the manual page does not have %s", name)
		}
	}
	for _, m := range regexp.MustCompile(`Fl -([a-z][a-z-]+)`).FindAllStringSubmatch(manual, -1) {
		if !strings.Contains(usage, "--"+m[1]) {
			t.Errorf("the manual page has --%s, the usage texts do not", m[1])
		}
	}
}
