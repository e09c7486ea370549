// Package clients lists the MCP clients that setup prints a configuration for: the file each one
// reads, the form of an entry, how it passes a secret on without writing it down, and its own
// command or link that adds a server.
//
// clients.go has the table of clients. entry.go has the command line that starts the server, and
// turns both into files, commands, links and notes.
package clients

import (
	"cmp"
	"strings"
)

// Client is an MCP client.
type Client struct {
	ID     string // the argument of setup, such as claude-code
	Name   string // such as Claude Code
	NoHTTP string // why the client has no entry for a server over HTTP, or ""

	alias        string               // another name that users type, or ""
	file         string               // with / between folders; ~ and DATA are the folders that File knows
	windowsFile  string               // where it differs
	section      string               // member of the file that holds the servers; "": the file is TOML
	reference    string               // how an entry refers to a variable; NAME stands for its name
	asks         bool                 // the client asks for each secret, through an input in the file
	local, http  string               // type of an entry: a program, or a server over HTTP
	adjust       func(*entry, Server) // makes the common form of an entry that of the client; may be nil
	add, addHTTP string               // the client's own command, with the words that the method words replaces
	omits        string               // what add leaves out of the entry, or ""
	link         string               // the URL that adds the server, with the words that the method Link replaces
	notes        []string             // those that begin with "stdio: " or "http: " hold for these only
}

// Notes of several clients: fromEnvironment is for those that replace variables, inherited and
// literalToken are for the others. Their entry need not name the key, as a server inherits it.
const (
	fromEnvironment = "The file holds no secret: $CLIENT takes $VARS from the environment that it is started in."
	inherited       = "The file holds no secret: $CLIENT replaces no variables, but the server inherits $VARS when $CLIENT is started from a shell that has it."
	literalToken    = "$CLIENT replaces no variables: write the token in place of YOUR_$VARS and keep the file private."
)

