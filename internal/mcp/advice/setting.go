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

// host is the host of the API, with its port if it has one.
func (v Advisor) host() string {
	u, _ := url.Parse(v.BaseURL.Value) // the configuration has checked it
	return u.Host
}

// openAI reports whether requests go to OpenAI, in any region.
func (v Advisor) openAI() bool {
	host := cite.HostOf(v.BaseURL.Value)
	return strings.HasSuffix("."+host, ".api.openai.com")
}

// orPlain ends the hint for an error that a gateway without streams gives, too. One that was not
// reached is none.
func (v Advisor) orPlain(e *call.Error) string {
	op, ok := errors.AsType[*net.OpError](e)
	dialed := ok && op.Op == "dial"
	if v.openAI() || !v.Streams || dialed {
		return ""
	}
	return ", or set responses.stream: false if this server cannot stream"
}

// NoModels is the hint for an API without GET /models/{id}, or "" if e means
// something else. A compatible server may answer questions nevertheless.
func (v Advisor) NoModels(e *call.Error) string {
	switch e.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		if !v.openAI() {
			return text.Expand(find("no_models").Hint, v.values("", e, e))
		}
	}
	return ""
}

// GetKey says how to get a key when there is none.
func (v Advisor) GetKey() string {
	hint := v.otherKey() + v.SetKey(v.KeyOfAPI("a key"))
	if v.openAI() {
		return hint
	}
	return hint + " (any text if that server needs none)"
}

// otherKey says that there is a key for another server, or returns "".
func (v Advisor) otherKey() string {
	if v.KeyServer == "" {
		return ""
	}
	return "the key that login has stored is for " + v.KeyServer + ": "
}

// keyPlace says in a few words where the key has to be.
func (v Advisor) keyPlace() string {
	switch {
	case v.Login != "":
		return v.otherKey() + "set " + v.Key + " or run " + v.Login
	case v.KeyInFile:
		return "write it to the file of " + v.Key
	}
	return "set " + v.Key
}

// newKey says how to replace a key that the API refused.
func (v Advisor) newKey() string {
	hint := "the key is wrong, cut off or revoked: " + v.SetKey(v.KeyOfAPI("a current key"))
	if v.KeyFlaw != "" {
		hint = v.SetKey("the key alone") + ": " + v.KeyFlaw
	}
	if v.HidesKey {
		hint += ", or unset " + v.Key + ", which hides the key that login has stored"
	}
	if len(v.Headers) > 0 {
		hint += ", and check " + strings.Join(v.Headers, ", ") + " (openai.headers)"
	}
	return hint
}

// SetKey says where to put which key.
func (v Advisor) SetKey(which string) string {
	switch {
	case v.Login != "":
		return "run " + v.Login + " with " + which + ", or set " + v.Key
	case v.KeyInFile:
		return "write " + which + " to the file of " + v.Key
	}
	return "set " + v.Key + " to " + which
}

// KeyOfAPI adds to "a key" where keys for the API come from.
func (v Advisor) KeyOfAPI(which string) string {
	if v.openAI() {
		return which + " from https://platform.openai.com/api-keys"
	}
	return which + " for " + v.host()
}

// otherModel names the setting that the model of a tool comes from.
func (v Advisor) otherModel(tool string) string {
	s, ok := v.Models[tool]
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
