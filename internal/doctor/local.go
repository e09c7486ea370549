package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// configErrors reports each problem of a configuration that cannot be used.
func configErrors(err error) (checks []Check) {
	const hint = "correct it (config/config.yaml.example has every key) and run doctor again: " +
		"the rest was not checked"
	for problem := range strings.Lines(err.Error()) {
		checks = append(checks, fail("config", problem, ""))
	}
	checks[len(checks)-1].Hint = hint
	return checks
}

func configWarnings(warnings []string) (checks []Check) {
	const hint = "correct it or remove it; " +
		"a variable that it names must be set where the client starts the server"
	for _, warning := range warnings {
		checks = append(checks, warn("config", warning, hint))
	}
	return checks
}

// configCheck says which file is read, and where values come from. The values may be private.
func configCheck(cfg *config.Config) Check {
	c := pass("config", "read "+cfg.File)
	if cfg.File == "" {
		c.Text = "no file, looked for " + strings.Join(cfg.DefaultFiles, ", ")
	}
	for _, key := range cfg.Keys {
		from := cfg.Origin(key)
		if from != "default" {
			c.Details = append(c.Details, text.OneLine(key+" from "+from))
		}
	}
	return c
}

func policyCheck(cfg *config.Config) Check {
	system := cfg.Policy.System
	_, problem := policy.Load(system.Source, system.Path, system.Merge, config.ReadFile)
	if problem != "" {
		hint := fmt.Sprintf("correct policy.system.path (%s): a readable file of UTF-8 text",
			cfg.Origin("policy.system.path"))
		return fail("policy", problem, hint)
	}

	if system.Source == policy.SourceFile {
		return pass("policy", fmt.Sprintf("%s (%s)", system.Path, system.Merge))
	}
	return pass("policy", "built in, "+policy.Revision)
}

func debugCheck(cfg *config.Config, err error) Check {
	switch {
	case err != nil:
		hint := fmt.Sprintf("correct server.debug_file (%s): a file that can be written",
			cfg.Origin("server.debug_file"))
		return fail("debug", err.Error(), hint)
	case !cfg.Server.Debug:
		return pass("debug", "off")
	case cfg.Server.DebugFile == "":
		return pass("debug", "on, to stderr")
	}
	return pass("debug", "on, to stderr and "+cfg.Server.DebugFile)
}

// locationCheck says from where the API searches, which decides the results.
func locationCheck(cfg *config.Config) Check {
	if cfg.Origin("search.user_location") == "" {
		return pass("location",
			"search.user_location is not set: the API searches as if from the United States")
	}

	at := cfg.Search.UserLocation
	places := []string{at.City, at.Region, at.Country, at.Timezone}
	places = slices.DeleteFunc(places, func(s string) bool { return s == "" })
	if len(places) == 0 {
		return pass("location", "search.user_location is empty: the API searches from no place")
	}
	return pass("location", "the API searches as if from "+strings.Join(places, ", "))
}

// datesCheck says which day is today, which depends on the time zone.
func datesCheck(cfg *config.Config, now time.Time) Check {
	today := now.In(cfg.Location).Format(time.DateOnly)
	origin := cfg.Origin("policy.timezone")

	return pass("dates", fmt.Sprintf("today is %s in %v, set by policy.timezone (%s)",
		today, cfg.Location, origin))
}

// backgroundCheck says which tools ask in the background, and what that means.
func backgroundCheck(profiles map[string]answer.Profile) Check {
	var tools []string
	for _, tool := range slices.Sorted(maps.Keys(profiles)) {
		if profiles[tool].Background {
			tools = append(tools, tool)
		}
	}
	if len(tools) == 0 {
		return pass("background", "off: an answer whose connection breaks is asked again")
	}
	return pass("background", "on for "+strings.Join(tools, ", ")+
		": answers start later, and OpenAI keeps a copy for about ten minutes; "+
		"Azure needs responses.store: true, and answers that take longer may need it too")
}

// baseURLCheck checks the address of the API, not the server there.
func baseURLCheck(base advice.Setting) Check {
	problem := ClearText(base.Value)
	if problem != "" {
		return warn("base url", problem, "use https, or a server on this machine")
	}
	return pass("base url", base.Value+" ("+base.From+")")
}

// ClearText returns a warning when requests to base carry the API key unencrypted to another host,
// and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || text.IsLoopback(u.Hostname()) {
		return ""
	}
	const problem = "openai.base_url is plain http to %s: the API key is sent unencrypted"
	return fmt.Sprintf(problem, u.Hostname())
}

// proxyCheck says which proxy requests to base go through, or why none. rule is that of the HTTP
// client, variable the one that names the proxy for base.
func proxyCheck(
	base, variable string,
	rule func(*http.Request) (*url.URL, error),
	getenv func(string) string,
) Check {
	u, _ := url.Parse(base) // the configuration has checked it
	proxy, _ := rule(&http.Request{URL: u})
	hasExceptions := getenv("NO_PROXY") != "" || getenv("no_proxy") != ""
	switch {
	case proxy != nil: // User has a password
		return pass("proxy", fmt.Sprintf("%s://%s (%s)", proxy.Scheme, proxy.Host, variable))
	case getenv(variable) == "":
		return pass("proxy", "none")
	case text.IsLoopback(u.Hostname()):
		return pass("proxy", "none, as the API is on this machine")
	case hasExceptions:
		return pass("proxy", "none, because of NO_PROXY")
	}

	// net/http uses no proxy then, without an error.
	problem := variable + " is set but not used: it is not the URL of a proxy"
	return warn("proxy", problem, "set it to http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
}

// stdioCheck runs a session with the server in both framings.
func stdioCheck(ctx context.Context, session func(context.Context, bool) (int, error)) Check {
	const good = "initialize and tools/list answer with %d tools, in both framings"
	const bad = "initialize and tools/list with --ldjson=%t: %v"
	const hint = "run smoke, with and without --ldjson, and report what it prints"

	count := 0
	for _, lines := range []bool{false, true} {
		tools, err := session(ctx, lines)
		if err != nil {
			return fail("stdio", fmt.Sprintf(bad, lines, err), hint)
		}
		count = tools
	}
	return pass("stdio", fmt.Sprintf(good, count))
}