// All lists the clients as the documentation does. The linked pages were read in November 2026.
func All() []Client {
	return []Client{{
		ID: "claude-code", Name: "Claude Code", alias: "claude", // https://code.claude.com/docs/en/mcp
		file: ".mcp.json in the project", section: "mcpServers", reference: "${NAME}", http: "http",
		add:     "claude mcp add --scope project " + name + " ENV -- PROGRAM ARGUMENTS", // -e takes several values, up to --
		addHTTP: "claude mcp add --scope project --transport http " + name + " URL --header AUTHORIZATION",
		notes: []string{
			fromEnvironment,
			"For all your projects, put the entry under mcpServers of ~/.claude.json instead, or use --scope user in the command.",
			`Claude Code waits about 28 hours for a call and moves it to the background after 120 s. For a limit of your own add "timeout": $LIMIT_MS (milliseconds) to the entry.`,
			"stdio: If a slow first start is given up, raise its limit: MCP_TIMEOUT=60000 claude",
		},
	}, {
		ID: "claude-desktop", Name: "Claude Desktop", // https://modelcontextprotocol.io/docs/develop/connect-local-servers
		NoHTTP: "its file has no entry for them, and its connectors send no token of yours",
		file:   "DATA/Claude/claude_desktop_config.json", section: "mcpServers", reference: "YOUR_NAME",
		notes: []string{
			"Claude Desktop replaces no variables: write the value of $VARS in place of YOUR_… and keep the file private.",
			"Quit and start Claude Desktop afterwards; closing the window is not enough.",
			"Claude Desktop cuts a call off after 60 s or 4 minutes, which cannot be changed. Use answer_quick then.",
		},
	}, {
		ID: "codex", Name: "Codex", file: "~/.codex/config.toml", // https://developers.openai.com/codex/mcp
		add:     "codex mcp add " + name + " -- PROGRAM ARGUMENTS",
		addHTTP: "codex mcp add " + name + " --url URL --bearer-token-env-var " + tokenEnv,
		omits:   "env_vars for the key, and the time limits",
		notes: []string{
			"http: " + fromEnvironment,
			"stdio: Codex starts servers with an almost empty environment. env_vars names what it passes on; $VARS must be set where Codex is started.",
			"stdio: Behind a proxy add HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE to env_vars, and OPENAI_BASE_URL, MODEL_ANSWER and the like if you use them.",
			"stdio: startup_timeout_sec leaves time for a slow first start.",
			"Codex waits 300 s for a call, as long as the server by default. With tool_timeout_sec it waits a little longer, so that the server's own error arrives; codex mcp add has no option for it.",
		},
	}, {
		ID: "cursor", Name: "Cursor", // https://cursor.com/docs/mcp
		file: "~/.cursor/mcp.json", section: "mcpServers", reference: "${env:NAME}",
		link:  "cursor://anysphere.cursor-deeplink/mcp/install?name=" + name + "&config=ENTRY", // https://cursor.com/docs/mcp/install-links
		notes: []string{fromEnvironment, "For one project only, the file is .cursor/mcp.json in it."},
	}, {
		ID: "vscode", Name: "VS Code", alias: "code", // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
		file: "DATA/Code/User/mcp.json", section: "servers", reference: "${input:NAME}", asks: true, local: "stdio", http: "http",
		add: "code --add-mcp JSON", addHTTP: "code --add-mcp JSON",
		link: "vscode:mcp/install?JSON", // https://code.visualstudio.com/docs/copilot/guides/mcp-developer-guide
		notes: []string{
			"The file holds no secret: VS Code asks for it at the first start and keeps it in its secret storage.",
			"MCP: Open User Configuration opens this file; for one workspace it is .vscode/mcp.json there.",
		},
	}, {
		ID: "copilot-cli", Name: "Copilot CLI", alias: "copilot", // https://docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
		file: "~/.copilot/mcp-config.json", section: "mcpServers", reference: "${NAME}", local: "local", http: "http",
		adjust:  func(e *entry, _ Server) { e.Tools = []string{"*"} },
		add:     "copilot mcp add " + name + " ENV -- PROGRAM ARGUMENTS",
		addHTTP: "copilot mcp add --transport http --header AUTHORIZATION " + name + " URL",
		notes: []string{
			fromEnvironment,
			"stdio: The env entry is needed: Copilot CLI passes on few variables that no entry names.",
			"For one project only, the file is .mcp.json or .github/mcp.json in it.",
		},
	}, {
		ID: "gemini-cli", Name: "Gemini CLI", alias: "gemini", // https://geminicli.com/docs/tools/mcp-server
		file: "~/.gemini/settings.json", section: "mcpServers", reference: "${NAME}", http: "http",
		// It takes -e in the arguments for its own option, and a -- in front of the program for the program.
		add:     "gemini mcp add --scope user ENV " + name + " PROGRAM -- ARGUMENTS",
		addHTTP: "gemini mcp add --scope user --transport http --header AUTHORIZATION " + name + " URL",
		notes: []string{
			fromEnvironment,
			"stdio: The env entry is needed: Gemini CLI keeps variables that look like secrets from servers that do not name them.",
			"For one project only, the file is .gemini/settings.json in it.",
		},
	}, {
		ID: "antigravity-cli", Name: "Antigravity CLI", alias: "agy", // https://antigravity.google/docs/cli/mcp
		file: "~/.gemini/config/mcp_config.json", section: "mcpServers", reference: "YOUR_NAME",
		adjust:  func(e *entry, _ Server) { e.Env, e.ServerURL, e.URL = nil, e.URL, "" },
		add:     "agy mcp add " + name + " -- PROGRAM ARGUMENTS",
		addHTTP: "agy mcp add --header AUTHORIZATION " + name + " URL",
		notes: []string{
			"stdio: " + inherited,
			"http: " + literalToken,
			"The Antigravity editor reads the same file. For one project only, it is .agents/mcp_config.json in it.",
		},
	}, {
		ID: "opencode", Name: "opencode", // https://opencode.ai/docs/mcp-servers
		// The form of opencode 1, which opencode 2 reads too: https://opencode.ai/docs/migrate-v1
		file: "~/.config/opencode/opencode.json", section: "mcp", reference: "{env:NAME}", local: "local", http: "remote",
		adjust: func(e *entry, s Server) {
			e.Enabled, e.Environment, e.Env = true, e.Env, nil
			if s.Via != ViaHTTP {
				e.Command, e.Args = s.command(), nil
			}
		},
		notes: []string{
			fromEnvironment,
			`stdio: opencode 1 gives a server 30 s to start, older versions 5 s: if it is too slow, add "timeout": $LIMIT_MS (milliseconds) to the entry. opencode 2.0.13 drops entries that have it.`,
			"For one project only, the file is opencode.json in it.",
		},
	}, {
		ID: "windsurf", Name: "Windsurf", // https://docs.windsurf.com/windsurf/cascade/mcp
		file: "~/.codeium/windsurf/mcp_config.json", section: "mcpServers", reference: "${env:NAME}",
		adjust: func(e *entry, _ Server) { e.ServerURL, e.URL = e.URL, "" },
		notes: []string{
			fromEnvironment,
			"Devin Desktop, as Windsurf is called now, reads the same file.",
			"Press the refresh button of the MCP panel afterwards.",
		},
	}, {
		ID: "zed", Name: "Zed", // https://zed.dev/docs/ai/mcp
		file: "~/.config/zed/settings.json", windowsFile: "DATA/Zed/settings.json",
		section: "context_servers", reference: "YOUR_NAME",
		adjust: func(e *entry, s Server) { e.Env, e.Timeout = nil, s.callLimit() },
		notes: []string{
			"stdio: " + inherited,
			"stdio: Otherwise add env to the entry, as for Claude Desktop, and write the key there.",
			"http: " + literalToken,
			"The timeout is in seconds and bounds a call; without it Zed gives up after 60.",
		},
	}}
}

// Find looks a client up by id, name or alias. Case, blanks, - and _ make no difference.
func Find(s string) (Client, bool) {
	fold := strings.NewReplacer(" ", "", "-", "", "_", "").Replace
	s = fold(strings.ToLower(s))
	for _, c := range All() {
		if s == fold(c.ID) || s != "" && s == c.alias {
			return c, true
		}
	}
	return Client{}, false
}

// File is what the client reads on a GOOS. DATA is where Electron applications keep their settings.
func (c Client) File(goos string) string {
	switch goos {
	case "windows":
		return strings.NewReplacer("~", "%USERPROFILE%", "DATA", "%APPDATA%", "/", `\`).Replace(cmp.Or(c.windowsFile, c.file))
	case "darwin":
		return strings.Replace(c.file, "DATA", "~/Library/Application Support", 1)
	}
	return strings.Replace(c.file, "DATA", "~/.config", 1)
}
