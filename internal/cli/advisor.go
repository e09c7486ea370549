package cli

import (
	"cmp"
	"crypto/x509"
	"os"
	"regexp"
	"runtime"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// advisor is what advice about errors may name: the settings of cfg and where
// each comes from. None of them is a secret.
func (a *app) advisor(cfg *config.Config) answer.Advisor {
	roots := a.variable("SSL_CERT_FILE")
	g := answer.Advisor{
		BaseURL:   answer.Setting{Name: "openai.base_url", Value: config.BareURL(cfg.OpenAI.BaseURL), From: from(cfg, "openai.base_url")},
		Key:       cfg.KeyEnv,
		KeyFlaw:   keyFlaw(strings.TrimSpace(a.variable(cfg.KeyEnv))),
		Headers:   cfg.HeaderVariables,
		Models:    map[string]answer.Setting{},
		Proxy:     a.proxyVariable(cfg.OpenAI.BaseURL),
		GOOS:      runtime.GOOS,
		RootsFile: roots,
		RootsFlaw: func() string { return rootsFlaw(roots) },
	}
	for name, p := range profiles(cfg) {
		// An inherited model has the origin of that of answer.
		setting := "model_profiles." + name + ".model"
		const first = "model_profiles.answer.model"
		if cfg.Origin(setting) == cfg.Origin(first) && p.Model == cfg.ModelProfiles.Answer.Model {
			setting = first
		}
		g.Models[name] = answer.Setting{Name: setting, Value: p.Model, From: from(cfg, setting)}
	}
	return g
}

// from is the origin of a key, for the middle of a sentence.
func from(cfg *config.Config, key string) string {
	return cmp.Or(strings.TrimPrefix(cfg.Origin(key), "default"), "the default")
}

// proxyVariable is the variable that names the proxy for base, as package
// net/http reads it.
func (a *app) proxyVariable(base string) string {
	name := "HTTPS_PROXY"
	if strings.HasPrefix(strings.ToLower(base), "http:") {
		name = "HTTP_PROXY"
	}
	if lower := strings.ToLower(name); a.variable(name) == "" && a.variable(lower) != "" {
		return lower
	}
	return name
}

// keyFlaw says what looks wrong about a key that the API has refused, or "".
func keyFlaw(key string) string {
	for _, f := range []struct{ pattern, flaw string }{
		{"^([$%{]|YOUR_)", "it holds a placeholder or a reference such as ${NAME}, which the client has not replaced"},
		{"[\"'`“”‘’]", "it has quotes around it"},
		{"(?i)^bearer ", "it begins with Bearer, which the program adds by itself"},
		{`[^!-~]|\*|\.\.\.`, "it has characters that keys do not have, such as the * of one that is shown in part"},
	} {
		if regexp.MustCompile(f.pattern).MatchString(key) {
			return f.flaw
		}
	}
	return ""
}

// rootsFlaw says why SSL_CERT_FILE names no certificates, or "". Go ignores
// such a file without an error.
func rootsFlaw(path string) string {
	pem, err := os.ReadFile(path)
	switch {
	case path == "":
	case err != nil:
		return "it cannot be read"
	case !x509.NewCertPool().AppendCertsFromPEM(pem):
		return "it has no certificate in PEM form"
	}
	return ""
}
