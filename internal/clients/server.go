package clients

import (
	"net/url"
	"path/filepath"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
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

	// pinned starts faster than @latest, for which npx asks the registry.
	pinned = version.Name + "@" + version.Version

	// margin is how much longer a client waits than the server, whose error says what is wrong.
	margin = 10 * time.Second
)

// Server is how a client starts or reaches the server.
type Server struct {
	Via    string        // one of Vias
	OS     string        // a GOOS
	Binary string        // full path of the program, for ViaBinary
	URL    string        // of the MCP endpoint, for ViaHTTP
	OAuth  bool          // the client signs in to the server at URL
	Keys   []string      // variables of the API key, unless it is stored, and of openai.headers
	Config string        // full path of a YAML file for the server, or ""
	Limit  time.Duration // of a call, as the server is configured
}

// callLimit is how long a client should wait for an answer, in whole seconds.
func (s Server) callLimit() int64 {
	return int64((s.Limit + margin).Seconds())
}

// secrets are the variables that the client passes on.
func (s Server) secrets() []string {
	switch {
	case s.sendsToken():
		return []string{tokenEnv}
	case s.Via == ViaHTTP:
		return nil
	}
	return s.Keys
}

// sendsToken reports whether the entry has a token. A server on this machine needs none.
func (s Server) sendsToken() bool { return s.Via == ViaHTTP && !s.OAuth && !s.onLoopback() }

// onLoopback reports whether URL is on this machine.
func (s Server) onLoopback() bool {
	u, err := url.Parse(s.URL)
	return err == nil && text.IsLoopback(u.Hostname())
}

// command is the command line that starts the server, the program first.
func (s Server) command() []string {
	var line []string
	config := s.Config

	switch s.Via {
	case ViaBinary:
		line = []string{s.Binary}
	case ViaDocker:
		line = s.docker()
		if config != "" {
			config = "/config/" + filepath.Base(config)
		}
	default:
		line = []string{"npx", "-y", pinned}
		if s.OS == "windows" { // npx is a script there, which only a shell can start
			line = append([]string{"cmd", "/c"}, line...)
		}
	}

	line = append(line, "--stdio")
	if config != "" {
		line = append(line, "--config", config)
	}
	return line
}

// docker is the command line of a container, up to the image. The container sees the folder of the
// configuration as /config, since the folder may hold a policy too.
func (s Server) docker() []string {
	line := []string{"docker", "run", "-i", "--rm"}
	for _, v := range s.secrets() {
		line = append(line, "-e", v) // without a value it copies the variable
	}

	if s.Config != "" {
		folder := filepath.ToSlash(filepath.Dir(s.Config))
		mount := "type=bind,source=" + folder + ",target=/config,readonly"
		line = append(line, "--mount", mount) // -v would stop at a colon in the folder's name
	}
	return append(line, image)
}

// serverNotes are what a user has to know about each way to the server.
var serverNotes = []note{
	{ViaNPX, `The first start downloads the package, which a client may not wait for. Do it once
		in a terminal: npx -y ` + pinned + ` --version`},
	{ViaNPX, `The version is pinned; raise the number to update.`},
	{ViaNPX, `Applications started from the desktop have a shorter PATH than a shell. If one does
		not find npx (spawn npx ENOENT), install the program and run setup with --via binary:
		that entry has its full path.`},
	{ViaDocker, `Fetch the image before the first start, which may be too slow otherwise: docker
		pull ` + image},
	{ViaDocker, `The container has only the variables that -e names: behind a proxy add "-e",
		"HTTPS_PROXY" and "-e", "NO_PROXY" in front of the image, and likewise OPENAI_BASE_URL,
		MODEL_ANSWER and the like if you use them.`},
	{ViaDocker, `In the container 127.0.0.1 is the container itself; of your files it sees only
		the configuration's folder, as /config.`},
	{ViaBinary, `The path is that of this program. Move the program to its final place first, or
		correct the path.`},
	{token, tokenEnv + ` is a token of the server's MCP_HTTP_TOKENS, without the name before the
		colon.`},
	{loopback, `The entry has no token, since a server on this machine needs none. If the server
		has MCP_HTTP_TOKENS all the same, the client must send Authorization: Bearer TOKEN.`},
	{oauth, `The server has to run with --oauth-issuer. If the sign-in asks for a client id,
		register the client with your identity provider.`},
	{plain, `Plain http sends the token and the questions unencrypted: use https unless the
		server is on this machine.`},
}

// Notes are what a user has to know about the way to the server. Each is a line.
func (s Server) Notes() []string { return Client{Hints: serverNotes}.Notes(s) }

// note is a text for the users of some servers: a template, on any number of lines.
type note struct {
	When condition
	Text string
}

// condition is a property of a Server. A value of --via is one, too.
type condition string

const (
	always   condition = ""
	stdio    condition = "stdio"    // the client starts the server
	secret   condition = "secret"   // the client passes a secret on
	key      condition = "key"      // to a server that it starts
	token    condition = "token"    // the entry has a bearer token
	oauth    condition = "oauth"    // the user signs in
	loopback condition = "loopback" // the server needs no token
	plain    condition = "plain"    // what is sent can be read on its way
)

// has reports whether a condition holds for s.
func (s Server) has(c condition) bool {
	switch c {
	case always:
		return true
	case stdio:
		return s.Via != ViaHTTP
	case secret:
		return len(s.secrets()) > 0
	case key:
		return s.Via != ViaHTTP && len(s.Keys) > 0
	case token:
		return s.sendsToken()
	case oauth:
		return s.OAuth
	case loopback:
		return s.onLoopback() && !s.OAuth
	case plain:
		return strings.HasPrefix(s.URL, "http:") && !s.onLoopback()
	}
	return s.Via == string(c)
}
