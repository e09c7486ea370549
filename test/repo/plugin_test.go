package repo_test

import (
	"path"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

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
			names := call.MapTools(func(tool call.Tool) string { return tool.Name + "`" })
			for _, arg := range answer.Arguments {
				names = append(names, arg.Name)
			}
			for _, want := range names {
				if !strings.Contains(text, "`"+want) {
					t.Errorf("it does not have `%s", want)
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
