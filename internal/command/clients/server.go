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

// Vias lists them, the default of a release first.
func Vias() []string {
	return []string{ViaNPX, ViaDocker, ViaBinary, ViaHTTP}
}

const (
	name     = "openai-responses" // the key of the server in the clients' files
	tokenEnv = "MCP_HTTP_TOKEN"   // the variable of the client's machine with the bearer token
	image    = "ghcr.io/uchimanajet7/openai-responses-mcp:" + version.Version

	// pinned starts from npx's cache, after npx has asked the registry whether the version is still
	// there.
	pinned = version.Name + "@" + version.Version

	// shortRetries makes npx ask a registry that is down for two seconds, in place of 70.
	// --prefer-offline would not ask, but never finds a version that is newer than its cache.
	shortRetries = "--fetch-retry-mintimeout=200" // ms, then ten times as long

	// margin is how much longer a client waits than the server, whose error says what is wrong.
	margin = 10 * time.Second
)

// Server is how a client starts or reaches the server.
type Server struct {
	Via    string   // one of Vias
	OS     string   // a GOOS
	Binary string   // full path of the program, for ViaBinary
	URL    string   // of the MCP endpoint, for ViaHTTP
	OAuth  bool     // the client signs in to the server at URL
	Keys   []string // variables of the API key, unless it is stored, and of openai.headers
	Config string   // full path of a YAML file for the server, or ""

	Sets map[string]string // variables with values that are no secrets, such as OPENAI_BASE_URL

	Limit time.Duration // of a call, as the server is configured
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
func (s Server) sendsToken() bool {
	return s.Via == ViaHTTP && !s.OAuth && !s.onLoopback()
}

// onLoopback reports whether URL is on this machine.
func (s Server) onLoopback() bool {
	u, err := url.Parse(s.URL)
	return err == nil && text.IsLoopback(u.Hostname())
}

// command is the command line that starts the server for c, the program first.
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

// docker is the command line of a container, up to the image. The container sees the folder of the
// configuration as /config, since the folder may hold a policy too.
func (s Server) docker(c Client) []string {
	line := []string{"docker", "run", "-i", "--rm"}
	variables := append(slices.Collect(maps.Keys(c.sets(s))), s.secrets()...)
	slices.Sort(variables)
	for _, v := range slices.Compact(variables) {
		line = append(line, "-e", v) // without a value it copies the variable
	}

	if s.Config != "" {
		folder := filepath.ToSlash(filepath.Dir(s.Config))
		mount := "type=bind,source=" + folder + ",target=/config,readonly"
		line = append(line, "--mount", mount) // -v would stop at a colon in the folder's name
	}
	return append(line, image)
}

// Notes are what a user has to know about the way to the server. Each is a line.
func (s Server) Notes() []string {
	return Client{Hints: load().Server}.Notes(s)
}

// note is a text for the users of some servers, a template.
type note struct {
	When string // a condition that has knows; "": always
	Text string
}

// has reports whether a condition holds for s. A value of --via is one, too.
func (s Server) has(condition string) bool {
	switch condition {
	case "":
		return true
	case "stdio": // the client starts the server
		return s.Via != ViaHTTP
	case "secret": // the client passes a secret on
		return len(s.secrets()) > 0
	case "key": // to a server that it starts
		return s.Via != ViaHTTP && len(s.Keys) > 0
	case "sets": // and variables with values
		return s.Via != ViaHTTP && len(s.Sets) > 0
	case "download": // the first start may be slow
		return s.Via == ViaNPX || s.Via == ViaDocker
	case "login": // that finds a stored key, too
		return s.has("key") && s.Via != ViaDocker
	case "token": // the entry has a bearer token
		return s.sendsToken()
	case "oauth": // the user signs in
		return s.OAuth
	case "loopback": // the server needs no token
		return s.onLoopback() && !s.OAuth
	case "plain": // what is sent can be read on its way
		return strings.HasPrefix(s.URL, "http:") && !s.onLoopback()
	}
	return s.Via == condition
}
