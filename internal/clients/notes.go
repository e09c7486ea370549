package clients

import "fmt"

// fromEnvironment says where the clients that expand variables look.
func fromEnvironment(client string, s Server) string {
	return fmt.Sprintf("The key is not in the file: %s takes it from %s of the environment that it is started in.", client, s.names())
}

func claudeCodeNotes(s Server) []string {
	return []string{
		fromEnvironment("Claude Code", s),
		"For all your projects, put the entry under mcpServers of ~/.claude.json instead.",
		fmt.Sprintf("MCP_TIMEOUT bounds the start and MCP_TOOL_TIMEOUT a call, in milliseconds: MCP_TIMEOUT=%d MCP_TOOL_TIMEOUT=%d claude", startLimit.Milliseconds(), s.callLimit()*1000),
	}
}

func claudeDesktopNotes(s Server) []string {
	return []string{
		"Claude Desktop replaces no variables: write the key in place of " + s.placeholders() + " and let nobody else read the file.",
		"Quit and start Claude Desktop afterwards; closing the window is not enough.",
		"How long a call may take cannot be set there. If one is cut off, ask answer_quick.",
	}
}

func codexNotes(s Server) []string {
	more := "Behind a proxy add HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE to env_vars, and OPENAI_BASE_URL, MODEL_ANSWER and the like if you use them."
	start := "npx the time to download"
	switch s.Via {
	case ViaDocker:
		more = `Behind a proxy add HTTPS_PROXY and NO_PROXY to env_vars, and "-e", "HTTPS_PROXY" and so on to args in front of the image; the same goes for OPENAI_BASE_URL, MODEL_ANSWER and the like if you use them.`
		start = "docker the time to begin"
	case ViaBinary:
		start = "the program the time to begin"
	}
	return []string{
		"Codex starts servers with an almost empty environment. env_vars names what it passes on; " + s.names() + " must be set where Codex is started.",
		more,
		"startup_timeout_sec leaves " + start + ", tool_timeout_sec the model the time to search.",
	}
}

func cursorNotes(s Server) []string {
	return []string{
		fromEnvironment("Cursor", s),
		"For one project only, the file is .cursor/mcp.json in it.",
	}
}

func vsCodeNotes(Server) []string {
	return []string{
		"The key is not in the file: VS Code asks for it at the first start and keeps it in its secret storage.",
		"MCP: Open User Configuration opens this file; for one workspace it is .vscode/mcp.json there.",
	}
}

func geminiNotes(s Server) []string {
	return []string{
		fromEnvironment("Gemini CLI", s),
		"The env entry is needed: Gemini CLI keeps variables that look like secrets from servers that do not name them.",
		"For one project only, the file is .gemini/settings.json in it.",
	}
}

func opencodeNotes(s Server) []string {
	return []string{
		fromEnvironment("opencode", s),
		fmt.Sprintf(`opencode 1 gives a server 5 s to start: if it is too slow, add "timeout": %d (milliseconds) to the entry. opencode 2.0.13 drops entries that have it.`, s.callLimit()*1000),
		"For one project only, the file is opencode.json in it.",
	}
}

func windsurfNotes(s Server) []string {
	return []string{
		fromEnvironment("Windsurf", s),
		"Devin Desktop, as Windsurf is called now, reads the same file.",
		"Press the refresh button of the MCP panel afterwards.",
	}
}

func zedNotes(s Server) []string {
	return []string{
		"The key is not in the file: Zed replaces no variables, but the server inherits " + s.names() + " when Zed is started from a shell that has it.",
		`Otherwise add "env": ` + encode(s.values(placeholder), "") + ` to the entry and write the key there.`,
		"The timeout is in seconds and bounds a call; without it Zed gives up after 60.",
	}
}
