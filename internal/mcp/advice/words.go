package advice

import (
	"cmp"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// words are the texts for an error. The words with $ in them are the keys of values.
type words struct {
	Problem string // what went wrong
	Hint    string // what to do about it, for people who can change the server
	Repeat  bool   // add what the API said; not if it says the same, or repeats a part of the key
	Caller  string // what people can do who cannot change the server; "": tell its operator
	Tell    bool   // they read what the API said about their question
}

//go:embed words.yaml
var file []byte

// table is words.yaml, which is read at the first error: most processes have none.
var table = sync.OnceValue(func() (all map[string]words) {
	_ = yaml.Unmarshal(file, &all) // a test reads it, too
	return all
})

// find returns the words for an error. If there are none of its name, they are those of the first
// word of the name, which is a kind.
func find(name string) words {
	kind, _, _ := strings.Cut(name, " ")
	return cmp.Or(table()[name], table()[kind], table()["other"])
}

// detail returns what is known about an error besides its kind.
func (v Advisor) detail(e *call.Error) string {
	switch {
	case e.Kind == call.KindConnection:
		return v.connection(e)
	case e.Kind == call.KindParameter:
		return parameter(e)
	case e.Kind == call.KindQuota && e.Once:
		return "once"
	case e.Kind == call.KindAuth && repeatsKey(e.Message):
		return "masked"
	case errors.Is(e, call.ErrEncoding):
		return "encoding"
	case errors.As(e, new(call.RootsError)):
		return "roots"
	case e.Status/100 == 3:
		return "redirect"
	case errors.Is(e, call.ErrWebPage):
		return "page"
	case e.Status == 0:
		return "unsent"
	}
	return ""
}

// parameter returns the parameter of an error, or what is known about the search tool: requests
// have no other.
func parameter(e *call.Error) string {
	tool, member, _ := strings.Cut(e.Param, ".")
	unnamed := e.Param == "" && strings.Contains(strings.ToLower(e.Message), "tool")
	switch {
	case !unnamed && !strings.HasPrefix(tool, "tools"):
		return e.Param
	case strings.HasPrefix(member, "filters"):
		return "tools filters"
	case member != "" && member != "type":
		return "tools member"
	}
	return "tools"
}

// repeatsKey reports whether a message may repeat a key or a part of one.
func repeatsKey(message string) bool {
	return partOfKey().MatchString(message) || strings.Contains(message, redact.Redacted)
}

// partOfKey matches what is left of a key: its ends (sk-abc***xyz, gsk_abcd...wxyz), or one of
// them, of which the redactor does not know, as it knows the whole key only.
var partOfKey = text.Regexp(`\*\*|[\w-](\.{3}|…)[\w-]|sk-(\.{3}|…)|[\w-]{20,}`)

// values returns what words with $ stand for. e is the part of err that is the API's.
func (v Advisor) values(tool string, err error, e *call.Error) map[string]string {
	limit, _ := errors.AsType[answer.TimeoutError](err)
	queued, _ := errors.AsType[call.QueuedError](err)
	unread, _ := errors.AsType[call.RootsError](err)
	dns, _ := errors.AsType[*net.DNSError](err)
	dns = cmp.Or(dns, &net.DNSError{})
	proxy, _ := errors.AsType[call.ProxyError](err)
	invalid, _ := errors.AsType[x509.CertificateInvalidError](err)
	certificate := cmp.Or(invalid.Cert, &x509.Certificate{})

	return map[string]string{
		"ERROR":     err.Error(),
		"SAID":      e.Message,
		"PARAMETER": cmp.Or(e.Param, "the request"),
		"REASON":    cmp.Or(e.Code, "unknown reason"),
		"LIMIT":     limit.Error(),
		"AHEAD":     strconv.Itoa(int(queued)),
		"WAIT":      waitOr("wait a little, or raise request.max_retries", e),
		"LATER":     waitOr("try again later", e),
		"OR_WAIT":   strings.TrimSuffix(", or "+waitOr("", e), ", or "),
		"NAME":      strconv.Quote(v.Redactor.Truncate(dns.Name, 60)),
		"VALIDITY": certificate.NotBefore.Format(time.DateOnly) + " to " +
			certificate.NotAfter.Format(time.DateOnly),
		"TODAY":    time.Now().Format(time.DateOnly),
		"KEY":      v.Key,
		"PLACE":    v.keyPlace(),
		"RENEW":    v.newKey(),
		"ONE_LINE": v.SetKey("the key alone, in one line"),
		"MODEL":    v.otherModel(tool),
		"HOST":     v.host(),
		"BASE":     "openai.base_url (" + v.BaseURL.From + ")",
		"PROXY":    v.Proxy,
		"SCHEMES":  proxy.Schemes,
		"PLAIN":    v.orPlain(e),
		"ROOTS":    v.RootsFile,
		"UNREAD":   string(unread),
		"VERIFY":   VerifyPage,
	}
}

// waitOr returns when the API can be asked again, or hint if it does not say that.
func waitOr(hint string, e *call.Error) string {
	if e.RetryAfter <= 0 {
		return hint
	}
	return fmt.Sprintf("try again in %.0f s", max(1, e.RetryAfter.Seconds()))
}
