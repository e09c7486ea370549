package answer

import (
	"cmp"
	"fmt"
	"net/url"
	"strings"
)

// Pages of OpenAI that advice leads to. Nobody else's key or organization is
// found there.
const (
	keysPage   = "https://platform.openai.com/api-keys"
	VerifyPage = "https://platform.openai.com/settings/organization/general"
)

// Guide is what advice may name: the settings of this installation and where
// they come from. Who meets an error through an MCP client sees one line and no
// configuration, so the line has to say which setting it is about. The zero
// Guide names the usual ones. No part of it is a secret.
type Guide struct {
	BaseURL Setting            // openai.base_url, without user and query
	Key     string             // variable that holds the key; "": OPENAI_API_KEY
	KeyFlaw string             // what looks wrong about the key, such as "it has quotes around it"; "": nothing
	Headers []string           // variables of openai.headers, besides Key
	Models  map[string]Setting // by profile: answer, answer_detailed, answer_quick
	Proxy   string             // variable that names the proxy; "": HTTPS_PROXY
	GOOS    string             // tells where root certificates are kept; "": as on Linux

	RootsFile string // what SSL_CERT_FILE names, or ""
	// RootsFlaw says why RootsFile is of no use, such as "it cannot be read";
	// "": it is. It may read the file; nil: the file is fine.
	RootsFlaw func() string
}

// Setting is a value of the configuration.
type Setting struct {
	Name  string // model_profiles.answer.model
	Value string // gpt-5.2
	From  string // MODEL_ANSWER, /etc/config.yaml:12, --model, the default
}

// brief is a setting whose file is named without its folders.
func (s Setting) brief() Setting {
	s.From = s.From[strings.LastIndexAny(s.From, `/\`)+1:]
	s.Value = Cut(s.Value, 40)
	return s
}

// String is name, value and origin: model_profiles.answer.model is gpt-5.2 (MODEL_ANSWER).
func (s Setting) String() string { return fmt.Sprintf("%s is %s (%s)", s.Name, s.Value, s.From) }

func (g *Guide) key() string { return cmp.Or(g.Key, "OPENAI_API_KEY") }

func (g *Guide) proxy() string { return cmp.Or(g.Proxy, "HTTPS_PROXY") }

// host is where requests go, with the port that the address has.
func (g *Guide) host() string {
	u, err := url.Parse(g.BaseURL.Value)
	if err != nil || u.Host == "" {
		return "the API's host"
	}
	return u.Host
}

// openAI reports that requests go to OpenAI itself, whatever the region.
func (g *Guide) openAI() bool {
	if g.BaseURL.Value == "" {
		return true
	}
	u, err := url.Parse(g.BaseURL.Value)
	if err != nil {
		return false
	}
	name := strings.ToLower(u.Hostname())
	return name == "api.openai.com" || strings.HasSuffix(name, ".api.openai.com")
}

// GetKey is the way to a key when there is none.
func (g *Guide) GetKey() string {
	if g.openAI() {
		return "make a key at " + keysPage + " and set " + g.key()
	}
	return "set " + g.key() + " to a key for " + g.host() + " (any text, if that server wants none)"
}

// newKey is the cure for a key that was refused. Which of several values the
// server meant it does not say.
func (g *Guide) newKey() string {
	var cure string
	switch {
	case g.KeyFlaw != "":
		cure = "put the key alone into " + g.key() + ": " + g.KeyFlaw
	case g.openAI():
		cure = "put a whole and current key into " + g.key() + " (" + keysPage + ")"
	default:
		cure = "put a whole and current key for " + g.host() + " into " + g.key()
	}
	if len(g.Headers) > 0 {
		cure += ", and check " + strings.Join(g.Headers, ", ") + " (openai.headers)"
	}
	return cure
}

// anotherModel is the cure for a model that the API does not have. What wins
// over the place that it comes from (spec §5.1) can name another one, too.
// --model is about answer, and about the profiles that follow it.
func (g *Guide) anotherModel(profile string) (cure, brief string) {
	s, ok := g.Models[profile]
	if !ok {
		return "check model_profiles (MODEL_ANSWER)", ""
	}
	variable := map[string]string{
		"model_profiles.answer.model":          "MODEL_ANSWER",
		"model_profiles.answer_detailed.model": "MODEL_DETAILED",
		"model_profiles.answer_quick.model":    "MODEL_QUICK",
	}[s.Name]
	var others []string
	if variable != s.From && s.From != "--model" {
		others = append(others, variable)
	}
	if variable == "MODEL_ANSWER" && s.From != "--model" {
		others = append(others, "--model")
	}
	cure = s.String() + ": name another model there"
	if len(others) > 0 {
		cure += ", or with " + strings.Join(others, " or ")
	}
	return cure, s.brief().String() + ": name another there"
}

// otherBase is the cure for an address at which there is no API.
func (g *Guide) otherBase() (cure, brief string) {
	return g.base("check openai.base_url (%s): it ends with the version, as in https://api.openai.com/v1")
}

// base puts the place of openai.base_url into a cure.
func (g *Guide) base(format string) (cure, brief string) {
	s := g.BaseURL
	s.From = cmp.Or(s.From, "OPENAI_BASE_URL")
	return fmt.Sprintf(format, s.From), fmt.Sprintf(format, s.brief().From)
}

// trust is the cure for a certificate that nobody known has signed. Go leaves
// the decision to the system on macOS and Windows and reads no file there.
func (g *Guide) trust() (cure, brief string) {
	const ca = "the CA of your network"
	switch g.GOOS {
	case "darwin", "ios":
		return "add " + ca + " to the keychain of this Mac and trust it there (SSL_CERT_FILE is not read on macOS)", ""
	case "windows":
		return "add " + ca + " to the certificate store of Windows (SSL_CERT_FILE is not read there)", ""
	}
	if g.RootsFile == "" {
		return "set SSL_CERT_FILE to a file with " + ca, ""
	}
	flaw := ""
	if g.RootsFlaw != nil {
		flaw = g.RootsFlaw()
	}
	say := func(file string) string {
		if flaw != "" {
			return "correct SSL_CERT_FILE: it names " + file + ", and " + flaw
		}
		return "add " + ca + " to " + file + " (SSL_CERT_FILE): it holds none that signed this"
	}
	return say(g.RootsFile), say(Setting{From: g.RootsFile}.brief().From)
}
