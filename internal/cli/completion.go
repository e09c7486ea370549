package cli

import (
	"context"
	"embed"
	"strings"
)

//go:embed completion
var completions embed.FS

// completion prints the script that completes commands and flags in a shell.
func (a *app) completion(_ context.Context, args []string) error {
	f := newNoFlags("completion")
	words, err := f.parse(args)
	if err != nil {
		return err
	}

	shell := strings.Join(words, " ")
	script, err := completions.ReadFile("completion/openai-responses-mcp." + shell)
	if err != nil {
		return usageError(f.seeHelp(), "%q is not one of bash, zsh, fish", shell)
	}
	_, err = a.stdout.Write(script)
	return err
}
