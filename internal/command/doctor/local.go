package doctor

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// addConfig adds the problems of a configuration that cannot be used, or else where its values come
// from, and then the warnings.
func (l *checklist) addConfig(o Options) {
	if o.Err == nil {
		l.add("config", configCheck(o.Service.Config))
	} else {
		problems := strings.Split(o.Err.Error(), "\n")
		last := len(problems) - 1
		for _, problem := range problems[:last] {
			l.add("config", fail(problem, ""))
		}
		hint := "correct the configuration: config/config.yaml.example has every key"
		if errors.As(o.Err, new(*fs.PathError)) {
			hint = "name a file that can be read with --config"
		}
		l.add("config", fail(problems[last], hint))
		l.add("config", warn("the rest was not checked", ""))
	}

	for _, warning := range o.Warnings {
		l.add("config", warn(warning, "")) // the warning contains its hint
	}
}

// configCheck returns which file is read, and where values come from. It does not show the values,
// which may be private.
func configCheck(cfg *config.Config) Check {
	c := pass("read " + cfg.File)
	if cfg.File == "" {
		at := "no file at " + strings.Join(cfg.DefaultFiles, " or ")
		c.Text = strings.TrimSuffix(at, " at ") + " (defaults apply)"
	}
	for _, key := range cfg.SettingKeys {
		from := cfg.Origin(key)
		if from != "default" {
			c.Details = append(c.Details, text.OneLine(key+" from "+from))
		}
	}
	return c
}

func policyCheck(system config.System) Check {
	_, problem := policy.Load(policy.System(system), config.ReadFile)
	switch {
	case problem != "":
		return fail(problem, "correct policy.system.path: a readable file of UTF-8 text")
	case system.Source == policy.SourceFile:
		return pass(system.Path + " (" + system.Merge + ")")
	}
	return pass("built in, " + policy.Revision)
}

func debugCheck(cfg *config.Config, err error) Check {
	server := cfg.Server
	switch {
	case err != nil:
		return fail(err.Error(), "correct server.debug_file from "+cfg.Origin("server.debug_file")+
			": a file that can be written")
	case !server.Debug:
		return pass("off")
	case server.DebugFile == "":
		return pass("on, to stderr")
	}
	return pass("on, to stderr and " + server.DebugFile)
}

// locationCheck returns the place from which the API searches, which influences the results.
func locationCheck(cfg *config.Config) Check {
	at := cfg.UserLocation(call.DefaultTool)
	if at == nil {
		return pass("search.user_location is not set: the API searches as if from the United States")
	}

	places := []string{
		at.City,
		at.Region,
		at.Country,
		at.Timezone,
	}
	places = slices.DeleteFunc(places, func(s string) bool { return s == "" })
	if len(places) == 0 {
		return pass("search.user_location is empty: the API searches from no place")
	}
	return pass("the API searches as if from " + strings.Join(places, ", "))
}

// datesCheck returns the date of today, which depends on the time zone.
func datesCheck(zone *time.Location, now time.Time) Check {
	now = now.In(zone)
	const today = "today is %s in %s, set by policy.timezone"
	return pass(fmt.Sprintf(today, now.Format(time.DateOnly), text.Zone(now)))
}

// baseURLCheck checks the URL of the API, without a request.
func baseURLCheck(base advice.Setting) Check {
	problem := service.ClearTextWarning(base.Value)
	if problem != "" {
		return warn(problem, "use https, or a server on this machine")
	}
	return pass(base.Value + " (" + base.Origin + ")")
}

// proxyForm matches the URL of a proxy that net/http can use, without user and password. Only a
// port may follow the host.
var proxyForm = text.LazyRegexp(`^(https?|socks5h?)://([^:]+|\[.+\])(:\d{1,5})?$`)

// proxyCheck returns which proxy requests to the API go through, or why they go through none.
// proxyOf returns the proxy that the HTTP client uses for a request.
func proxyCheck(s *service.Service, proxyOf func(*http.Request) (*url.URL, error)) Check {
	variable := s.Advisor.ProxyVariable
	u, _ := url.Parse(s.Advisor.BaseURL.Value) // config.Load has checked it
	proxy, _ := proxyOf(&http.Request{URL: u})
	exceptions := s.Getenv("NO_PROXY") + s.Getenv("no_proxy")

	switch {
	case proxy != nil && proxyForm().MatchString(proxy.Scheme+"://"+proxy.Host):
		return pass(proxy.Scheme + "://" + proxy.Host + " (" + variable + ")")
	case s.Getenv(variable) == "":
		return pass("none")
	case exceptions != "", text.IsLoopback(u.Hostname()):
		return pass("none, because of NO_PROXY or as the API is on this machine")
	}

	// With such a value net/http uses no proxy, without an error, or mistakes a part for the
	// scheme.
	const hint = "set it to http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT"
	return warn(variable+" is set, but is not the URL of a proxy", hint)
}
