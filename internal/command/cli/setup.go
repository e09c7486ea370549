package cli

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/terminal"
)

// setupFlags are the flags of setup.
type setupFlags struct {
	*app
	via   string // "": see defaultVia
	url   string
	oauth bool
	show  bool
}

// setupCommand returns the command setup, which prints the configuration of a client on stdout and
// notes on stderr. It prints no key.
func (a *app) setupCommand() *cobra.Command {
	f := &setupFlags{app: a}
	c := &cobra.Command{
		Use:   "setup [CLIENT]",
		Short: "print the configuration of an MCP client",
		Long: `Print the configuration of an MCP client, and the client's own link or command if it has
one. Without CLIENT it lists the clients. It writes no file and prints no key.

The entry has OPENAI_BASE_URL and the models (MODEL_ANSWER and the like) of this shell.
If login has stored a key, an entry for npx or a binary needs no variable for the key.

For the websites claude-ai and chatgpt give --url alone. The CLIENT frameworks is for
agents in code, and generic for clients that are not in the list.`,
		Example: `  openai-responses-mcp setup claude-code
  openai-responses-mcp setup cursor --via docker
  openai-responses-mcp setup vscode --via http --url https://mcp.example.com/mcp`,
		ValidArgsFunction: func(
			*cobra.Command, []string, string,
		) ([]string, cobra.ShellCompDirective) {
			return clientIDs(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: f.run,
	}

	addChoice(c, &f.via, "via", "`WAY` to the server: npx (default of a release where there is "+
		"npx) or docker start the published version, binary starts this program, http connects to a "+
		"running server at --url",
		clients.Vias...)
	c.Flags().StringVar(&f.url, "url", "",
		"`URL` of the server, such as https://mcp.example.com/mcp")
	c.Flags().BoolVar(&f.oauth, "oauth", false,
		"with --via http: the client signs in instead of sending a token")
	c.Flags().BoolVar(&f.show, "show", false,
		"print, in place of the entry, the settings that a server on stdio has for this client")
	f.addConfig(c)
	return c
}

// clientIDs returns the IDs of the clients.
func clientIDs() (ids []string) {
	for _, c := range clients.All() {
		ids = append(ids, c.ID)
	}
	return ids
}

// run prints what the client with the name in words needs.
func (f *setupFlags) run(_ *cobra.Command, words []string) error {
	if len(words) == 0 {
		return f.listClients()
	}
	name := strings.Join(words, " ") // some names have a blank, such as VS Code
	c, ok := clients.Find(name)
	if !ok {
		hint := suggest("", text.Nearest(name, clientIDs()),
			"openai-responses-mcp setup lists the clients")
		return usageError(hint, "unknown client %q", name)
	}
	if f.show {
		return f.showNeeds(c)
	}
	via := cmp.Or(f.via, defaultVia(c))
	err := f.checkReachable(c, via)
	if err != nil {
		return err
	}
	s, err := f.serverFor(c, via)
	if err != nil {
		return err
	}

	f.printWrapped(otherWays(c, s) + c.Where(s.OS) + "\n")
	_, err = io.WriteString(f.stdout, c.Snippet(s))
	if err == nil {
		f.printWrapped(setupNotes(c, s))
	}
	return err
}

// showNeeds prints the settings that a server on stdio has for a client because of its name.
func (f *setupFlags) showNeeds(c clients.Client) error {
	lines := "For " + c.Name + " the server does what the configuration says.\n"
	if c.ClientInfoName != "" {
		lines = fmt.Sprintf("%s says that it is %s. Over stdio the server then has these settings, "+
			"unless the file or a variable sets them:\n", c.Name, c.ClientInfoName)
		lines += strings.Join(assignments(c.FixedVariables), "\n") + "\n"
	}
	_, err := io.WriteString(f.stdout, lines)
	return err
}

// assignments returns variables as NAME=VALUE, by name.
func assignments(variables map[string]string) (lines []string) {
	for _, name := range slices.Sorted(maps.Keys(variables)) {
		lines = append(lines, name+"="+variables[name])
	}
	return lines
}

// printWrapped prints lines on stderr, wrapped at the width of a terminal.
func (a *app) printWrapped(lines string) {
	_, _ = io.WriteString(a.stderr, terminal.Wrap(a.stderr, lines)) // notes need not arrive
}

const startServerHint = "start a server with serve --http, and add --url https://HOST/mcp, without a user in it"

// checkReachable returns an error if a client cannot reach the server in the way that the flags
// say.
func (f *setupFlags) checkReachable(c clients.Client, via string) error {
	overHTTP := via == clients.ViaHTTP

	switch {
	case !overHTTP && c.IsWebsite():
		return usageError("leave --via out",
			"%s starts no program: it connects to a server over HTTP", c.Name)
	case !overHTTP && (f.url != "" || f.oauth):
		hint := "add --via http"
		if f.via != "" {
			hint = "replace --via " + via + " by --via http"
		}
		return usageError(hint, "--url and --oauth are for servers over HTTP")
	case !overHTTP:
	case c.WhyNoHTTP != "":
		return usageError("use --via npx, docker or binary",
			"%s does not connect to servers over HTTP: %s", c.Name, c.WhyNoHTTP)
	case f.url == "":
		needs := "--via http"
		if c.IsWebsite() {
			needs = c.Name
		}
		return usageError(startServerHint, "%s needs --url", needs)
	case !strings.Contains(f.url, "://") && !strings.Contains(f.url, "@"):
		// The value can be shown: without @ it contains no password.
		return usageError(startServerHint, "--url %q lacks https://", f.url)
	case !serverURL().MatchString(f.url):
		return usageError(startServerHint, "a server over HTTP needs its http or https URL")
	case c.IsWebsite() && !strings.HasPrefix(strings.ToLower(f.url), "https:"):
		return usageError("put a proxy with TLS in front of serve, and add --url https://HOST/mcp",
			"%s connects from the internet, over https only", c.Name)
	}
	return nil
}

// defaultVia returns how a client reaches the server if --via is not given: for a release through
// npx if this machine has it, or through docker if this is a container, else as a binary. Builds
// that are no release are not published, so they are binaries, too.
func defaultVia(c clients.Client) string {
	_, err := exec.LookPath("npx")
	switch {
	case c.IsWebsite():
		return clients.ViaHTTP
	case !version.IsRelease():
		return clients.ViaBinary
	case err == nil:
		return clients.ViaNPX
	case os.Getpid() == 1: // in a container, whose program a client outside cannot start
		return clients.ViaDocker
	}
	return clients.ViaBinary
}

// serverURL matches URLs that a client can connect to.
var serverURL = text.LazyRegexp(`(?i)^https?://[^\x00-\x20\x7f/?#@]+([/?#][^\x00-\x20\x7f]*)?$`)

// otherWays returns how to add the entry without pasting it: by the client's own command or by a
// link.
func otherWays(c clients.Client, s clients.Server) string {
	var b strings.Builder
	where := ""
	if s.OS == "windows" { // PowerShell removes -- and quotes, and replaces ${NAME}
		where = " in the Command Prompt (cmd)"
	}
	command, omits := c.Command(s)
	switch {
	case omits != "":
		fmt.Fprintf(&b, "The command of %s cannot set %s: paste the entry below, or run it%s and add "+
			"what is missing:\n\n    %s\n\n", c.Name, omits, where, command)
	case command != "":
		fmt.Fprintf(&b, "Let %s add the entry%s:\n\n    %s\n\n", c.Name, where, command)
	}

	link := c.Link(s)
	open := "Open"
	if command != "" {
		open = "Or open"
	}
	if link != "" {
		fmt.Fprintf(&b, "%s this link, which adds the entry:\n\n    %s\n\n", open, link)
	}
	if b.Len() > 0 {
		b.WriteString("Or by hand. ")
	}
	return b.String()
}

// setupNotes returns what a user has to know about the entry, how to see that the client has the
// tools, and how to use them.
func setupNotes(c clients.Client, s clients.Server) string {
	var b strings.Builder
	if s.OAuth {
		fmt.Fprintf(&b, "Then sign in: %s.\n", c.SignInText())
	}
	for _, note := range append(c.Notes(s), s.Notes()...) {
		fmt.Fprintf(&b, "- %s\n", note)
	}
	fmt.Fprintf(&b, "To check: %s. To use it, ask: %s\n", c.CheckText(), clients.FirstQuestion)
	return b.String()
}

// listClients prints the clients, one line each.
func (a *app) listClients() error {
	const row = "%-15s   %-15s   %s\n"
	var list strings.Builder
	fmt.Fprintf(&list, row, "CLIENT", "NAME", "FILE")
	for _, c := range clients.All() {
		fmt.Fprintf(&list, row, c.ID, c.Name, c.File(runtime.GOOS))
	}
	_, err := io.WriteString(a.stdout, list.String())
	if err == nil {
		a.note("run setup CLIENT to get its entry; --via says how it reaches the server")
	}
	return err
}

// loadConfigs loads the configuration, and the one for shellVariables. If it is wrong or missing,
// loadConfigs warns and returns the defaults: it may be corrected later.
func (f *setupFlags) loadConfigs() (cfg, shell *config.Config, isWrong bool) {
	cfg, warnings, err := config.Load(f.config, f.env)
	if err == nil {
		f.warn(warnings...)
		return cfg, cfg, false
	}

	wrong := cfg.OpenAI
	noFile := config.Flags{Config: new("")}
	cfg, _, _ = config.Load(noFile, f.variablesNamed(storedKeyVariables))
	if wrong.APIKeyEnv != cfg.OpenAI.APIKeyEnv || wrong.Server() != cfg.OpenAI.Server() {
		cfg.StoredKeyFile = "" // the server reads another one, once the configuration is right
	}
	f.warn(strings.Split(err.Error(), "\n")...)
	f.warn("setup goes on without the configuration, with the key in " + cfg.CredentialVariable)
	return cfg, f.shellConfig(), true
}

// serverFor returns the server that the entry of a client starts or reaches.
func (f *setupFlags) serverFor(c clients.Client, via string) (s clients.Server, err error) {
	cfg, shell, isWrong := f.loadConfigs()
	keyVariables := append([]string{cfg.CredentialVariable}, cfg.OtherHeaderVariables...)
	stored, err := cfg.ReadKey(cfg.StoredKeyFile)
	seesKey := via == clients.ViaNPX || via == clients.ViaBinary
	switch {
	case !seesKey || cfg.StoredKeyFile == "":
	case err != nil && isWrong: // the key may be for the server of the right configuration
	case err != nil:
		f.warn(err.Error())
	case stored != "":
		f.note("the entry names no key: the server reads %s", cfg.StoredKeyFile)
		keyVariables = cfg.OtherHeaderVariables
	}

	u, err := url.Parse(f.url)
	if err == nil && via == clients.ViaHTTP && strings.Trim(u.Path, "/") == "" {
		f.warn("--url has no path: serve has MCP at " + u.Scheme + "://" + u.Host +
			"/mcp unless its --path says otherwise")
	}

	file := *cmp.Or(f.config.Config, new(""))
	if via == clients.ViaDocker { // a container does not find the default file
		file = cmp.Or(file, cfg.File)
	}
	if file != "" {
		file, err = filepath.Abs(cfg.ExpandHome(file))
		if err != nil {
			return s, err
		}
	}
	binary := ""
	switch {
	case via == clients.ViaBinary:
		binary, err = installedPath()
		if err != nil {
			return s, err
		}
	case via != clients.ViaHTTP && !version.IsRelease():
		f.warn("this build is " + version.String() +
			"; the entry works when " + version.Version + " is published")
	}

	return clients.Server{
		ShellVariables: f.shellVariables(via, shell),
		FileVariables:  cfg.FileVariables(),
		Via:            via,
		OS:             runtime.GOOS,
		Binary:         binary,
		URL:            f.url,
		OAuth:          f.oauth || c.IsWebsite(),
		KeyVariables:   keyVariables,
		Config:         file,
		CallTimeout:    cfg.Timeout(),
	}, nil
}

// shellConfig returns a configuration of only the variables that shellVariables needs. It is for
// loadConfigs, if the file or other variables are wrong.
func (a *app) shellConfig() *config.Config {
	models := call.MapTools(func(t call.Tool) string { return t.Variable })
	cfg, _, err := config.Load(config.Flags{}, a.variablesNamed(append(models, "OPENAI_BASE_URL")))
	if err != nil {
		cfg, _, _ = config.Load(config.Flags{}, nil)
	}
	return cfg
}

// storedKeyVariables are the variables that say where a stored key is, and for which server the
// entry is.
var storedKeyVariables = []string{"HOME", "USERPROFILE", "APPDATA", "OPENAI_BASE_URL"}

// variablesNamed returns the variables of the environment that have one of these names.
func (a *app) variablesNamed(names []string) (variables []string) {
	for _, variable := range a.env {
		name, _, _ := strings.Cut(variable, "=")
		if slices.Contains(names, name) {
			variables = append(variables, variable)
		}
	}
	return variables
}

// shellVariables returns the variables of this shell that choose the API and the models, with their
// values. They go into the entry: a client that is not started from this shell does not have them.
// A URL that may contain a secret is left out, with a warning.
func (a *app) shellVariables(via string, cfg *config.Config) map[string]string {
	if via == clients.ViaHTTP {
		return nil
	}
	sets := map[string]string{}
	const variable = "OPENAI_BASE_URL"
	u, err := url.Parse(cfg.OpenAI.BaseURL)
	switch {
	case cfg.Origin("openai.base_url") != variable:
	case err == nil && u.User == nil && u.RawQuery == "":
		sets[variable] = cfg.OpenAI.BaseURL
	default:
		a.warn(variable + " is set in this shell only: it has a user, a password or a query, which " +
			"setup does not print; set it where the client starts the server")
	}

	for _, tool := range call.Tools {
		if cfg.Origin("model_profiles."+tool.Name+".model") == tool.Variable {
			sets[tool.Variable] = cfg.ModelProfiles[tool.Name].Model
		}
	}
	return sets
}

// goRunPath matches paths of programs of go run: in a folder that it removes, or in the build
// cache.
var goRunPath = text.LazyRegexp(`[/\\](go-build\d+[/\\]b\d+[/\\]exe|[0-9a-f]{64}-d)[/\\][^/\\]+$`)

// npxPath matches paths of programs in the cache of npx. Another version has another path, and the
// remedy for errors of npx is to delete its cache.
var npxPath = text.LazyRegexp(`[/\\]_npx[/\\][^/\\]+[/\\]node_modules[/\\]`)

// installedPath returns the full path of this program. It is an error for a program of go run, or
// of npx.
func installedPath() (string, error) {
	self, err := os.Executable()
	if err != nil {
		return "", err
	}
	if goRunPath().MatchString(self) {
		return "", &failure{
			exitFailed,
			"go run builds a temporary program, which a client cannot start later",
			"run go install ./cmd/openai-responses-mcp, then ~/go/bin/openai-responses-mcp setup",
		}
	}

	if npxPath().MatchString(self) {
		return "", &failure{
			exitFailed,
			"npx has this program in its cache, which may be emptied",
			fmt.Sprintf("run npm install -g %[1]s@%[2]s, then %[1]s setup CLIENT --via binary",
				version.Name, version.Version),
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
