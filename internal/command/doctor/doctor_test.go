package doctor

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
	_ "time/tzdata"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// testTable tests checks of the values of a table, which has a name and the verdict and the text,
// too.
func testTable(t *testing.T, name string, check func(value string) Check) {
	t.Helper()
	compare.Each(t, name, 3, func(t *testing.T, row []string) {
		got := check(row[1])
		compare.Equal(t, "check", got.Verdict+": "+got.Text, row[2])
	})
}

func TestShutdown(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	testTable(t, "shutdown", func(date string) Check {
		return shutdownCheck("m", []byte(`{"id":"m","shutdown_date":`+date+`}`), now, "hint")
	})
}

func TestBaseURL(t *testing.T) {
	testTable(t, "base-url", func(address string) Check {
		return baseURLCheck(advice.Setting{Value: address, Origin: "X"})
	})
}

func TestProxy(t *testing.T) {
	testTable(t, "proxy", func(value string) Check {
		words := strings.Fields(value)
		environ := env.ToMap(words[2:])
		s := new(service.Service)
		s.Getenv = func(name string) string { return environ[name] }
		s.Advisor.BaseURL.Value = words[0]
		s.Advisor.ProxyVariable = "HTTPS_PROXY"
		return proxyCheck(s, func(*http.Request) (*url.URL, error) {
			if words[1] == "none" {
				return nil, nil
			}
			return url.Parse(words[1])
		})
	})
}

func TestClock(t *testing.T) {
	testTable(t, "clock", func(ahead string) Check {
		d, _ := time.ParseDuration(ahead)
		return clockCheck(d)
	})
}

// The day is that of the time zone, which may have no IANA name.
func TestDates(t *testing.T) {
	tokyo, _ := time.LoadLocation("Asia/Tokyo")
	evening := time.Date(2026, 11, 21, 15, 0, 0, 0, time.UTC)
	for name, zone := range map[string]*time.Location{
		"Asia/Tokyo": tokyo,
		"UTC+09:00":  time.FixedZone("/etc/zone", 9*60*60),
	} {
		want := "today is 2026-11-22 in " + name + ", set by policy.timezone"
		compare.Equal(t, "check", datesCheck(zone, evening).Text, want)
	}
}

// The text and the hint of a check are lines. Servers and files may have written parts of them.
func TestLines(t *testing.T) {
	var checks checklist
	checks.add("http", fail("the server\n said \x1b[2J", "try\nagain"))
	const want = "fail  http                   the server said [2J\n      -> try again\n"
	compare.Equal(t, "text", FormatText(checks), want)
}
