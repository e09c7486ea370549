package clients

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// The values of --via: how a client reaches the server.
const (
	ViaNPX    = "npx"
	ViaDocker = "docker"
	ViaBinary = "binary"
	ViaHTTP   = "http"
)

// Vias lists them, the default of a release first.
func Vias() []string { return []string{ViaNPX, ViaDocker, ViaBinary, ViaHTTP} }

const (
	name     = "openai-responses" // the key of the server in the clients' files
	tokenEnv = "MCP_HTTP_TOKEN"   // the variable of the client's machine with the bearer token
	image    = "ghcr.io/uchimanajet7/openai-responses-mcp:" + version.Version
	pinned   = version.Name + "@" + version.Version // quicker than @latest, for which npx asks the registry
	margin   = 10 * time.Second                     // a client waits longer than the server, whose error says what is wrong
)

// Server is how a client starts or reaches the server.
type Server struct {
	Via    string        // one of Vias
	OS     string        // a GOOS
	Binary string        // full path of the program, for ViaBinary
	URL    string        // of the MCP endpoint, for ViaHTTP
	Keys   []string      // variables of the API key and of openai.headers
	Config string        // full path of a YAML file for the server, or ""
	Limit  time.Duration // of a call, as the server is configured
}

// choose returns local when the client starts the server, and http otherwise.
func (s Server) choose(local, http string) string {
	if s.Via == ViaHTTP {
		return http
	}
	return local
}

// callLimit is how long a client should wait for an answer, in whole seconds.
func (s Server) callLimit() int64 { return int64((s.Limit + margin).Round(time.Second).Seconds()) }

// secrets are the variables that the client passes on.
func (s Server) secrets() []string {
	if s.Via == ViaHTTP {
		return []string{tokenEnv}
	}
	return s.Keys
}

// command is the command line that starts the server, the program first.
func (s Server) command() (line []string) {
	config := s.Config
	switch s.Via {
	case ViaBinary:
		line = []string{s.Binary}
	case ViaDocker:
		line = []string{"docker", "run", "-i", "--rm"}
		for _, v := range s.secrets() {
			line = append(line, "-e", v) // without a value it copies the variable
		}
		if config != "" {
			// The folder may hold a policy, too. -v would stop at a colon in its name.
			line = append(line, "--mount", "type=bind,source="+filepath.ToSlash(filepath.Dir(config))+",target=/config,readonly")
			config = "/config/" + filepath.Base(config)
		}
		line = append(line, image)
	default:
		if s.OS == "windows" { // npx is a script there, which only a shell can start
			line = []string{"cmd", "/c"}
		}
		line = append(line, "npx", "-y", pinned)
	}
	line = append(line, "--stdio")
	if config != "" {
		line = append(line, "--config", config)
	}
	return line
}

// Notes are what a user has to know about the way to the server. Each is a line.
func (s Server) Notes() []string {
	notes := map[string][]string{
		ViaNPX: {
			"The first start downloads the package, which a client may not wait for. Do it once in a terminal: npx -y " + pinned + " --version",
			"The version is pinned; raise the number to update.",
			"Applications started from the desktop have a shorter PATH: if npx is not found, write its full path.",
		},
		ViaDocker: {
			"Fetch the image before the first start, which may be too slow otherwise: docker pull " + image,
			`The container has only the variables that -e names: behind a proxy add "-e", "HTTPS_PROXY" and "-e", "NO_PROXY" in front of the image, and likewise OPENAI_BASE_URL, MODEL_ANSWER and the like if you use them.`,
			"In the container 127.0.0.1 is the container itself; of your files it sees only the configuration's folder, as /config.",
		},
		ViaBinary: {"The path is that of this program. Move the program to its final place first, or correct the path."},
		ViaHTTP:   {tokenEnv + " is a token of the server's MCP_HTTP_TOKENS, without the name before the colon. A server on a loopback address needs none: leave it out of the entry."},
	}[s.Via]
	if s.Via == ViaHTTP && strings.HasPrefix(s.URL, "http:") {
		notes = append(notes, "Plain http sends the token and the questions unencrypted: use https unless the server is on this machine.")
	}
	return notes
}

// entry is a server in the JSON file of a client. No client has all members.
type entry struct {
	Type        string            `json:"type,omitempty"`
	Command     any               `json:"command,omitempty"` // a string; opencode: the whole command line
	Args        []string          `json:"args,omitempty"`
	URL         string            `json:"url,omitempty"`
	ServerURL   string            `json:"serverUrl,omitempty"` // Windsurf
	Headers     map[string]string `json:"headers,omitempty"`
	Enabled     bool              `json:"enabled,omitempty"` // opencode
	Env         map[string]string `json:"env,omitempty"`
	Tools       []string          `json:"tools,omitempty"`       // Copilot CLI
	Environment map[string]string `json:"environment,omitempty"` // opencode
	Timeout     int64             `json:"timeout,omitempty"`     // Zed; seconds
}

