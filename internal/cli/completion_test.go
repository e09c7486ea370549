package cli

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var (
	flagLine = regexp.MustCompile(`(?m)^  -.*$`)
	flagName = regexp.MustCompile(`--[a-z][a-z-]+`)
)

// Each command and each flag of its usage text is in the script of each shell.
func TestCompletion(t *testing.T) {
	commands := slices.Sorted(maps.Keys((&app{}).commands()))[1:] // not ""
	for _, shell := range []string{"bash", "zsh", "fish"} {
		_, script, _ := run(t.Context(), nil, nil, "completion", shell)
		if script == "" {
			t.Fatalf("there is no script for %s", shell)
		}

		for _, command := range commands {
			t.Run(shell+" "+command, func(t *testing.T) {
				if !contains(script, "", command) {
					t.Errorf("the script has no command %s", command)
				}

				part := commandPart(script, command)
				_, usage, _ := run(t.Context(), nil, nil, "help", command)
				for _, line := range flagLine.FindAllString(usage, -1) {
					for _, flag := range flagName.FindAllString(line, -1) {
						if !contains(part, "(--|-l )", flag[2:]) {
							t.Errorf("the script has no flag %s for %s", flag, command)
						}
					}
				}
			})
		}
	}
}

// contains reports whether a text has a whole word that begins as a regular expression says.
func contains(text, begin, word string) bool {
	return regexp.MustCompile(begin + `\b` + word + `([^a-z-]|$)`).MatchString(text)
}

// commandPart is what a script has for all commands and for one. The usage text of help is that of
// the program, whose flags may be anywhere.
func commandPart(script, command string) string {
	if command == "help" {
		return script
	}

	common, _, _ := strings.Cut(script, "serve)")
	common, _, _ = strings.Cut(common, "set -l in")
	section := regexp.MustCompile(`(?s)\n    ` + command + `\).*?;;|_from ` + command + `'\n.*?\n\n`)
	return common + section.FindString(script)
}
