package service

import (
	"cmp"
	"regexp"
	"runtime"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
)

// newAdvisor returns an Advisor with what advice about errors may name: settings and their origins,
// but no secrets.
func (s *Service) newAdvisor() advice.Advisor {
	cfg := s.effective
	keyFlaw := func() string {
		key := s.Getenv(cfg.CredentialVariable)
		if cfg.APIKeyFile != "" { // which may change
			key = *s.keys.current.Load()
		}
		return KeyFlaw(cmp.Or(strings.TrimSpace(key), "none")) // a missing key has no flaw
	}
	login := "" // the command line that stores the key of the server
	storedKeyServer := ""
	if cfg.UsesStoredKeyFile() {
		login = s.StartCommand + " login"
		if cfg.APIKeyErr != nil {
			storedKeyServer = cfg.APIKeyServer
		}
	}
	models := map[string]advice.Setting{}
	for tool, p := range cfg.ModelProfiles {
		models[tool] = setting(cfg, "model_profiles."+tool+".model", p.Model)
	}

	return advice.Advisor{
		BaseURL:              setting(cfg, "openai.base_url", config.BareURL(cfg.OpenAI.BaseURL)),
		Models:               models,
		Streams:              cfg.Responses.Stream != "false",
		KeyVariable:          cfg.CredentialVariable,
		KeyInFile:            cfg.APIKeyFile != "",
		StoredKeyServer:      storedKeyServer,
		LoginCommand:         login,
		StoredKeyUnused:      cfg.StoredKeyUnused,
		KeyFlaw:              keyFlaw,
		OtherHeaderVariables: cfg.OtherHeaderVariables,
		ProxyVariable:        proxyVariable(cfg.OpenAI.BaseURL, s.Getenv),
		GOOS:                 runtime.GOOS,
		RootsFile:            s.Getenv("SSL_CERT_FILE"),
		Redactor:             s.Redactor,
	}
}

// setting returns a setting with the place that its value comes from.
func setting(cfg *config.Config, key, value string) advice.Setting {
	origin := strings.TrimPrefix(cfg.Origin(key), "default")
	return advice.Setting{
		Name:   key,
		Value:  value,
		Origin: cmp.Or(origin, "the default"),
	}
}

// startCommand returns the command that starts the program. If npx or npm has started it, this is
// an npx command, because neither installs a command.
func startCommand(getenv func(string) string) string {
	if strings.Contains(getenv("npm_lifecycle_script"), version.Name) {
		return "npx -y " + version.Name + "@" + version.Version // not a local package
	}
	return version.Name
}

// keyFlaws are regular expressions for what no key contains, each with what is wrong.
var keyFlaws = []struct{ expr, flaw string }{
	{`^$`, "it is empty"},
	{`^YOUR_`, "it is the placeholder of the README"},
	{`[\r\n]`, "it has several lines"},
	{`^(export )?[A-Z][A-Z0-9_]*(KEY|TOKEN)=.`, "it begins with the name of a variable and ="},
	{`^[$%{]`, "it is a reference to a variable, such as ${NAME}"},
	{`\s`, "it has blanks, perhaps those of Bearer"},
	{"[\"'`]", "it has quotes"},
	{`\*|\.\.\.`, "it is shown in part"},
	{`[^!-~]`, "it has control characters, or characters that are not ASCII"},
}

// KeyFlaw returns why key cannot be an API key, or "" if it can.
func KeyFlaw(key string) string {
	for _, f := range keyFlaws {
		found, _ := regexp.MatchString(f.expr, key) // the expressions are valid
		if found {
			return f.flaw
		}
	}
	if len(key) > config.MaxAPIKey {
		return "it is too long"
	}
	return ""
}

// proxyVariable returns the environment variable in which net/http looks for the proxy of a base
// URL: the upper-case name, unless only the lower-case one is set.
func proxyVariable(base string, getenv func(string) string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(base), ":")
	name := scheme + "_proxy"
	upper := strings.ToUpper(name)
	if getenv(upper) == "" && getenv(name) != "" {
		return name
	}
	return upper
}
