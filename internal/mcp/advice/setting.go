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

// noStreamHint returns the end of a hint for an error that may come from a gateway that cannot
// stream. It returns "" if that cannot be the reason: for OpenAI, for plain requests, and if no
// connection was made.
func (a Advisor) noStreamHint(e *call.APIError) string {
	op, ok := errors.AsType[*net.OpError](e)
	dialFailed := ok && op.Op == "dial"
	handshakeFailed := !ok && ConnectionCause(e) == "timeout"
	if a.isOpenAI() || !a.Streams || dialFailed || handshakeFailed {
		return ""
	}
	return ", or set responses.stream: false if this server cannot stream"
}

// NoModelsHint returns the hint for an API without GET /models/{id}, or "" if e means something
// else. A server that is compatible with the Responses API may answer questions nevertheless.
func (a Advisor) NoModelsHint(e *call.APIError) string {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if !a.isOpenAI() {
			return text.Expand(wordsFor("no_models").Hint, a.values("", e, e))
		}
	}
	return ""
}

// MissingKeyHint returns a hint that says where to get a missing key, and where to put it.
func (a Advisor) MissingKeyHint() string {
	hint := a.otherKeyNote() + a.PutKeyHint(a.KeySource("a key"))
	if a.isOpenAI() {
		return hint
	}
	return hint + " (any text if that server needs none)"
}

// otherKeyNote returns a note that the stored key is for another server, or "" if there is none.
func (a Advisor) otherKeyNote() string {
	if a.StoredKeyServer == "" {
		return ""
	}
	return "the key that login has stored is for " + a.StoredKeyServer + ": "
}

// keyPlaceHint returns a short hint that says where to put the key.
func (a Advisor) keyPlaceHint() string {
	switch {
	case a.LoginCommand != "":
		return a.otherKeyNote() + "set " + a.KeyVariable + " or run " + a.LoginCommand
	case a.KeyInFile:
		return "write it to the file of " + a.KeyVariable
	}
	return "set " + a.KeyVariable
}

// newKeyHint returns the hint for a key that the API has refused.
func (a Advisor) newKeyHint() string {
	cause := "the key is wrong, cut off or revoked: "
	action := a.PutKeyHint(a.KeySource("a current key"))
	if a.KeyFlaw != nil {
		if flaw := a.KeyFlaw(); flaw != "" {
			cause = ""
			action = a.PutKeyHint("the key alone") + ": " + flaw
		}
	}
	if a.StoredKeyUnused { // first, because truncation removes the end
		action = "unset " + a.KeyVariable + " to use the key that login has stored, or " + action
	}

	hint := cause + action
	if len(a.OtherHeaderVariables) > 0 {
		hint += ", and check " + strings.Join(a.OtherHeaderVariables, ", ") + " (openai.headers)"
	}
	return hint
}

// PutKeyHint returns a hint that says where to put a key. which describes the key, such as "a key".
func (a Advisor) PutKeyHint(which string) string {
	switch {
	case a.LoginCommand != "":
		return "run " + a.LoginCommand + " with " + which + ", or set " + a.KeyVariable
	case a.KeyInFile:
		return "write " + which + " to the file of " + a.KeyVariable
	}
	return "set " + a.KeyVariable + " to " + which
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
		s.Origin)
	if s.Origin == "the default" {
		hint += ", or with MODEL_ANSWER or --model"
	}
	return hint
}
