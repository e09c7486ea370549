package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// setup prints the configuration of an MCP client: the snippet on stdout, so
// that it can go into a file, and what to know about it on stderr. It writes
// no file and never prints a key.
func (a *app) setup(args []string) error {
	f := newConfigFlag("setup")
	via := f.String("via", clients.ViaNPX, "")
	names, err := f.parseMixed(args)
	switch {
	case errors.Is(err, errHelp):
		return a.help()
	case err != nil:
		return err
	case !slices.Contains(clients.Ways(), *via):
		return &usageError{
			problem: fmt.Sprintf("--via %q is not one of %s", *via, strings.Join(clients.Ways(), ", ")),
			hint:    "see --help",
		}
	case len(names) == 0:
		return a.listClients()
	}
	// Some names have a blank, and not everybody quotes them.
	c, ok := clients.Find(strings.Join(names, " "))
	if !ok {
		return &usageError{
			problem: fmt.Sprintf("unknown client %q", strings.Join(names, " ")),
			hint:    fmt.Sprintf("did you mean %s? setup without a client lists them", c.ID),
		}
	}
	s, err := a.launch(f, *via)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(a.stdout, c.Snippet(s)); err != nil {
		return err
	}
	fmt.Fprintf(a.stderr, "%s reads %s; if the file has other entries, merge this one into it.\n", c.Name, c.File(s.OS))
	for _, note := range c.Notes(s) {
		fmt.Fprintf(a.stderr, "- %s\n", note)
	}
	if set := a.settings(); len(set) > 0 {
		fmt.Fprintf(a.stderr, "- Set here and not in the snippet: %s. The server goes by what the client passes on.\n", strings.Join(set, ", "))
	}
	return nil
}

// settings are the variables of this shell that change what the server does,
// without those that the snippet passes on.
func (a *app) settings() []string {
	names := []string{"HTTPS_PROXY", "https_proxy", "HTTP_PROXY", "http_proxy", "NO_PROXY", "no_proxy", "SSL_CERT_FILE"}
	for _, k := range config.Keys() {
		names = append(names, k.Env)
	}
	return slices.DeleteFunc(names, func(name string) bool { return name == "" || a.variable(name) == "" })
}

// listClients prints what setup knows, a line each.
func (a *app) listClients() error {
	w := tabwriter.NewWriter(a.stdout, 0, 0, 3, ' ', 0)
	for _, c := range clients.All() {
		fmt.Fprintf(w, "%s\t%s\t%s\n", c.ID, c.Name, c.File(runtime.GOOS))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	a.note("setup CLIENT prints the configuration, --via %s says how the server is started", strings.Join(clients.Ways(), "|"))
	return nil
}

// launch is how a client starts the server, with the configuration that this
// command line sees. A broken file is the business of doctor; one that --config
// names is in the snippet all the same, as it may be mended or yet be written.
func (a *app) launch(f *flags, via string) (clients.Server, error) {
	s := clients.Server{Via: via, OS: runtime.GOOS, KeyEnv: "OPENAI_API_KEY", Timeout: 5 * time.Minute}
	file := f.config.Config
	cfg, warnings, err := a.config(f)
	switch {
	case err != nil:
		a.warn(err.Error() + "; this setup goes on without what the file says, with the key in " + s.KeyEnv)
	default:
		list := cfg.Variables()
		s.KeyEnv, s.More, s.Timeout = list[0], list[1:], cfg.Timeout()
		// The default file is found by itself, but not from within a container.
		if cfg.File() != "" && via == clients.ViaDocker {
			file = cfg.File()
		}
	}
	for _, t := range warnings {
		a.warn(t)
	}
	if file != "" {
		if cfg != nil && cfg.File() == "" {
			a.warn("the snippet names " + file + " all the same; until it is there, the key is expected in " + s.KeyEnv)
		}
		if len(file) > 1 && file[0] == '~' && os.IsPathSeparator(file[1]) { // as the server reads it
			file = filepath.Join(a.home(), file[2:])
		}
		if s.Config, err = filepath.Abs(file); err != nil {
			return s, fmt.Errorf("finding %q: %w", file, err)
		}
	}
	if via == clients.ViaBinary {
		s.Binary, err = ownPath()
	}
	return s, err
}

// ownPath is the full path of this program: as PATH has it when that is this
// very file (a package manager keeps that path over an update), else its own.
func ownPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", fmt.Errorf("finding this program: %w", err)
	}
	found, err := exec.LookPath(version.Name)
	if err != nil || !filepath.IsAbs(found) {
		return self, nil
	}
	a, errA := os.Stat(self)
	b, errB := os.Stat(found)
	if errA == nil && errB == nil && os.SameFile(a, b) {
		return found, nil
	}
	return self, nil
}
