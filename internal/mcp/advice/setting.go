package advice

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// host returns the host of the API, with its port if the base URL has one.
func (a Advisor) host() string {
	u, _ := url.Parse(a.BaseURL.Value) // the configuration has checked it
	return u.Host
}

// isOpenAI reports whether requests go to OpenAI, in any region.
func (a Advisor) isOpenAI() bool {
	host := cite.HostOf(a.BaseURL.Value)
	return strings.HasSuffix("."+host, ".api.openai.com")
}

// plainHint returns the end of a hint for an error that may come from a gateway that cannot stream.
// It returns "" if that cannot be the reason: for OpenAI, for plain requests, and if no connection
// was made.
func (a Advisor) plainHint(e *call.Error) string {
	op, ok := errors.AsType[*net.OpError](e)
	dialFailed := ok && op.Op == "dial"
	if a.isOpenAI() || !a.Streams || dialFailed {
		return ""
	}
	return ", or set responses.stream: false if this server cannot stream"
}

// NoModelsHint returns the hint for an API without GET /models/{id}, or "" if e means something
// else. A server that is compatible with the Responses API may answer questions nevertheless.
func (a Advisor) NoModelsHint(e *call.Error) string {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if !a.isOpenAI() {
			return text.Expand(find("no_models").Hint, a.values("", e, e))
		}
	}
	return ""
}

// GetKeyHint returns a hint that says where to get a missing key, and where to put it.
func (a Advisor) GetKeyHint() string {
	hint := a.otherKeyNote() + a.SetKeyHint(a.KeySource("a key"))
	if a.isOpenAI() {
		return hint
	}
	return hint + " (any text if that server needs none)"
}

// otherKeyNote returns a note that the stored key is for another server, or "" if there is none.
func (a Advisor) otherKeyNote() string {
	if a.KeyServer == "" {
		return ""
	}
	return "the key that login has stored is for " + a.KeyServer + ": "
}

// keyPlaceHint returns a short hint that says where to put the key.
func (a Advisor) keyPlaceHint() string {
	switch {
	case a.Login != "":
		return a.otherKeyNote() + "set " + a.Key + " or run " + a.Login
	case a.KeyInFile:
		return "write it to the file of " + a.Key
	}
	return "set " + a.Key
}

// newKeyHint returns the hint for a key that the API has refused.
func (a Advisor) newKeyHint() string {
	hint := "the key is wrong, cut off or revoked: " + a.SetKeyHint(a.KeySource("a current key"))
	if a.KeyFlaw != nil {
		if flaw := a.KeyFlaw(); flaw != "" {
			hint = a.SetKeyHint("the key alone") + ": " + flaw
		}
	}
	if a.HidesKey {
		hint += ", or unset " + a.Key + ", which hides the key that login has stored"
	}
	if len(a.Headers) > 0 {
		hint += ", and check " + strings.Join(a.Headers, ", ") + " (openai.headers)"
	}
	return hint
}

// SetKeyHint returns a hint that says where to put a key. which describes the key, such as "a key".
func (a Advisor) SetKeyHint(which string) string {
	switch {
	case a.Login != "":
		return "run " + a.Login + " with " + which + ", or set " + a.Key
	case a.KeyInFile:
		return "write " + which + " to the file of " + a.Key
	}
	return "set " + a.Key + " to " + which
}

// KeySource returns which, such as "a key", followed by where keys for the API come from.
func (a Advisor) KeySource(which string) string {
	if a.isOpenAI() {
		return which + " from https://platform.openai.com/api-keys"
	}
	return which + " for " + a.host()
}

// modelHint returns a hint that names the setting with the model of a tool.
func (a Advisor) modelHint(tool string) string {
	s, ok := a.Models[tool]
	if !ok {
		return "check model_profiles (MODEL_ANSWER)"
	}

	hint := fmt.Sprintf("%s is %s (%s): name another model there",
		s.Name,
		s.Value,
		s.From)
	if s.From == "the default" {
		hint += ", or with MODEL_ANSWER or --model"
	}
	return hint
}
