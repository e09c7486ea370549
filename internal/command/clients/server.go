package clients

import (
	"maps"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
)

// The values of --via: how a client reaches the server.
const (
	ViaNPX    = "npx"
	ViaDocker = "docker"
	ViaBinary = "binary"
	ViaHTTP   = "http"
)

// Vias are the values of --via, the default of a release first.
var Vias = []string{ViaNPX, ViaDocker, ViaBinary, ViaHTTP}

const (
	entryName = "openai-responses" // key of the server in the clients' files
	tokenEnv  = "MCP_HTTP_TOKEN"   // variable on the client's machine with the bearer token
	image     = "ghcr.io/uchimanajet7/openai-responses-mcp:" + version.Version

	// pinned is the package with its version. npx starts it from its cache, after it has asked the
	// registry whether the version still exists.
	pinned = version.Name + "@" + version.Version

	// shortRetries makes npx try a registry that is down for two seconds, not for 70. The flag
	// --prefer-offline would not ask the registry, but never finds a version newer than the cache.
	shortRetries = "--fetch-retry-mintimeout=200" // ms; later retries wait ten times as long

	// waitMargin is how much longer a client waits than the server, so that it gets the server's
	// error.
	waitMargin = 10 * time.Second
)

// Server is how a client starts or reaches the server.
type Server struct {
	Via          string   // one of Vias
	OS           string   // a GOOS
	Binary       string   // full path of the program, for ViaBinary
	URL          string   // URL of the MCP endpoint, for ViaHTTP
	OAuth        bool     // the client signs in to the server at URL
	KeyVariables []string // variables of the API key, unless it is stored, and of openai.headers
	Config       string   // full path of a YAML file for the server, or ""

	ShellVariables map[string]string // with values that are no secrets, such as OPENAI_BASE_URL
	FileVariables  []string          // config.FileVariables of Config, or of the default file

	CallTimeout time.Duration // time limit of a call in the server
}

// waitSeconds returns how long a client should wait for an answer, in whole seconds.
func (s Server) waitSeconds() int64 {
	return int64((s.CallTimeout + waitMargin).Seconds())
}

// secretVariables returns the variables with secrets that the client passes on.
func (s Server) secretVariables() []string {
	switch {
	case s.sendsToken():
		return []string{tokenEnv}
	case s.Via == ViaHTTP:
		return nil
	}
	return s.KeyVariables
}

// sendsToken reports whether the entry contains a token. A server on this machine needs none.
func (s Server) sendsToken() bool {
	return s.Via == ViaHTTP && !s.OAuth && !s.onLoopback()
}

// onLoopback reports whether URL leads to this machine.
func (s Server) onLoopback() bool {
	u, err := url.Parse(s.URL)
	return err == nil && text.IsLoopback(u.Hostname())
}

// command returns the command line that starts the server for c, the program first.
func (s Server) command(c Client) []string {
	var line []string
	config := s.Config

	switch s.Via {
	case ViaBinary:
		line = []string{s.Binary}
	case ViaDocker:
		line = s.docker(c)
		if config != "" {
			config = "/config/" + filepath.Base(config)
		}
	default:
		line = []string{"npx", "-y", shortRetries, pinned}
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

// docker returns the command line of a container, up to the image. The folder of the configuration
// is mounted as /config, because it may also contain a policy.
func (s Server) docker(c Client) []string {
	line := []string{"docker", "run", "-i", "--rm"}
	for _, v := range slices.Sorted(maps.Keys(c.environment(s))) {
		line = append(line, "-e", v) // without a value docker copies the variable
	}

	if s.Config != "" {
		folder := filepath.ToSlash(filepath.Dir(s.Config))
		mount := "type=bind,source=" + folder + ",target=/config,readonly"
		line = append(line, "--mount", mount) // -v would stop at a colon in the folder's name
	}
	return append(line, image)
}

// Notes returns what a user has to know about s.Via, one line each.
func (s Server) Notes() []string {
	return Client{Hints: load().Server}.Notes(s)
}

// note is a text for users.
type note struct {
	When string // condition of Server.has; "": always
	Text string // template
}

// keyFileVariable returns the variable of a key that names a file, or "".
func (s Server) keyFileVariable() string {
	for _, v := range s.KeyVariables {
		if strings.HasSuffix(v, "_FILE") {
			return v
		}
	}
	return ""
}

// has reports whether a condition holds for s. Each value of --via is a condition, too.
func (s Server) has(condition string) bool {
	switch condition {
	case "":
		return true
	case "stdio": // the client starts the server
		return s.Via != ViaHTTP
	case "secret": // the client passes a secret on
		return len(s.secretVariables()) > 0
	case "key": // the client passes a key on to a server that it starts
		return s.Via != ViaHTTP && len(s.KeyVariables) > 0
	case "sets": // the client passes values on to a server that it starts
		return s.Via != ViaHTTP && len(s.ShellVariables) > 0
	case "download": // the first start may be slow
		return s.Via == ViaNPX || s.Via == ViaDocker
	case "login": // the server would also find a stored key
		return s.has("key") && s.Via != ViaDocker
	case "config": // a container sees the configuration
		return s.Via == ViaDocker && s.Config != ""
	case "keyfile": // a container does not see the file that the variable of the key names
		return s.Via == ViaDocker && s.keyFileVariable() != ""
	case "token": // the entry has a bearer token
		return s.sendsToken()
	case "oauth": // the user signs in
		return s.OAuth
	case "loopback": // the server needs no token
		return s.onLoopback() && !s.OAuth
	case "plain": // requests to another machine are not encrypted
		return strings.HasPrefix(s.URL, "http:") && !s.onLoopback()
	}
	return s.Via == condition
}
