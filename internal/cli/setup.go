package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// setupFlags is the command line of setup, and the server that it describes. Via is "" until client
// knows the default.
type setupFlags struct {
	*flags
	clients.Server
}

// setup prints the configuration of a client on stdout and notes on stderr. It prints no key.
func (a *app) setup(_ context.Context, args []string) error {
	f := &setupFlags{flags: newConfigFlag("setup")}
	f.OS = runtime.GOOS
	f.Func("via", "", oneOf(&f.Via, clients.Vias()...))
	f.StringVar(&f.URL, "url", "", "")
	f.BoolVar(&f.OAuth, "oauth", false, "")
	words, err := f.parse(args)
	if err != nil {
		return err
	}

	if len(words) == 0 {
		return a.listClients()
	}

	c, err := f.client(strings.Join(words, " ")) // some have a blank: VS Code
	if err == nil {
		err = a.describe(f)
	}
	if err == nil {
		_, err = io.WriteString(a.stdout, c.Snippet(f.Server))
	}
	if err == nil {
		a.setupNotes(c, f.Server)
	}
	return err
}

// client returns the client of that name, if it can reach the server as the flags say. It completes
// the flags.
func (f *setupFlags) client(name string) (c clients.Client, err error) {
	c, ok := clients.Find(name)
	if !ok {
		var ids []string
		for _, known := range clients.All() {
			ids = append(ids, known.ID)
		}
		hint := suggest("", text.Nearest(name, ids), "openai-responses-mcp setup lists the clients")
		return c, usageError(hint, "unknown client %q", name)
	}

	f.Via = cmp.Or(f.Via, standardVia(c))
	f.OAuth = f.OAuth || c.Web()
	overHTTP := f.Via == clients.ViaHTTP

	switch {
	case !overHTTP && c.Web():
		return c, usageError("leave --via out",
			"%s starts no program: it connects to a server over HTTP", c.Name)
	case !overHTTP && (f.URL != "" || f.OAuth):
		return c, usageError("add --via http", "--url and --oauth are for servers over HTTP")
	case overHTTP && c.NoHTTP != "":
		return c, usageError("use --via npx, docker or binary",
			"%s does not connect to servers over HTTP: %s", c.Name, c.NoHTTP)
	case overHTTP && !serverURL.MatchString(f.URL):
		return c, usageError(
			"start one with serve --http, and add --url https://HOST/mcp, without a user",
			"a server over HTTP needs its http or https URL")
	case c.Web() && !strings.HasPrefix(strings.ToLower(f.URL), "https:"):
		return c, usageError("put a proxy with TLS in front of serve, and add --url https://HOST/mcp",
			"%s connects from the internet, over https only", c.Name)
	}
	return c, nil
}

// standardVia is how a client reaches the server unless --via says otherwise: a release through
// npx if this machine has it, or through docker from a container. Other builds are not published.
func standardVia(c clients.Client) string {
	_, err := exec.LookPath("npx")
	switch {
	case c.Web():
		return clients.ViaHTTP
	case !version.IsRelease():
		return clients.ViaBinary
	case err == nil:
		return clients.ViaNPX
	case os.Getpid() == 1: // the image, whose program a client outside cannot start
		return clients.ViaDocker
	}
	return clients.ViaBinary
}

// serverURL matches URLs that a client can connect to.
var serverURL = regexp.MustCompile(`(?i)^https?://[^\x00-\x20\x7f/?#@]+([/?#][^\x00-\x20\x7f]*)?$`)

// setupNotes prints where the entry belongs, and other ways to add it.
func (a *app) setupNotes(c clients.Client, s clients.Server) {
	say := func(format string, args ...any) {
		fmt.Fprintf(a.stderr, format, args...)
	}

	say("%s\n", c.Where(s.OS))

	link := c.Link(s)
	if link != "" {
		say("Or open this link, which adds the entry:\n\n    %s\n\n", link)
	}

	command, omits := c.Command(s)
	switch {
	case omits != "":
		say("The command of %s writes an incomplete entry, which needs %s:\n\n    %s\n\n",
			c.Name, omits, command)
	case command != "":
		say("Or let %s add the entry:\n\n    %s\n\n", c.Name, command)
	}

	if s.OAuth {
		say("Then sign in: %s.\n", c.SignIn())
	}

	notes := append(c.Notes(s), s.Notes()...)
	for _, note := range notes {
		say("- %s\n", note)
	}
}

// listClients prints the clients, a line each.
func (a *app) listClients() error {
	for _, c := range clients.All() {
		_, err := fmt.Fprintf(a.stdout, "%-15s   %-15s   %s\n", c.ID, c.Name, c.File(runtime.GOOS))
		if err != nil {
			return err
		}
	}

	a.note("setup CLIENT prints the configuration, --via says how the client reaches the server")
	return nil
}

// describe completes the server with the configuration of this command line, also of a file that is
// wrong or missing: it may be corrected later.
func (a *app) describe(f *setupFlags) error {
	cfg, warnings, err := config.Load(f.config, a.env)
	if err != nil {
		cfg, _, _ = config.Load(config.Flags{Config: new("")}, nil) // no such file: the defaults
		warnings = append(strings.Split(err.Error(), "\n"),
			"setup goes on without the configuration, with the key in "+cfg.KeyEnv)
	}
	a.warn(warnings...)
	f.Limit = cfg.Timeout()
	f.Keys = cfg.HeaderVariables
	_, err = os.Stat(cfg.StoredKey)
	seesKey := f.Via == clients.ViaNPX || f.Via == clients.ViaBinary
	if err == nil && seesKey {
		a.note("the entry names no key: the server reads %s", cfg.StoredKey)
	} else {
		f.Keys = append([]string{cfg.KeyEnv}, f.Keys...)
	}

	file := *cmp.Or(f.config.Config, new(""))
	if f.Via == clients.ViaDocker { // a container does not find the default file
		file = cmp.Or(file, cfg.File)
	}
	if file != "" {
		f.Config, err = filepath.Abs(file)
		if err != nil {
			return err
		}
	}
	if f.Via == clients.ViaBinary {
		f.Binary, err = installed()
		return err
	}
	if f.Via != clients.ViaHTTP && !version.IsRelease() {
		a.warn("this build is " + version.String() +
			"; the entry works when " + version.Version + " is published")
	}
	return nil
}

// temporary matches the programs of go run: in a folder that it removes, or in the build cache.
var temporary = regexp.MustCompile(`[/\\](go-build\d+[/\\]b\d+[/\\]exe|[0-9a-f]{64}-d)[/\\][^/\\]+$`)

// installed is the full path of this program.
func installed() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if temporary.MatchString(self) {
		return "", &failure{
			exitFailed,
			"go run builds a temporary program, which a client cannot start later",
			"run go install ./cmd/openai-responses-mcp, then ~/go/bin/openai-responses-mcp setup",
		}
	}

	// A link in PATH is better: package managers keep it over updates.
	found, _ := exec.LookPath(version.Name)
	link, _ := os.Stat(found)
	info, _ := os.Stat(self)
	if filepath.IsAbs(found) && os.SameFile(link, info) {
		return found, nil
	}
	return self, nil
}
