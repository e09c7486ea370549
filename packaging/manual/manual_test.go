package main

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/cli"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The program and each of its commands have a page, and the cask of Homebrew installs all of them.
// The archives and the packages take the whole folder. The pages have the usual sections in the
// usual order, and flags as one types them.
func TestPages(t *testing.T) {
	var release struct {
		Casks []struct{ Manpages []string } `yaml:"homebrew_casks"`
	}
	b, err := os.ReadFile("../../.goreleaser.yaml")
	if err == nil {
		err = yaml.Unmarshal(b, &release)
	}
	table := compare.Table(t, "pages", 2)
	t.Chdir(t.TempDir())
	if err == nil {
		err = write("out", time.Unix(0, 0))
	}
	if err != nil {
		t.Fatal(err)
	}

	var got []string
	texts := map[string]string{}
	names, _ := filepath.Glob("out/man/*")
	for _, name := range names {
		text, _ := os.ReadFile(name) // "" has no sections
		base := filepath.Base(name)
		texts[base] = string(text)
		got = append(got, base)

		listed := func(pattern string) bool {
			matches, _ := path.Match(pattern, "man/"+base)
			return matches
		}
		if !slices.ContainsFunc(release.Casks[0].Manpages, listed) {
			t.Errorf("the cask installs no %s", base)
		}
	}

	want := []string{version.Name + ".1"}
	for _, c := range cli.Command().Commands() {
		if c.Name() != "help" {
			want = append(want, version.Name+"-"+c.Name()+".1")
		}
	}
	slices.Sort(want)
	compare.Equal(t, "pages", got, want)

	heading := regexp.MustCompile(`(?m)^\.SH .*$`)
	for _, row := range table {
		t.Run(row[0]+" "+row[1], func(t *testing.T) {
			text := texts[row[0]]
			if strings.HasPrefix(row[1], "\n.SH ") {
				text = "\n" + strings.Join(heading.FindAllString(text, -1), " ") + "\n"
			}
			compare.Contains(t, "the page", text, row[1])
		})
	}
}
