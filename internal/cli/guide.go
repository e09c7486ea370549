package cli

import (
	"crypto/x509"
	"os"
	"runtime"
	"strings"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
)

// guide is what advice about errors may name: the settings of cfg and where
// each comes from. None of them is a secret.
func (a *app) guide(cfg *config.Config) answer.Guide {
	key := cfg.KeyEnv
	g := answer.Guide{
		BaseURL:   answer.Setting{Name: "openai.base_url", Value: config.BareURL(cfg.OpenAI.BaseURL), From: from(cfg, "openai.base_url")},
		Key:       key,
		KeyFlaw:   keyFlaw(strings.TrimSpace(a.variable(key))),
		Headers:   cfg.HeaderVariables,
		Models:    map[string]answer.Setting{},
		Proxy:     a.proxyVariable(cfg.OpenAI.BaseURL),
		GOOS:      runtime.GOOS,
		RootsFile: a.variable("SSL_CERT_FILE"),
	}
	g.RootsFlaw = func() string { return rootsFlaw(g.RootsFile) }
	for name, p := range profiles(cfg) {
		// An inherited model has the origin of that of answer.
		setting := "model_profiles." + name + ".model"
		if first := "model_profiles.answer.model"; cfg.Origin(setting) == cfg.Origin(first) && p.Model == cfg.ModelProfiles.Answer.Model {
			setting = first
		}
		g.Models[name] = answer.Setting{Name: setting, Value: p.Model, From: from(cfg, setting)}
	}
	return g
}

// from is the origin of a key, for the middle of a sentence.
func from(cfg *config.Config, key string) string {
	if o := cfg.Origin(key); o != "default" {
		return o
	}
	return "the default"
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
	switch {
	case key == "":
		return ""
	case strings.ContainsRune("${%", rune(key[0])), strings.HasPrefix(key, "YOUR_"):
		return "it holds a placeholder or a reference such as ${NAME}, which the client has not replaced"
	case strings.ContainsAny(key, "\"'`“”‘’"):
		return "it has quotes around it"
	case strings.HasPrefix(strings.ToLower(key), "bearer "):
		return "it begins with Bearer, which the program adds by itself"
	case strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII || r == '*' || unicode.IsSpace(r) }), strings.Contains(key, "..."):
		return "it has characters that keys do not have, such as the * of one that is shown in part"
	}
	return ""
}

// rootsFlaw says why SSL_CERT_FILE names no certificates, or "". Go ignores
// such a file without an error.
func rootsFlaw(path string) string {
	if path == "" {
		return ""
	}
	pem, err := os.ReadFile(path)
	if err != nil {
		return "it cannot be read"
	}
	if !x509.NewCertPool().AppendCertsFromPEM(pem) {
		return "it has no certificate in PEM form"
	}
	return ""
}
