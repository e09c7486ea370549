package clients

import (
	"math"
	"path"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// The ways to start the server.
const (
	ViaNPX    = "npx"
	ViaDocker = "docker"
	ViaBinary = "binary"
)

// Ways lists them, the default first.
func Ways() []string { return []string{ViaNPX, ViaDocker, ViaBinary} }

const (
	// name is the key of the server in the clients' files.
	name = "openai-responses"
	// image is where releases are published for containers.
	image = "ghcr.io/uchimanajet7/openai-responses-mcp:" + version.Version
	// pinned is started from npx's cache without asking the registry, which is
	// both quicker and the same program every time; @latest is neither.
	pinned = version.Name + "@" + version.Version
	// startLimit leaves a cold npx cache the time to fill.
	startLimit = time.Minute
	// margin is what a client waits longer than the server, whose clock starts
	// later and whose last word says what is wrong.
	margin = 10 * time.Second
)

// Server is the server as a client is to start it.
type Server struct {
	Via    string   // ViaNPX, ViaDocker or ViaBinary
	OS     string   // a GOOS
	Binary string   // full path of the program, for ViaBinary
	KeyEnv string   // variable that holds the API key
	More   []string // variables of the headers that openai.headers has besides
	Config string   // full path of a YAML file that the server is to read, or ""

	Timeout time.Duration // of a call, as the server is configured
}

// callLimit is what a client is told to wait for an answer, in whole seconds.
func (s Server) callLimit() int64 {
	limit := max(s.Timeout, s.Timeout+margin) // the longest that there is bears no margin
	return int64(math.Ceil(limit.Seconds()))
}

// secrets are the variables that the client has to pass on, the key's first.
func (s Server) secrets() []string { return append([]string{s.KeyEnv}, s.More...) }

// names lists them in a sentence.
func (s Server) names() string {
	list := s.secrets()
	if len(list) == 1 {
		return list[0]
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// placeholders lists what stands for their values.
func (s Server) placeholders() string {
	return "YOUR_" + strings.Join(s.secrets(), ", YOUR_")
}

// values gives each of them as the client is to write it.
func (s Server) values(value func(variable string) string) map[string]string {
	m := map[string]string{}
	for _, v := range s.secrets() {
		m[v] = value(v)
	}
	return m
}

// command is the command line, the program first.
func (s Server) command() []string {
	args := []string{"--stdio"}
	if s.Config != "" {
		args = append(args, "--config", s.Config)
	}
	switch s.Via {
	case ViaBinary:
		return append([]string{s.Binary}, args...)
	case ViaDocker:
		return s.docker()
	}
	line := append([]string{"npx", "-y", pinned}, args...)
	if s.OS == "windows" {
		// npx is a script there, which only a shell can start.
		line = append([]string{"cmd", "/c"}, line...)
	}
	return line
}

// docker hands the key down by name: -e without a value copies the variable
// that the client has set for docker itself.
func (s Server) docker() []string {
	line := []string{"docker", "run", "-i", "--rm"}
	for _, v := range s.secrets() {
		line = append(line, "-e", v)
	}
	if s.Config == "" {
		return append(line, image)
	}
	// The folder and not the file: a policy may lie beside it.
	folder, base := s.split()
	// -v would stop at a colon in the name; fields of --mount are those of a CSV line.
	source := "source=" + folder
	if strings.ContainsAny(source, `,"`) {
		source = `"` + strings.ReplaceAll(source, `"`, `""`) + `"`
	}
	return append(line, "--mount", "type=bind,"+source+",target=/config,readonly", image, "--stdio", "--config", "/config/"+base)
}

// split cuts the path of the configuration into folder and file.
func (s Server) split() (folder, base string) {
	p := s.Config
	if i := strings.LastIndexByte(p, '\\'); i >= 0 && s.OS == "windows" {
		return p[:i], p[i+1:]
	}
	return path.Dir(p), path.Base(p)
}

// notes are what holds for every client.
func (s Server) notes() []string {
	switch s.Via {
	case ViaBinary:
		return []string{"The path is that of this program. Move the program to where it stays first, or correct the path."}
	case ViaDocker:
		list := []string{"Fetch the image before the first start, which may be too slow otherwise: docker pull " + image}
		if s.Config != "" {
			list = append(list, "In the container 127.0.0.1 is the container itself, and only the configuration's folder is there: as /config.")
		}
		return list
	}
	list := []string{
		"The first start downloads the package, which a client may not wait for. Do it once in a terminal: npx -y " + pinned + " --version",
		"The version is pinned; raise the number to get a newer one.",
	}
	if s.OS == "windows" {
		return append(list, "npx is a script on Windows, hence cmd /c.")
	}
	return append(list, "Applications started from the desktop have a shorter PATH: if npx is not found, write its full path (command -v npx).")
}
