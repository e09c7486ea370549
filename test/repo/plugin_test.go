package repo_test

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/tidwall/gjson"
	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Agent Plugins 1.0.0 allows these members only: https://agent-plugins.org/schemas/1.0.0/.
func TestPlugin(t *testing.T) {
	for _, tt := range []struct{ file, path, members string }{
		{"plugin.json", "@this", "$schema name version description author homepage repository " +
			"license keywords"},
		{"plugin.json", "author", "name url"},
		{"mcp.json", "@this", "$schema mcpServers"},
		{"mcp.json", "mcpServers", "openai-responses"},
		{"mcp.json", "mcpServers.openai-responses", "type command args"},
	} {
		t.Run(tt.file+" "+tt.path, func(t *testing.T) {
			var got []string
			for _, key := range gjson.Get(read(t, tt.file), tt.path+".@keys").Array() {
				got = append(got, key.String())
			}

			compare.Equal(t, "members", got, strings.Fields(tt.members))
		})
	}
}

// Each client has a name for the folder of the plugin. Without --prefix npx would start a package
// of the project that the client works on.
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
			compare.Equal(t, "command", got, want)
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

			compare.Equal(t, "name", skill.Name, path.Base(path.Dir(name)))
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
	// The catalog wants a capital at the beginning of each word.
	isTitle := regexp.MustCompile(`^([A-Z]\S+( |$))+$`).MatchString(e.About.Title)

	secret := e.Config.Secrets[0]

	for name, ok := range map[string]bool{
		"the image has the name": e.Image == "mcp/"+e.Name,
		"the title":              isTitle,
		"the name of the secret": secret.Name == e.Name+".api_key",
		"the variable":           secret.Env == "OPENAI_API_KEY",
	} {
		t.Run(name, func(t *testing.T) {
			if !ok {
				t.Errorf("wrong: %+v", e)
			}
		})
	}
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
