package cli

import (
	"context"
	"embed"
	"flag"
	"strings"
)

//go:embed completion
var completions embed.FS

// completion prints the script that completes commands and flags in a shell.
func (a *app) completion(_ context.Context, args []string) error {
	shell := strings.Join(args, " ")
	if shell == "--help" {
		return flag.ErrHelp
	}

	script, err := completions.ReadFile("completion/openai-responses-mcp." + shell)
	if err != nil {
		return usageError("see openai-responses-mcp completion --help",
			"%q is not one of bash, zsh, fish", shell)
	}
	_, err = a.stdout.Write(script)
	return err
}
