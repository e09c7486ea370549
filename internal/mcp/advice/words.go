package advice

import (
	"cmp"
	"crypto/x509"
	_ "embed"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// words are the texts for an error, an entry of words.yaml. Names with $ in Problem and Hint are
// the keys of the map that values returns.
//
// The name of an entry has one of these forms. A detail without an entry has the words of its kind.
//
//	over_limit queued          what causeName returns
//	model                      the label of a kind
//	model code CODE            with a code or type, in lower case
//	connection dns             with another detail that the method detail returns
//	parameter tools effort     with Says: one more word, whichever it is
type words struct {
	Problem string // what went wrong
	Hint    string // what to do about it, for people who can change the server
	// AddMessage adds the message of the API, which says more and repeats no part of the key.
	AddMessage bool `yaml:"add_message"`
	// CallerHint is what to do for people who cannot change the server; "": tell its operator.
	CallerHint string `yaml:"caller"`
	// TellCallers adds the message of the API to CallerHint if the error may be about the question.
	// If the API has refused a parameter that is a setting, callers get tellOperator in place of
	// CallerHint.
	TellCallers bool `yaml:"tell_callers"`
	// Says limits the entry to errors with this text in their message.
	Says string
}

//go:embed words.yaml
var wordsYAML []byte

// wordsByName returns words.yaml by its names. It is decoded at the first error: most processes
// have none.
var wordsByName = sync.OnceValue(func() (all map[string]words) {
	_ = yaml.Unmarshal(wordsYAML, &all) // a test shows that it is valid
	return all
})

// wordsFor returns the words with a name in words.yaml: the label of a kind and maybe a detail,
// such as "connection dns". A name without words has those of the kind ("connection"), or else
// those of other.
func wordsFor(name string) words {
	kind, _, _ := strings.Cut(name, " ")
	return cmp.Or(wordsByName()[name], wordsByName()[kind], wordsByName()["other"])
}

// nameBySays returns the name of the entry whose Says is in the message of an error, or "". name is
// the name of the entry without its last word.
func nameBySays(name, message string) string {
	for longer, w := range wordsByName() {
		said := w.Says != "" && strings.Contains(message, w.Says)
		before := longer[:max(0, strings.LastIndex(longer, " "))]
		if said && before == name {
			return longer
		}
	}
	return ""
}

// detail returns what is known about an error besides its kind: the second part of its name in
// words.yaml, or "".
func (a Advisor) detail(e *call.APIError) string {
	ofCode := "code " + strings.ToLower(cmp.Or(e.Code, e.Type))
	_, hasWords := wordsByName()[e.Kind.Label()+" "+ofCode]
	switch {
	case hasWords:
		return ofCode
	case e.Kind == call.KindConnection:
		return a.connectionDetail(e)
	case e.Kind == call.KindBadRequest:
		return parameterDetail(e)
	case e.Kind == call.KindAPIQuota && (e.MaybeThisCall || e.Status == http.StatusPaymentRequired):
		return "of another server"
	case e.Kind == call.KindAuth && mayRepeatKey(e.Message):
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

// parameterDetail returns the parameter that an error names. The parameters of the search tool, the
// only tool of a request, have three details:
//
//	tools, tools[0].type             tools; also if only the message names a tool
//	filters, tools[0].filters        tools filters
//	tools[0].search_context_size     tools member
func parameterDetail(e *call.APIError) string {
	tool, member, _ := strings.Cut(e.Param, ".")
	// LM Studio and Vercel have tools.0.type: https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/2254
	member = strings.TrimLeft(member, ".0123456789")
	onlyInMessage := e.Param == "" && strings.Contains(strings.ToLower(e.Message), "tool")
	switch {
	case e.Param == "filters": // servers in Go name the member alone, such as Ark
		return "tools filters"
	case !onlyInMessage && !strings.HasPrefix(tool, "tools"):
		return e.Param
	case strings.HasPrefix(member, "filters"):
		return "tools filters"
	case member != "" && member != "type":
		return "tools member"
	}
	return "tools"
}

// mayRepeatKey reports whether a message may contain a key or a part of a key.
func mayRepeatKey(message string) bool {
	return partOfKey().MatchString(message) || strings.Contains(message, redact.Redacted)
}

// partOfKey matches what a message may show of a key: its ends (sk-abc***xyz, gsk_abcd...wxyz), or
// one of them. The redactor does not find these, as it knows only the whole key.
var partOfKey = text.LazyRegexp(`\*\*|[\w-](\.{3}|…)[\w-]|sk-(\.{3}|…)|[\w-]{20,}`)

// values returns the values of the names with $ in words.yaml. e is the *call.APIError in err, or
// an empty one.
func (a Advisor) values(tool string, err error, e *call.APIError) map[string]string {
	limit, _ := errors.AsType[call.TimeoutError](err)
	queued, _ := errors.AsType[call.QueuedError](err)
	rootsUnread, _ := errors.AsType[call.RootsError](err)
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
		"WAIT":      retryHintOr("wait a little, or raise request.max_retries", e),
		"LATER":     retryHintOr("try again later", e),
		"OR_WAIT":   strings.TrimSuffix(", or "+retryHintOr("", e), ", or "),
		"NAME":      strconv.Quote(a.Redactor.Truncate(dns.Name, 60)),
		"VALIDITY": certificate.NotBefore.Format(time.DateOnly) + " to " +
			certificate.NotAfter.Format(time.DateOnly),
		"TODAY":    time.Now().Format(time.DateOnly),
		"KEY":      a.KeyVariable,
		"PLACE":    a.keyPlaceHint(),
		"RENEW":    a.newKeyHint(),
		"ONE_LINE": a.PutKeyHint("the key alone, in one line"),
		"MODEL":    a.modelHint(tool),
		"HOST":     a.host(),
		"BASE":     "openai.base_url (" + a.BaseURL.Origin + ")",
		"PROXY":    a.ProxyVariable,
		"SCHEMES":  proxy.Schemes,
		"PLAIN":    a.noStreamHint(e),
		"ROOTS":    a.RootsFile,
		"UNREAD":   string(rootsUnread),
		"VERIFY":   VerifyPage,
	}
}

// retryHintOr returns a hint that says when the API can be asked again, or hint if the API has not
// said that.
func retryHintOr(hint string, e *call.APIError) string {
	if e.RetryAfter <= 0 {
		return hint
	}
	if e.RetryAfter > 2*time.Minute {
		return "try again in " + text.Minutes(e.RetryAfter)
	}
	return fmt.Sprintf("try again in %.0f s", max(1, e.RetryAfter.Seconds()))
}
