package repo_test

import (
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Agent Plugins 1.0.0 allows these members only: https://agent-plugins.org/schemas/1.0.0/. Each client
// has a name for the folder of the plugin. Without --prefix npx would start a package of the project
// that the client works on.
func TestPlugin(t *testing.T) {
	const (
		market = ".claude-plugin/marketplace.json"
		gemini = "gemini-extension.json"
		server = "mcpServers.openai-responses"
		start  = `"npx" ["--prefix","${%s}","-y","` +
			version.Name + "@" + version.Version + `","--stdio"]`
	)
	for _, tt := range []struct{ file, path, want string }{
		{"plugin.json", "@keys", `["$schema","name","version","description","author","homepage",` +
			`"repository","license","keywords"]`},
		{"plugin.json", "author.@keys", `["name","url"]`},
		{"mcp.json", "@keys", `["$schema","mcpServers"]`},
		{"mcp.json", "mcpServers.@keys", `["openai-responses"]`},
		{"mcp.json", server + ".@keys", `["type","command","args"]`},
		{"mcp.json", server, fmt.Sprintf(start, "PLUGIN_ROOT")},
		{gemini, server, fmt.Sprintf(start, "extensionPath")},
		{market, "plugins.0." + server, fmt.Sprintf(start, "CLAUDE_PLUGIN_ROOT")},
	} {
		t.Run(tt.file+" "+tt.path, func(t *testing.T) {
			value := gjson.Get(read(t, tt.file), tt.path)
			got := value.Get("@ugly").Raw
			if value.IsObject() {
				got = value.Get("command").Raw + " " + value.Get("args|@ugly").Raw
			}
			compare.Equal(t, "value", got, tt.want)
		})
	}
}

// The limits of https://agentskills.io/specification.
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

			compare.Equal(t, "name", skill.Name, path.Base(path.Dir(name)))
			if n := len(skill.Description); n == 0 || n > 1024 {
				t.Errorf("the description has %d bytes, want 1 to 1024", n)
			}
			for _, tool := range []string{"answer", "answer_detailed", "answer_quick"} {
				compare.Contains(t, "the text", text, "`"+tool+"`")
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
	secret := e.Config.Secrets[0]
	got := []string{e.Image, secret.Name, secret.Env}
	want := []string{"mcp/" + e.Name, e.Name + ".api_key", "OPENAI_API_KEY"}
	compare.Equal(t, "image, secret and variable", got, want)
}

// The files that manifests refer to by their address are in the repository.
func TestManifestLinks(t *testing.T) {
	const ours = `uchimanajet7/openai-responses-mcp/(?:blob/)?main/`
	for _, name := range files(t, "*.json", ".claude-plugin/*.json", "packaging/*/*.json",
		"packaging/docker/server.yaml") {
		for _, target := range find(ours+`([\w./-]+)`, read(t, name)) {
			t.Run(name+" "+target, func(t *testing.T) { files(t, target) })
		}
	}
}
