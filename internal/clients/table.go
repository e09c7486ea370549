package clients

// Templates of entries that several clients share, and mcpServers, the usual file.
const (
	mcpServers = `{"mcpServers": {"$NAME": $ENTRY}}`
	program    = `{"command": $PROGRAM, "args": $ARGUMENTS$ENV}`
	env        = `, "env": $VALUES`
	endpoint   = `{"type": "http", "url": $URL$AUTH}`
	address    = `{"url": $URL$AUTH}`
	serverURL  = `{"serverUrl": $URL$AUTH}`
	headers    = `, "headers": {"Authorization": "Bearer $TOKEN"}`
)

// Notes of several clients: fromEnvironment is for those that replace variables, inherited and
// literalToken are for the others. Their entry need not name the key, as a server inherits it.
// literal is for clients whose entry has the value itself, asOf for websites.
var (
	fromEnvironment = note{secret, `The file holds no secret: $CLIENT takes $VARS from the
		environment that it is started in.`}
	inherited = note{key, `The file holds no secret: $CLIENT replaces no variables, but the
		server inherits $VARS when $CLIENT is started from a shell that has it.`}
	literalToken = note{token, `$CLIENT replaces no variables: write the token in place of
		YOUR_$VARS and keep the file private.`}
	asOf    = note{always, `The steps are those of November 2026 and may have moved.`}
	literal = note{secret, `$CLIENT replaces no variables: write the value of $VARS in place of
		YOUR_… and keep the file private. Or store the key with the command login, and run setup
		again: the entry then has no key. A container does not see a stored key.`}
)

