package main

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cli"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The program and each of its commands have a page, and the cask of Homebrew installs all of them.
// The archives and the packages take the whole folder.
func TestPages(t *testing.T) {
	out := t.TempDir()
	if err := write(out, time.Unix(0, 0)); err != nil {
		t.Fatal(err)
	}
	var got []string
	pages, _ := filepath.Glob(filepath.Join(out, "man", "*"))
	for _, page := range pages {
		got = append(got, "man/"+filepath.Base(page))
	}

	want := []string{"man/" + version.Name + ".1"}
	for _, c := range cli.Command().Commands() {
		if c.Name() != "help" {
			want = append(want, "man/"+version.Name+"-"+c.Name()+".1")
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	compare.Equal(t, "pages", got, want)

	var release struct {
		Casks []struct{ Manpages []string } `yaml:"homebrew_casks"`
	}
	b, err := os.ReadFile("../../.goreleaser.yaml")
	if err == nil {
		err = yaml.Unmarshal(b, &release)
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, page := range got {
		isMatch := func(pattern string) bool {
			matches, _ := path.Match(pattern, page)
			return matches
		}
		if !slices.ContainsFunc(release.Casks[0].Manpages, isMatch) {
			t.Errorf("the cask installs no %s", page)
		}
	}
}
