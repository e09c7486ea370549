package cli

import (
	"cmp"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// setup prints the configuration of a client on stdout and notes on stderr. It prints no key.
func (a *app) setup(args []string) error {
	standard := clients.ViaBinary // other builds are not published
	if version.IsRelease() {
		standard = clients.ViaNPX
	}
	f := newConfigFlag("setup")
	via := f.String("via", standard, "")
	address := f.String("url", "", "")
	words, err := f.parse(args)
	if err != nil {
		return err
	}
	overHTTP := *via == clients.ViaHTTP
	switch u, err := url.Parse(*address); {
	case !slices.Contains(clients.Vias(), *via):
		return usageError(f.seeHelp(), "--via %q is not one of %s", *via, strings.Join(clients.Vias(), ", "))
	case len(words) == 0:
		return a.listClients()
	case !overHTTP && *address != "":
		return usageError("add --via http", "--url is for servers over HTTP")
	case overHTTP && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil):
		return usageError("add --url https://HOST/mcp, without a user", "--via http needs the http or https URL of the server")
	}
	name := strings.Join(words, " ") // some have a blank: VS Code
	c, ok := clients.Find(name)
	switch {
	case !ok:
		var ids []string
		for _, c := range clients.All() {
			ids = append(ids, c.ID)
		}
		return usageError("the clients are "+strings.Join(ids, ", "), "unknown client %q", name)
	case overHTTP && c.NoHTTP != "":
		return usageError("use --via npx, docker or binary", "%s does not connect to servers over HTTP: %s", c.Name, c.NoHTTP)
	}
	s, err := a.startedAs(f, *via)
	if err != nil {
		return err
	}
	s.URL = *address
	if _, err := io.WriteString(a.stdout, c.Snippet(s)); err != nil {
		return err
	}
	say := func(format string, args ...any) { fmt.Fprintf(a.stderr, format, args...) }
	say("%s reads %s; if the file has other entries, merge this one into it.\n", c.Name, c.File(s.OS))
	if link := c.Link(s); link != "" {
		say("Or open this link, which adds the entry:\n\n    %s\n\n", link)
	}
	switch command, omits := c.Command(s); {
	case omits != "":
		say("The command of %s writes an incomplete entry, which needs %s:\n\n    %s\n\n", c.Name, omits, command)
	case command != "":
		say("Or let %s add the entry:\n\n    %s\n\n", c.Name, command)
	}
	for _, note := range append(c.Notes(s), s.Notes()...) {
		say("- %s\n", note)
	}
	return nil
}

// listClients prints the clients, a line each.
func (a *app) listClients() error {
	for _, c := range clients.All() {
		if _, err := fmt.Fprintf(a.stdout, "%-15s   %-15s   %s\n", c.ID, c.Name, c.File(runtime.GOOS)); err != nil {
			return err
		}
	}
	a.note("setup CLIENT prints the configuration, --via %s says how the client reaches the server", strings.Join(clients.Vias(), "|"))
	return nil
}

// startedAs returns how a client starts the server, with the configuration of this command line,
// also of a file that is wrong or missing: it may be corrected later.
func (a *app) startedAs(f *flags, via string) (clients.Server, error) {
	s := clients.Server{Via: via, OS: runtime.GOOS, Keys: []string{"OPENAI_API_KEY"}, Limit: 5 * time.Minute}
	cfg, warnings, err := config.Load(f.config, a.env)
	file := *cmp.Or(f.config.Config, new(""))
	if err != nil {
		warnings = append(strings.Split(err.Error(), "\n"), "setup goes on without the configuration, with the key in "+s.Keys[0])
	} else {
		s.Keys, s.Limit = append([]string{cfg.KeyEnv}, cfg.HeaderVariables...), cfg.Timeout()
		if via == clients.ViaDocker { // a container does not find the default file
			file = cfg.File
		}
	}
	a.warn(warnings...)
	if file != "" {
		if s.Config, err = filepath.Abs(file); err != nil {
			return s, fmt.Errorf("finding %q: %w", file, err)
		}
	}
	switch {
	case via == clients.ViaBinary:
		s.Binary, err = installed()
		return s, err
	case via != clients.ViaHTTP && !version.IsRelease():
		a.warn("this build is " + version.String() + "; the entry works when " + version.Version + " is published")
	}
	return s, nil
}

// temporary matches the programs of go run: in a folder that it removes, or in the build cache.
var temporary = regexp.MustCompile(`[/\\](go-build\d+[/\\]b\d+[/\\]exe|[0-9a-f]{64}-d)[/\\][^/\\]+$`)

// installed is the full path of this program.
func installed() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	if temporary.MatchString(self) {
		return "", &failure{exitFailed, "go run builds a temporary program, which a client cannot start later",
			"run go install ./cmd/openai-responses-mcp, then ~/go/bin/openai-responses-mcp setup"}
	}
	// A link in PATH is better: package managers keep it over updates.
	found, _ := exec.LookPath(version.Name)
	link, _ := os.Stat(found)
	if info, _ := os.Stat(self); filepath.IsAbs(found) && os.SameFile(link, info) {
		return found, nil
	}
	return self, nil
}
