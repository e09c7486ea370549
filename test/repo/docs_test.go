package repo_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// page is a Markdown file with its fenced blocks cut out.
type page struct {
	name   string
	prose  string
	blocks []block
}

// block is a fenced block of a page.
type block struct{ kind, text string }

var (
	everywhere = []string{"*.md", "docs/*.md", "docs/*/*.md"}
	fenced     = regexp.MustCompile("(?ms)^( *)```([^\n]*)\n(.*?)^ *```$")
)

func pages(t *testing.T, patterns ...string) (all []page) {
	t.Helper()
	for _, name := range files(t, patterns...) {
		text := read(t, name)
		p := page{name: name, prose: fenced.ReplaceAllString(text, "")}
		for _, m := range fenced.FindAllStringSubmatch(text, -1) {
			indent := regexp.MustCompile("(?m)^" + m[1])
			p.blocks = append(p.blocks, block{m[2], indent.ReplaceAllString(m[3], "")})
		}
		all = append(all, p)
	}
	return all
}

// find returns what the groups of a pattern match in a text, sorted, once each.
func find(pattern, text string) (all []string) {
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(text, -1) {
		all = append(all, strings.Join(m[1:], ""))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func TestLinks(t *testing.T) {
	for _, p := range pages(t, everywhere...) {
		t.Run(p.name, func(t *testing.T) {
			if !strings.HasPrefix(p.prose, "# ") {
				t.Error("it does not begin with a title")
			}
			for _, target := range find(`\]\(([^)\s]+)\)|(?:src|srcset|href)="([^"]+)"`, p.prose) {
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
	file, anchor, anchored := strings.Cut(target, "#")
	name := path.Join(path.Dir(from), file)
	if file == "" {
		name = from
	}

	if _, err := os.Stat(filepath.Join(root, name)); err != nil {
		t.Errorf("link to %s: %v", target, err)
	} else if anchored && !slices.Contains(anchors(read(t, name)), anchor) {
		t.Errorf("link to %s, and %s has no such heading", target, name)
	}
}

// Each alert leads to its heading.
func TestRunbooks(t *testing.T) {
	rules := strings.Split(read(t, "config/prometheus/rules.yaml"), "- alert: ")
	for _, rule := range rules[1:] {
		name, annotations, _ := strings.Cut(rule, "\n")
		t.Run(name, func(t *testing.T) {
			_, url, _ := strings.Cut(annotations, "runbook_url: https://"+module+"/blob/main/")
			target, _, _ := strings.Cut(url, "\n")
			if !strings.HasSuffix(target, "#"+strings.ToLower(name)) {
				t.Errorf("runbook_url leads to %q", target)
			}
			checkLink(t, "README.md", target)
		})
	}
}

// dropped is what GitHub leaves out of the targets that it makes of headings.
var dropped = regexp.MustCompile(`[^\p{L}\p{N}_ -]`)

// anchors returns the targets of links that GitHub makes of the headings of a page.
func anchors(text string) (all []string) {
	for _, heading := range find(`(?m)^#+ (.+)$`, fenced.ReplaceAllString(text, "")) {
		words := strings.ToLower(dropped.ReplaceAllString(heading, ""))
		all = append(all, strings.ReplaceAll(words, " ", "-"))
	}
	return all
}

// checkBlocks checks the text of each block of a kind that has a check.
func checkBlocks(t *testing.T, checks map[string]func(*testing.T, string), patterns ...string) {
	for _, p := range pages(t, patterns...) {
		for _, b := range p.blocks {
			check := checks[b.kind]
			if check == nil {
				continue
			}

			t.Run(fmt.Sprintf("%s %.30s", p.name, b.text), func(t *testing.T) {
				check(t, b.text)
			})
		}
	}
}

// Examples with the profiles of tools have all of them. -update adds what a new one lacks.
func TestProfiles(t *testing.T) {
	for _, name := range files(t, everywhere...) {
		t.Run(name, func(t *testing.T) {
			text := read(t, name)
			want := text
			for i, tool := range call.Tools[1:] {
				row := regexp.MustCompile("(?m)^  " + call.Tools[i].Name + ":.*\n(?:    .*\n)*(?:  " + tool.Name + ":)?")
				want = row.ReplaceAllStringFunc(want, func(found string) string {
					if strings.HasSuffix(found, "\n") {
						found += fmt.Sprintf("  %s: { reasoning_effort: %s, verbosity: %s }\n",
							tool.Name, tool.Effort, tool.Verbosity)
					}
					return found
				})
			}
			if *update {
				write(t, name, want)
				return
			}

			compare.Equal(t, "profiles (-update adds them)", text, want)
		})
	}
}

// JSON blocks are one or more values, YAML blocks are configurations.
func TestBlocks(t *testing.T) {
	checkBlocks(t, map[string]func(*testing.T, string){
		"json": checkJSON,
		"yaml": checkConfiguration,
	}, everywhere...)
}

func checkJSON(t *testing.T, text string) {
	var err error
	for d := json.NewDecoder(strings.NewReader(text)); err == nil; {
		err = d.Decode(new(any))
	}
	if err != io.EOF {
		t.Error(err)
	}
}

func checkConfiguration(t *testing.T, text string) {
	if strings.Contains(text, "apiVersion:") { // of Kubernetes
		return
	}

	file := filepath.Join(t.TempDir(), "config.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	var environ []string
	for _, variable := range find(`\$\{(\w+)\}`, text) {
		environ = append(environ, variable+"=value")
	}

	cfg, warnings, err := config.Load(config.Flags{Config: &file}, environ)
	if err != nil || len(warnings) > 0 {
		t.Fatalf("error %v, warnings %q", err, warnings)
	}

	// A copied example must not make two tools do the same.
	answer := cfg.ModelProfiles["answer"]
	for _, tool := range call.Tools[1:] {
		if cfg.ModelProfiles[tool.Name].ModelSettings == answer.ModelSettings {
			t.Errorf("%s is like answer: %+v", tool.Name, *answer)
		}
	}
}

// Patterns of code in the text.
const (
	flagged = "`(?:openai-responses-mcp )?(?:[a-z]+ )?(--[a-z][a-z-]+)[^`\n]*`"
	keyed   = "`((?:openai|request|responses|model_profiles|policy|search|server)\\.[a-z_.]+)`"
)

// Flags and keys in the text exist. Commands, and flags of serve, have a place in the pages.
func TestFlagsAndKeys(t *testing.T) {
	flags := []string{"--omit", "--prefix", "--fetch-retry-mintimeout", "--skip"} // of npm and goreleaser
	root := cli.Command()
	reference := ""
	for _, name := range files(t, "docs/reference/*.md") {
		text, _, _ := strings.Cut(read(t, name), "<!-- generated: keys -->") // which is no explanation
		reference += text
	}
	for _, c := range append(root.Commands(), root) {
		c.InitDefaultHelpFlag()
		c.LocalFlags().VisitAll(func(f *pflag.Flag) { flags = append(flags, "--"+f.Name) })
		if !strings.Contains(reference, c.CommandPath()) && c.Name() != "help" {
			t.Errorf("docs/reference does not show %s", c.CommandPath())
		}
	}
	serve, _, _ := root.Find([]string{"serve"})
	serve.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if !strings.Contains(reference, "`--"+f.Name) && f.Name != "help" {
			t.Errorf("docs/reference does not have --%s of serve", f.Name)
		}
	})

	keys := read(t, "docs/reference/config-reference.md")
	for _, p := range pages(t, everywhere...) {
		t.Run(p.name, func(t *testing.T) {
			for _, flag := range find(flagged, p.prose) {
				if !slices.Contains(flags, flag) {
					t.Errorf("there is no flag %s", flag)
				}
			}

			for _, key := range find(keyed, p.prose) {
				inTable := strings.Contains(keys, "\n| `"+key+"`")
				inSection := strings.Contains(keys, "\n### "+key+"\n")
				if !inTable && !inSection && path.Ext(key) != ".json" {
					t.Errorf("there is no key %s", key)
				}
			}
		})
	}
}

// Two pages name functions, methods and tests that exist. A field of tasks has such a name, too.
func TestNamedFunctions(t *testing.T) {
	const named = "`([a-z]+[A-Z]\\w*|Test\\w+)`|\\b([A-Z][a-z]\\w*\\.\\w+)"
	all := readAll(t, "")
	for _, name := range files(t, "test/*/*_test.go") {
		all += read(t, name)
	}
	exist := append(find(declaration, all), "ttlMs")
	for _, name := range find(named, read(t, "docs/architecture.md")+read(t, "docs/adding.md")) {
		joined := strings.Replace(name, ".", "", 1)
		same := func(declared string) bool { // with the type before the name of a method
			return declared == joined || joined == name && strings.HasSuffix(declared, name)
		}
		if !slices.ContainsFunc(exist, same) {
			t.Errorf("there is no %s", name)
		}
	}
}

// The steps for a kind of error, or for a way for a call to end, name each function that asks for one:
// it may have to know the next one, too.
func TestUsesOfKinds(t *testing.T) {
	causes := find(`(?m)^\t(Err\w+) `, read(t, "internal/base/call/cause.go"))
	causes = append(causes, "ErrWaiting", "IsCancelled", "TimeoutError\\]")
	asks := regexp.MustCompile(`call\.(Kind[A-Z]|` + strings.Join(causes, "|") + `)`)
	makes := regexp.MustCompile(`([Kk]ind: +|[Kk]ind = )call\.Kind\w+|return call\.Kind\w+\n|` +
		`call\.Kind\w+\.Errorf|call\.KindOf`)
	declared := regexp.MustCompile(`(?m)^(?:func|var) (?:\(.*?\) |\(\s*)?`)
	comment := regexp.MustCompile(`//.*`)

	adding := read(t, "docs/adding.md")
	steps := section(adding, "A way for a call to end") + section(adding, "A kind of error") +
		section(read(t, "docs/architecture.md"), "How a call ends")
	named := find(`(\w+)`, steps)
	for _, name := range sources(t, "") {
		if slices.Contains([]string{"kind.go", "cause.go", "kinds.go"}, path.Base(name)) ||
			strings.HasSuffix(name, "_test.go") {
			continue
		}
		for _, code := range declared.Split(comment.ReplaceAllString(read(t, name), ""), -1)[1:] {
			function := regexp.MustCompile(`^\w*`).FindString(code)
			code = makes.ReplaceAllString(code, "")
			if asks.MatchString(code) && !slices.Contains(named, function) {
				t.Errorf("%s: %s is in no step", name, function)
			}
		}
	}
}

// section returns the section of a page below a heading.
func section(page, heading string) string {
	_, text, _ := strings.Cut(page, "\n## "+heading+"\n")
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}
