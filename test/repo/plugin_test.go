package repo_test

import (
	"encoding/json"
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// plugin and servers are plugin.json and mcp.json of Agent Plugins 1.0.0, which allows no other
// members: https://agent-plugins.org/schemas/1.0.0/.
type plugin struct {
	Schema      string `json:"$schema"`
	Name        string
	Version     string
	Description string
	Author      struct{ Name, Email, URL string }
	Homepage    string
	Repository  string
	License     string
	Keywords    []string
}

type servers struct {
	Schema     string `json:"$schema"`
	MCPServers map[string]struct {
		Type, Command string
		Args          []string
	}
}

func TestPlugin(t *testing.T) {
	const schemas = "https://agent-plugins.org/schemas/1.0.0/"
	manifest := decode[plugin](t, "plugin.json")
	mcp := decode[servers](t, "mcp.json")
	isName := regexp.MustCompile(`^[a-z0-9]+([.-][a-z0-9]+)*$`).MatchString(manifest.Name)
	server := mcp.MCPServers[manifest.Name]

	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"plugin.json has the schema", manifest.Schema, schemas + "plugin.schema.json"},
		{"mcp.json has the schema", mcp.Schema, schemas + "mcp.schema.json"},
		{"the name is allowed", isName && len(manifest.Name) <= 64, true},
		{"there is one server", len(mcp.MCPServers), 1},
		{"its type", server.Type, "stdio"},
		{"its command is a bare name", server.Command, "npx"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if diff := cmp.Diff(tt.want, tt.got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// decode reads a JSON file; unknown members are errors.
func decode[T any](t *testing.T, name string) (v T) {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(read(t, name)))
	d.DisallowUnknownFields()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

// Each client has a name for the folder of the plugin. Without --prefix npx would start a package of
// the project that the client works on.
func TestPluginServer(t *testing.T) {
	for _, tt := range []struct{ file, path, folder string }{
		{"mcp.json", "mcpServers", "PLUGIN_ROOT"},
		{".claude-plugin/marketplace.json", "plugins.0.mcpServers", "CLAUDE_PLUGIN_ROOT"},
		{"gemini-extension.json", "mcpServers", "extensionPath"},
	} {
		t.Run(tt.file, func(t *testing.T) {
			server := gjson.Get(read(t, tt.file), tt.path+".openai-responses")
			got := []string{server.Get("command").String()}
			for _, arg := range server.Get("args").Array() {
				got = append(got, arg.String())
			}

			pinned := version.Name + "@" + version.Version
			want := []string{"npx", "--prefix", "${" + tt.folder + "}", "-y", pinned, "--stdio"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("command (-want +got):\n%s", diff)
			}
		})
	}
}

// The limits of https://agentskills.io/specification, and ours for the length.
func TestSkills(t *testing.T) {
	for _, name := range files(t, "skills/*/SKILL.md") {
		t.Run(name, func(t *testing.T) {
			text := read(t, name)
			_, head, _ := strings.Cut(text, "---\n")
			head, _, _ = strings.Cut(head, "\n---\n")
			var skill struct{ Name, Description string }
			if err := yaml.Unmarshal([]byte(head), &skill); err != nil {
				t.Fatal(err)
			}

			if want := path.Base(path.Dir(name)); skill.Name != want {
				t.Errorf("name = %q, want that of the folder, %q", skill.Name, want)
			}
			if n := len(skill.Description); n < 40 || n > 1024 {
				t.Errorf("the description has %d bytes, want 40 to 1024", n)
			}
			if !strings.HasSuffix(head, "\ndescription: "+skill.Description) {
				t.Error("the description is not on one line")
			}
			if len(text) >= 6000 {
				t.Errorf("it has %d bytes, want less than 6000", len(text))
			}
			for _, tool := range []string{"answer", "answer_detailed", "answer_quick"} {
				if !strings.Contains(text, "`"+tool+"`") {
					t.Errorf("it does not name %s", tool)
				}
			}
		})
	}
}

// entry is server.yaml of Docker's catalog, as far as ours uses it:
// https://github.com/docker/mcp-registry.
type entry struct {
	Name, Image, Type string
	Meta              struct {
		Category string
		Tags     []string
	}
	About  struct{ Title, Description, Icon string }
	Source struct{ Project string }
	Config struct {
		Description string
		Secrets     []struct{ Name, Env, Example, Description string }
	}
}

func TestDockerEntry(t *testing.T) {
	var e entry
	d := yaml.NewDecoder(strings.NewReader(read(t, "packaging/docker/server.yaml")))
	d.KnownFields(true)
	if err := d.Decode(&e); err != nil {
		t.Fatal(err)
	}
	isTitle := regexp.MustCompile(`^([A-Z]\S+( |$))+$`).MatchString(e.About.Title)

	for _, tt := range []struct {
		name      string
		got, want any
	}{
		{"the image", e.Image, "mcp/" + e.Name},
		{"the type", e.Type, "server"},
		{"the category", e.Meta.Category, "search"},
		{"the words of the title begin with capitals", isTitle, true},
		{"the project", e.Source.Project, "https://" + module},
		{"the name of the secret", e.Config.Secrets[0].Name, e.Name + ".api_key"},
		{"the variable of the secret", e.Config.Secrets[0].Env, "OPENAI_API_KEY"},
		{"the example", e.Config.Secrets[0].Example, "<OPENAI_API_KEY>"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if tt.got != tt.want {
				t.Errorf("got %v, want %v", tt.got, tt.want)
			}
		})
	}
}

// The files that manifests refer to by their address are in the repository.
func TestManifestLinks(t *testing.T) {
	const ours = module + `/(?:blob/)?main/|raw\.githubusercontent\.com/uchimanajet7/openai-responses-mcp/main/`
	for _, name := range files(t, "*.json", ".claude-plugin/*.json", "packaging/*/*.json",
		"packaging/docker/server.yaml") {
		for _, target := range find(`(?:`+ours+`)([\w./-]+)`, read(t, name)) {
			t.Run(name+" "+target, func(t *testing.T) { files(t, target) })
		}
	}
}
