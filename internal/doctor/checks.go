package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// configChecks report the file, where values come from, and each warning. The
// values may be private.
func configChecks(o Options) (checks []Check) {
	if o.Err != nil {
		for problem := range strings.Lines(o.Err.Error()) {
			checks = append(checks, fail("config", problem, ""))
		}
		checks[len(checks)-1].Hint = "correct it (config/config.yaml.example has every key) and run doctor again: the rest was not checked"
	} else {
		c := ok("config", "read "+o.Config.File)
		if o.Config.File == "" {
			c.Text = "no file, looked for " + strings.Join(o.Config.DefaultFiles, ", ")
		}
		for _, key := range o.Config.Keys {
			if from := o.Config.Origin(key); from != "default" {
				c.Details = append(c.Details, text.OneLine(key+" from "+from))
			}
		}
		checks = append(checks, c)
	}
	for _, w := range o.Warnings {
		checks = append(checks, warn("config", w, "correct it or remove it; a variable that it names must be set where the client starts the server"))
	}
	return checks
}

func policyCheck(cfg *config.Config) Check {
	sys := cfg.Policy.System
	_, problem := policy.Load(sys.Source, sys.Path, sys.Merge, config.ReadFile)
	switch {
	case problem != "":
		return fail("policy", problem, "correct policy.system.path ("+cfg.Origin("policy.system.path")+"): a readable file of UTF-8 text")
	case sys.Source == policy.SourceFile:
		return ok("policy", fmt.Sprintf("%s (%s)", sys.Path, sys.Merge))
	}
	return ok("policy", "built in, "+policy.Revision)
}

func debugCheck(cfg *config.Config, err error) Check {
	switch {
	case err != nil:
		return fail("debug", err.Error(), "correct server.debug_file ("+cfg.Origin("server.debug_file")+"): a file that can be written")
	case cfg.Server.Debug:
		return ok("debug", strings.TrimSuffix("on, to stderr and "+cfg.Server.DebugFile, " and "))
	}
	return ok("debug", "off")
}

// locationCheck says from where the API searches, which decides the results.
func locationCheck(cfg *config.Config) Check {
	at := cfg.Search.UserLocation
	parts := slices.DeleteFunc([]string{at.City, at.Region, at.Country, at.Timezone}, func(s string) bool { return s == "" })
	switch {
	case cfg.Origin("search.user_location") == "":
		return ok("location", "search.user_location is not set: the API searches as if from the United States")
	case len(parts) == 0:
		return ok("location", "search.user_location is empty: the API searches from no place")
	}
	return ok("location", "the API searches as if from "+strings.Join(parts, ", "))
}

// datesCheck says which day is today, which depends on the time zone.
func datesCheck(cfg *config.Config, now time.Time) Check {
	return ok("dates", fmt.Sprintf("today is %s in %v, set by policy.timezone (%s)",
		now.In(cfg.Location).Format(time.DateOnly), cfg.Location, cfg.Origin("policy.timezone")))
}

// baseURLCheck checks the address of the API, not the server there. from is where
// the address is set.
func baseURLCheck(base, from string) Check {
	if problem := ClearText(base); problem != "" {
		return warn("base url", problem, "use https, or a server on this machine")
	}
	return ok("base url", base+" ("+from+")")
}

// ClearText returns a warning when requests to base carry the API key
// unencrypted to another host, and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) {
		return ""
	}
	return fmt.Sprintf("openai.base_url is plain http to %s: the API key is sent unencrypted", u.Hostname())
}

// loopback reports whether a host name is this machine (RFC 6761 for localhost).
func loopback(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// proxyCheck says which proxy requests to base go through, or why none. rule is
// that of the HTTP client, variable the one that names the proxy for base.
func proxyCheck(base, variable string, rule func(*http.Request) (*url.URL, error), getenv func(string) string) Check {
	u, _ := url.Parse(base) // the configuration has checked it
	proxy, _ := rule(&http.Request{URL: u})
	switch {
	case proxy != nil: // User has a password
		return ok("proxy", fmt.Sprintf("%s://%s (%s)", proxy.Scheme, proxy.Host, variable))
	case getenv(variable) == "":
		return ok("proxy", "none")
	case loopback(u.Hostname()):
		return ok("proxy", "none, as the API is on this machine")
	case getenv("NO_PROXY") != "", getenv("no_proxy") != "":
		return ok("proxy", "none, because of NO_PROXY")
	}
	// net/http uses no proxy then, without an error.
	return warn("proxy", variable+" is set but not used: it is not the URL of a proxy", "set it to http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
}

// stdioCheck runs a session with the server in both framings.
func stdioCheck(ctx context.Context, session func(context.Context, bool) (int, error)) Check {
	n := 0
	for _, lines := range []bool{false, true} {
		tools, err := session(ctx, lines)
		if err != nil {
			return fail("stdio", fmt.Sprintf("initialize and tools/list with --ldjson=%t: %v", lines, err),
				"run smoke, with and without --ldjson, and report what it prints")
		}
		n = tools
	}
	return ok("stdio", fmt.Sprintf("initialize and tools/list answer with %d tools, in both framings", n))
}
