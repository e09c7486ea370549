package clients

import (
	"path/filepath"
	"strings"
	"time"

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
	// name is the key of the server in the clients' files.
	name = "openai-responses"
	// image is the container image of this release.
	image = "ghcr.io/uchimanajet7/openai-responses-mcp:" + version.Version
	// pinned starts from npx's cache without asking the registry, which is
	// quicker than @latest and the same program every time.
	pinned = version.Name + "@" + version.Version
	// tokenEnv is the variable of the client's machine with the bearer token.
	tokenEnv = "MCP_HTTP_TOKEN"
	// margin is how much longer a client waits than the server, whose clock
	// starts later and whose error says what is wrong.
	margin = 10 * time.Second
)

// Server is how a client starts or reaches the server.
type Server struct {
	Via    string   // one of Vias
	OS     string   // a GOOS
	Binary string   // full path of the program, for ViaBinary
	URL    string   // of the MCP endpoint, for ViaHTTP
	KeyEnv string   // variable that holds the API key
	More   []string // other variables that openai.headers refers to
	Config string   // full path of a YAML file for the server, or ""

	Timeout time.Duration // of a call, as the server is configured
}

// choose returns local when the client starts the server, and http otherwise.
func (s Server) choose(local, http string) string {
	if s.Via == ViaHTTP {
		return http
	}
	return local
}

// callLimit is how long a client should wait for an answer, in whole seconds.
func (s Server) callLimit() int64 { return int64((s.Timeout + margin).Round(time.Second).Seconds()) }

// secrets are the variables that the client passes on.
func (s Server) secrets() []string {
	if s.Via == ViaHTTP {
		return []string{tokenEnv}
	}
	return append([]string{s.KeyEnv}, s.More...)
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
			// The folder is mounted and not the file, as it may hold a policy
			// too. -v would stop at a colon in the name.
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
