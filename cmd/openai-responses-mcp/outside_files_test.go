package main_test

import (
	"os"
	"path/filepath"
	"testing"
)

// A session keeps what it began with: files that change, break or go while it
// runs change nothing, and nothing falls over them. The next one reads them.
func TestFilesChangeMeanwhile(t *testing.T) {
	t.Parallel()
	const config = ".config/openai-responses-mcp/config.yaml"
	policy := filepath.Join(t.TempDir(), "policy.md")
	instruct := func(text string) {
		if err := os.WriteFile(policy, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	instruct("Answer in rhymes.")
	c := begin(t, setup{api: newAPI(t), config: "model_profiles: { answer: { model: gpt-5.1 } }\n" +
		"policy: { system: { source: file, path: '" + policy + "' } }\n"})
	check := func(id string) {
		t.Helper()
		c.line(ask(id, "HTTP 404"))
		a := c.want(id).answered(t)
		body := c.api.body(t, len(c.api.Requests()))
		if a.Model != "gpt-5.1" || body["model"] != "gpt-5.1" || body["instructions"] != "Answer in rhymes." {
			t.Errorf("after change %s: model %v, sent with %v and %q", id, a.Model, body["model"], body["instructions"])
		}
	}
	check("0")
	for i, change := range []func(){
		func() {
			c.write(config, "model_profiles: { answer: { model: gpt-5.2 } }\n")
			instruct("Answer in prose.")
		},
		func() {
			c.write(config, "model_profiles: [\n\t: broken")
			instruct("\x00\xff")
		},
		func() {
			remove(t, filepath.Join(c.home, ".config"))
			remove(t, policy)
		},
		func() { c.write(config+"/folder", "") },
	} {
		change()
		check(string(rune('1' + i)))
	}
	c.done()
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.RemoveAll(path); err != nil {
		t.Fatal(err)
	}
}
