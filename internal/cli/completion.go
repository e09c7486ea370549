package cli

import (
	"strings"

	"github.com/spf13/cobra"
)

// completionCommand prints the script that completes commands, flags and values in a shell.
func (a *app) completionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "print a script that completes commands, flags and values",
		Long: `Print a script that completes commands, flags and values in a shell. The packages install
it. In bash it needs the package bash-completion.`,
		Example: `  source <(openai-responses-mcp completion bash)    in ~/.bashrc
  source <(openai-responses-mcp completion zsh)     in ~/.zshrc, after compinit
  openai-responses-mcp completion fish | source     in ~/.config/fish/config.fish
  openai-responses-mcp completion powershell | Out-String | Invoke-Expression    in $PROFILE`,
		ValidArgs: []string{"bash", "zsh", "fish", "powershell"},
		RunE: func(c *cobra.Command, words []string) error {
			root := c.Root()
			shell := strings.Join(words, " ")
			switch shell {
			case "bash":
				return root.GenBashCompletionV2(a.stdout, true)
			case "zsh":
				return root.GenZshCompletion(a.stdout)
			case "fish":
				return root.GenFishCompletion(a.stdout, true)
			case "powershell":
				return root.GenPowerShellCompletionWithDesc(a.stdout)
			}
			return usageError(seeHelp(c), "%q is not one of %s",
				shell, strings.Join(c.ValidArgs, ", "))
		},
	}
}