// Snippet is a whole configuration file that has s as its only server.
func (c Client) Snippet(s Server) string {
	if c.section == "" {
		return codexSnippet(s)
	}
	file := map[string]any{c.section: map[string]entry{name: c.entry(s)}}
	if c.asks {
		file["inputs"] = inputs(s)
	}
	return encode(file, "  ") + "\n"
}

func (c Client) entry(s Server) entry {
	e := entry{Type: s.choose(c.local, c.http)}
	if s.Via == ViaHTTP {
		e.URL, e.Headers = s.URL, map[string]string{"Authorization": "Bearer " + c.refer(tokenEnv)}
	} else {
		line := s.command()
		e.Command, e.Args, e.Env = line[0], line[1:], map[string]string{}
		for _, v := range s.secrets() {
			e.Env[v] = c.refer(v)
		}
	}
	if c.adjust != nil {
		c.adjust(&e, s)
	}
	return e
}

// refer is how the client's file refers to a variable.
func (c Client) refer(v string) string { return strings.Replace(c.reference, "NAME", v, 1) }

// inputs are the values that VS Code asks for.
func inputs(s Server) (list []map[string]any) {
	for _, v := range s.secrets() {
		list = append(list, map[string]any{"type": "promptString", "id": v, "description": v, "password": true})
	}
	return list
}

// codexSnippet is the TOML table of Codex. Its strings are those of JSON.
func codexSnippet(s Server) string {
	list := func(words []string) string { return strings.ReplaceAll(encode(words, ""), `","`, `", "`) }
	how := fmt.Sprintf("url = %s\nbearer_token_env_var = %q\n", encode(s.URL, ""), tokenEnv)
	if s.Via != ViaHTTP {
		line := s.command()
		how = fmt.Sprintf("command = %s\nargs = %s\nenv_vars = %s\nstartup_timeout_sec = 60\n",
			encode(line[0], ""), list(line[1:]), list(s.secrets()))
	}
	return fmt.Sprintf("[mcp_servers.%s]\n%stool_timeout_sec = %d\n", name, how, s.callLimit())
}

// Command is the client's own command that adds the server, quoted for the shell of s.OS (on
// Windows, the Command Prompt), or "" when there is none. omits is what its entry lacks, or "".
func (c Client) Command(s Server) (command, omits string) {
	words := c.words(s)
	for i, w := range words {
		words[i] = shellWord(w, s.OS)
	}
	return strings.Join(words, " "), s.choose(c.omits, "")
}

// words are the words of Command before they are quoted.
func (c Client) words(s Server) (words []string) {
	line := s.command()
	values := map[string][]string{
		"URL":           {s.URL},
		"AUTHORIZATION": {"Authorization: Bearer " + c.refer(tokenEnv)},
		"PROGRAM":       line[:1],
		"ARGUMENTS":     line[1:],
		"JSON":          {c.named(s)},
	}
	for _, v := range s.secrets() {
		values["ENV"] = append(values["ENV"], "--env", v+"="+c.refer(v))
	}
	for w := range strings.FieldsSeq(s.choose(c.add, c.addHTTP)) {
		if value, ok := values[w]; ok {
			words = append(words, value...)
		} else {
			words = append(words, w)
		}
	}
	return words
}

// named is an entry with its name in one JSON object, as VS Code takes it.
func (c Client) named(s Server) string {
	return encode(struct {
		Name string `json:"name"`
		entry
		Inputs []map[string]any `json:"inputs"`
	}{name, c.entry(s), inputs(s)}, "")
}

// Link is a URL that adds the server when it is opened, or "".
func (c Client) Link(s Server) string {
	escape := func(text string) string { return strings.ReplaceAll(url.QueryEscape(text), "+", "%20") }
	config := base64.StdEncoding.EncodeToString([]byte(encode(c.entry(s), "")))
	return strings.NewReplacer("ENTRY", escape(config), "JSON", escape(c.named(s))).Replace(c.link)
}

// shellWord quotes a word of a command line where that is needed.
func shellWord(w, goos string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@%+=:,./_-"
	switch {
	case w != "" && strings.Trim(w, plain) == "":
		return w
	case goos == "windows":
		return `"` + strings.ReplaceAll(w, `"`, `\"`) + `"`
	}
	return "'" + strings.ReplaceAll(w, "'", `'\''`) + "'"
}

// Notes are what a user has to know about the snippet. Each is a line.
func (c Client) Notes(s Server) (notes []string) {
	r := strings.NewReplacer("$CLIENT", c.Name, "$VARS", strings.Join(s.secrets(), ", "), "$LIMIT_MS", fmt.Sprint(s.callLimit()*1000))
	for _, n := range c.notes {
		if !strings.HasPrefix(n, s.choose("http: ", "stdio: ")) {
			notes = append(notes, r.Replace(strings.TrimPrefix(n, s.choose("stdio: ", "http: "))))
		}
	}
	return notes
}

func encode(v any, indent string) string {
	b, _ := jsonx.MarshalIndent(v, indent) // the values here cannot fail
	return string(b)
}