// table has a row for each client. The linked pages were read in November 2026.
var table = []Client{
	{ // https://code.claude.com/docs/en/mcp
		ID:        "claude-code",
		Name:      "Claude Code",
		alias:     "claude",
		path:      ".mcp.json in the project",
		reference: "${%s}",

		local:  program,
		remote: endpoint,

		// -e takes several values, up to --.
		add:       "claude mcp add --scope project $NAME $ENV -- $PROGRAM $ARGUMENTS",
		addRemote: "claude mcp add --scope project --transport http $NAME $URL $HEADER",
		signIn:    "claude mcp login $NAME, or /mcp in a session",

		notes: []note{
			fromEnvironment,
			{always, `Claude Code does not start the server of a project before you approve it:
				run claude in the project once and answer its question.`},
			{always, `For all your projects, put the entry under mcpServers of ~/.claude.json
				instead, or use --scope user in the command.`},
			{always, `Claude Code waits about 28 hours for a call and moves it to the background
				after 120 s. For a limit of your own add "timeout": $MILLISECONDS (milliseconds)
				to the entry.`},
			{stdio, `If a slow first start is given up, raise its limit: MCP_TIMEOUT=60000 claude`},
		},
	},
	{ // https://modelcontextprotocol.io/docs/develop/connect-local-servers
		ID:     "claude-desktop",
		Name:   "Claude Desktop",
		NoHTTP: "its file has no entry for them; setup claude-ai says how to add a connector",
		path:   "DATA/Claude/claude_desktop_config.json",

		local: program,

		notes: []note{
			literal,
			{always, `Quit and start Claude Desktop afterwards; closing the window is not enough.`},
			{always, `Claude Desktop cuts a call off after 60 s or 4 minutes, which cannot be
				changed. Use answer_quick then.`},
		},
	},
	{ // https://support.claude.com/en/articles/11175166
		ID:     "claude-ai",
		Name:   "claude.ai",
		place:  "claude.ai under Customize, Connectors, +, Add custom connector",
		whole:  true,
		remote: "Name: $NAME\nRemote MCP server URL: $ADDRESS\n",
		signIn: "press Add, then Connect",

		notes: []note{
			{always, `Claude Desktop, Cowork and the mobile apps then have the connector too.`},
			{always, `Claude connects from the servers of Anthropic: the URL must be reachable
				from the internet.`},
			{always, `In Team and Enterprise plans an owner adds the connector for the
				organization first.`},
			asOf,
		},
	},
	{ // https://developers.openai.com/codex/mcp
		ID:    "codex",
		Name:  "Codex",
		path:  "~/.codex/config.toml",
		whole: true,

		local: `[mcp_servers.$NAME]
command = $PROGRAM
args = $ARGUMENTS$ENV
startup_timeout_sec = 60
tool_timeout_sec = $SECONDS
`,
		env: `
env_vars = $NAMES`,
		remote: `[mcp_servers.$NAME]
url = $URL$AUTH
tool_timeout_sec = $SECONDS
`,
		auth: `
bearer_token_env_var = "` + tokenEnv + `"`,

		add:       "codex mcp add $NAME -- $PROGRAM $ARGUMENTS",
		addRemote: "codex mcp add $NAME --url $URL $BEARER",
		omits:     "the time limits, and env_vars if the key is in a variable",
		signIn:    "codex mcp login $NAME",

		notes: []note{
			{token, `The file holds no secret: $CLIENT takes $VARS from the environment that it
				is started in.`},
			{key, `Codex starts servers with an almost empty environment. env_vars names what
				it passes on; $VARS must be set where Codex is started.`},
			{stdio, `Behind a proxy add HTTPS_PROXY, NO_PROXY and SSL_CERT_FILE to env_vars, and
				OPENAI_BASE_URL, MODEL_ANSWER and the like if you use them.`},
			{stdio, `startup_timeout_sec leaves time for a slow first start.`},
			{always, `Codex waits 300 s for a call, as long as the server by default. With
				tool_timeout_sec it waits a little longer, so that the server's own error
				arrives; codex mcp add has no option for it.`},
		},
	},
	{ // https://developers.openai.com/api/docs/guides/custom-mcp-server
		ID:     "chatgpt",
		Name:   "ChatGPT",
		place:  "ChatGPT on the web, at chatgpt.com/plugins under +, Add custom MCP server",
		whole:  true,
		remote: "Name: $NAME\nConnection, Server URL: $ADDRESS\nAuthentication: OAuth\n",
		signIn: "accept the warning and press Create as a plugin; ChatGPT opens the page",

		notes: []note{
			{always, `ChatGPT connects from the servers of OpenAI: the URL must be reachable from
				the internet.`},
			{always, `In a workspace its administrators decide who may add servers; some plans
				need the developer mode in the settings.`},
			asOf,
		},
	},
	{ // https://cursor.com/docs/mcp, https://cursor.com/docs/mcp/install-links
		ID:        "cursor",
		Name:      "Cursor",
		path:      "~/.cursor/mcp.json",
		reference: "${env:%s}",

		local:  program,
		remote: address,
		signIn: "Needs login in the MCP list of the settings, or agent mcp login $NAME",
		link:   "cursor://anysphere.cursor-deeplink/mcp/install?name=$NAME&config=$BASE64",

		notes: []note{
			fromEnvironment,
			{always, `For one project only, the file is .cursor/mcp.json in it.`},
		},
	},
	{ // https://code.visualstudio.com/docs/copilot/reference/mcp-configuration
		ID:        "vscode",
		Name:      "VS Code",
		alias:     "code",
		path:      "DATA/Code/User/mcp.json",
		reference: "${input:%s}",

		content:   `{"inputs": $INPUTS, "servers": {"$NAME": $ENTRY}}`,
		local:     `{"type": "stdio", "command": $PROGRAM, "args": $ARGUMENTS$ENV}`,
		remote:    endpoint,
		add:       "code --add-mcp $JSON",
		addRemote: "code --add-mcp $JSON",
		// https://code.visualstudio.com/docs/copilot/guides/mcp-developer-guide
		link: "vscode:mcp/install?$JSON",

		notes: []note{
			{secret, `The file holds no secret: VS Code asks for it at the first start and keeps
				it in its secret storage.`},
			{always, `MCP: Open User Configuration opens this file; for one workspace it is
				.vscode/mcp.json there.`},
		},
	},
	{ // https://docs.cline.bot/mcp/adding-and-configuring-servers
		ID:   "cline",
		Name: "Cline",
		path: "~/.cline/data/settings/cline_mcp_settings.json",

		local:     `{"command": $PROGRAM, "args": $ARGUMENTS, "timeout": $SECONDS}`,
		remote:    `{"type": "streamableHttp", "url": $URL$AUTH, "timeout": $SECONDS}`,
		add:       "cline mcp add --yes $NAME -- $PROGRAM $ARGUMENTS",
		addRemote: "cline mcp add --yes --transport http $HEADER $NAME $URL",
		omits:     "the time limit",

		notes: []note{
			inherited,
			{key, `An extension of Cline that does not pass variables on needs "env": {"NAME":
				"${env:NAME}"} in the entry, for each of $VARS. The CLI does not replace that.`},
			literalToken,
			{always, `Configure MCP Servers in an editor opens the file that the extension reads.
				Older ones have it in the editor's globalStorage.`},
			{always, `The timeout is in seconds and bounds a call; without it Cline gives up
				after 60.`},
		},
	},
	{ // https://docs.github.com/copilot/how-tos/copilot-cli/customize-copilot/add-mcp-servers
		ID:        "copilot-cli",
		Name:      "Copilot CLI",
		alias:     "copilot",
		path:      "~/.copilot/mcp-config.json",
		reference: "${%s}",

		local: `{"type": "local", "command": $PROGRAM, "args": $ARGUMENTS$ENV,
			"tools": ["*"]}`,
		remote:    `{"type": "http", "url": $URL$AUTH, "tools": ["*"]}`,
		add:       "copilot mcp add $NAME $ENV -- $PROGRAM $ARGUMENTS",
		addRemote: "copilot mcp add --transport http $HEADER $NAME $URL",

		notes: []note{
			fromEnvironment,
			{key, `The env entry is needed: Copilot CLI passes on few variables that no entry
				names.`},
			{always, `For one project only, the file is .mcp.json or .github/mcp.json in it.`},
		},
	},
	{ // https://geminicli.com/docs/tools/mcp-server
		ID:        "gemini-cli",
		Name:      "Gemini CLI",
		alias:     "gemini",
		path:      "~/.gemini/settings.json",
		reference: "${%s}",

		local:  program,
		remote: endpoint,

		// It takes -e in the arguments for its own option, and a -- before the program for the
		// program.
		add:       "gemini mcp add --scope user $ENV $NAME $PROGRAM -- $ARGUMENTS",
		addRemote: "gemini mcp add --scope user --transport http $HEADER $NAME $URL",
		signIn:    "/mcp auth $NAME in a session",

		notes: []note{
			fromEnvironment,
			{always, `Gemini CLI starts servers only in folders that you trust: answer its
				question at the first start in a folder, or use /permissions there.`},
			{key, `The env entry is needed: Gemini CLI keeps variables that look like secrets
				from servers that do not name them.`},
			{always, `For one project only, the file is .gemini/settings.json in it.`},
		},
	},
	{ // https://antigravity.google/docs/cli/mcp
		ID:    "antigravity-cli",
		Name:  "Antigravity CLI",
		alias: "agy",
		path:  "~/.gemini/config/mcp_config.json",

		local:     `{"command": $PROGRAM, "args": $ARGUMENTS}`,
		remote:    serverURL,
		add:       "agy mcp add $NAME -- $PROGRAM $ARGUMENTS",
		addRemote: "agy mcp add $HEADER $NAME $URL",

		notes: []note{
			inherited,
			literalToken,
			{always, `The Antigravity editor reads the same file. For one project only, it is
				.agents/mcp_config.json in it.`},
		},
	},
	{ // https://opencode.ai/docs/mcp-servers
		ID:        "opencode",
		Name:      "opencode",
		path:      "~/.config/opencode/opencode.json",
		reference: "{env:%s}",

		// The form of opencode 1, which opencode 2 reads too: https://opencode.ai/docs/migrate-v1

		content: `{"mcp": {"$NAME": $ENTRY}}`,
		local:   `{"type": "local", "command": $COMMAND, "enabled": true$ENV}`,
		env:     `, "environment": $VALUES`,
		remote:  `{"type": "remote", "url": $URL$AUTH, "enabled": true}`,
		signIn:  "opencode mcp auth $NAME",

		notes: []note{
			fromEnvironment,
			{stdio, `opencode 1 gives a server 30 s to start, older versions 5 s: if it is too
				slow, add "timeout": $MILLISECONDS (milliseconds) to the entry. opencode 2.0.13
				drops entries that have it.`},
			{always, `For one project only, the file is opencode.json in it.`},
		},
	},
	{ // https://docs.windsurf.com/windsurf/cascade/mcp
		ID:        "windsurf",
		Name:      "Windsurf",
		path:      "~/.codeium/windsurf/mcp_config.json",
		reference: "${env:%s}",

		local:  program,
		remote: serverURL,

		notes: []note{
			fromEnvironment,
			{always, `Devin Desktop, as Windsurf is called now, reads the same file.`},
			{always, `Press the refresh button of the MCP panel afterwards.`},
		},
	},
	{ // https://zed.dev/docs/ai/mcp
		ID:          "zed",
		Name:        "Zed",
		path:        "~/.config/zed/settings.json",
		windowsPath: "DATA/Zed/settings.json",

		content: `{"context_servers": {"$NAME": $ENTRY}}`,
		local:   `{"command": $PROGRAM, "args": $ARGUMENTS, "timeout": $SECONDS}`,
		remote:  `{"url": $URL$AUTH, "timeout": $SECONDS}`,

		notes: []note{
			inherited,
			{key, `Otherwise add env to the entry, as for Claude Desktop, and write the key
				there.`},
			literalToken,
			{always, `The timeout is in seconds and bounds a call; without it Zed gives up after
				60.`},
		},
	},
	{ // https://junie.jetbrains.com/docs/junie-cli-mcp-configuration.html
		ID:     "junie",
		Name:   "Junie",
		path:   "~/.junie/mcp/mcp.json",
		local:  program,
		remote: address,
		signIn: "Authorize in the settings of the IDE, under Tools, Junie, MCP Settings",

		notes: []note{
			literal,
			{always, `The CLI and the plugin of JetBrains' IDEs read the same file. For one
				project only, it is .junie/mcp/mcp.json in it.`},
			{ViaHTTP, `Older versions of Junie start programs only.`},
		},
	},
	{ // https://kiro.dev/docs/mcp/configuration
		ID:        "kiro",
		Name:      "Kiro",
		path:      "~/.kiro/settings/mcp.json",
		reference: "${%s}",
		local:     program,
		remote:    address,
		signIn:    "Kiro opens the page when the file is saved",

		notes: []note{
			fromEnvironment,
			{secret, `Kiro asks before it uses a variable: allow $VARS, or add it to Mcp Approved
				Env Vars in its settings.`},
			{always, `Kiro CLI reads the same file. For one workspace only, it is
				.kiro/settings/mcp.json there.`},
		},
	},
	{ // https://block.github.io/goose/docs/guides/config-files
		ID:          "goose",
		Name:        "Goose",
		path:        "~/.config/goose/config.yaml",
		windowsPath: "DATA/Block/goose/config/config.yaml",
		whole:       true,
		reference:   "${%s}",

		local: `extensions:
  $NAME:
    name: $NAME
    description: Web-searched, cited answers
    type: stdio
    cmd: $PROGRAM
    args: $ARGUMENTS$ENV
    enabled: true
    timeout: $SECONDS
`,
		env: `
    env_keys: $NAMES`,
		remote: `extensions:
  $NAME:
    name: $NAME
    description: Web-searched, cited answers
    type: streamable_http
    uri: $URL$AUTH
    enabled: true
    timeout: $SECONDS
`,
		auth: `
    env_keys: $NAMES
    headers: {"Authorization": "Bearer $TOKEN"}`,

		notes: []note{
			{secret, `The file holds no secret: Goose takes $VARS from the environment that it is
				started in, or from its own secret storage (goose configure).`},
			{always, `The timeout is in seconds and bounds a call; goose configure proposes 300.`},
		},
	},
	{
		ID:     "generic",
		Name:   "Other clients",
		place:  "the file that the documents of your client name",
		local:  program,
		remote: address,

		notes: []note{
			{secret, `Write the value of $VARS in place of YOUR_… and keep the file private, or
				refer to a variable if your client replaces them: the forms are ${NAME},
				${env:NAME} and {env:NAME}.`},
			{always, `Some clients call mcpServers servers, mcp or context_servers.`},
			{stdio, `Some want "type": "stdio" or "local" in the entry, the program and its
				arguments in one list, or "environment" in place of "env".`},
			{ViaHTTP, `Some want "type": "http", "streamable-http" or "remote" in the entry, or
				call the address serverUrl, httpUrl or uri.`},
			{always, `Calls take up to $SECONDS s: raise the client's time limit to that if it
				has one.`},
		},
	},
}
