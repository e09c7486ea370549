package repo_test

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// oneLine returns a text with a blank for each line break and gap.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// The specification, of which the reference pages are a part, says what the code has.
func TestSpecification(t *testing.T) {
	spec := oneLine(read(t, "docs/spec.md"))
	for _, page := range files(t, "docs/reference/*.md") {
		spec += " " + oneLine(read(t, page))
	}
	for _, row := range compare.Table(t, "spec", 3) {
		file, code, says := "internal/"+row[0], row[1], row[2]
		t.Run(says, func(t *testing.T) {
			if !strings.Contains(spec, says) {
				t.Error("docs/spec.md and docs/reference do not say it")
			}
			if !strings.Contains(oneLine(read(t, file)), code) {
				t.Errorf("%s does not have %q", file, code)
			}
		})
	}
}

// The changelog names each tool.
func TestNamedTools(t *testing.T) {
	changelog := read(t, "docs/changelog.md")
	for _, tool := range call.Tools {
		if !strings.Contains(changelog, "`"+tool.Name+"`") {
			t.Errorf("docs/changelog.md does not name %s", tool.Name)
		}
	}
}

// Sections of pages name what a file has.
func TestNames(t *testing.T) {
	for _, row := range compare.Table(t, "names", 4) {
		file, pattern, page, heading := row[0], row[1], row[2], row[3]
		t.Run(page+" "+heading, func(t *testing.T) {
			_, section, _ := strings.Cut(read(t, page), heading)
			section, _, _ = strings.Cut(section, "\n#")
			names := find(pattern, read(t, file))
			compare.Equal(t, pattern+" finds names", len(names) > 1, true)
			for _, name := range names {
				if find("[`.]("+name+`)\b`, section) == nil {
					t.Errorf("it does not have %s of %s", name, file)
				}
			}
		})
	}
}

// Section 3.1 has the tools and their arguments, and 14 the commands.
func TestSpecifiedNames(t *testing.T) {
	spec := read(t, "docs/spec.md")
	_, section, _ := strings.Cut(spec, "### 3.1 ")
	section, _, _ = strings.Cut(section, "### 3.2 ")
	shown := gjson.Parse(fenced.FindStringSubmatch(section)[3])

	compare.Equal(t, "tool", shown.Get("name").Str, call.Tools[0].Name)
	for _, tool := range call.Tools {
		if !strings.Contains(section, tool.Description) {
			t.Errorf("§3.1 lacks the description of %s", tool.Name)
		}
	}
	want := map[string]string{}
	for _, arg := range answer.Arguments {
		if arg.ListedBy(call.Tools[0].Name) {
			want[arg.Name] = arg.Type()
		}
		if !strings.Contains(section, "\n| `"+arg.Name+"` | ") {
			t.Errorf("§3.1 does not say what %s must be", arg.Name)
		}
	}
	got := map[string]string{}
	shown.Get("inputSchema.properties").ForEach(func(name, schema gjson.Result) bool {
		got[name.Str] = schema.Get("type").Str
		return true
	})
	compare.Equal(t, "arguments", got, want)

	_, section, _ = strings.Cut(spec, "## 14. ")
	section, _, _ = strings.Cut(section, ":\n")
	for _, c := range cli.Command().Commands() {
		if c.Name() != "help" && !strings.Contains(section, "`"+c.Name()+"`") {
			t.Errorf("§14 does not name %s", c.Name())
		}
	}
}
