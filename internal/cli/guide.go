package cli

import (
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
)

// guide is what the advice in errors may name: the settings of cfg and where
// each comes from. ask, the server and doctor have their words from it.
func (a *app) guide(cfg *config.Config) answer.Guide {
	variable, _, _ := cfg.Credential()
	g := answer.Guide{
		BaseURL:   answer.Setting{Name: "openai.base_url", Value: doctor.BareURL(cfg.OpenAI.BaseURL), From: from(cfg, "openai.base_url")},
		Key:       variable,
		KeyFlaw:   keyFlaw(strings.TrimSpace(a.variable(variable))),
		Headers:   slices.DeleteFunc(cfg.Variables(), func(name string) bool { return name == variable }),
		Models:    map[string]answer.Setting{},
		Proxy:     doctor.ProxyVariable(cfg.OpenAI.BaseURL, a.variable),
		GOOS:      runtime.GOOS,
		RootsFile: a.variable("SSL_CERT_FILE"),
	}
	g.RootsFlaw = func() string { return rootsFlaw(g.GOOS, g.RootsFile) }
	for name, p := range profiles(cfg) {
		key := modelKey(cfg, name)
		g.Models[name] = answer.Setting{Name: key, Value: p.Model, From: from(cfg, key)}
	}
	return g
}

// modelKey is the key that a profile has its model from: its own, or the one
// that it inherits. Two models may stand in one line of the file.
func modelKey(cfg *config.Config, profile string) string {
	const first = "model_profiles.answer.model"
	all, key := profiles(cfg), "model_profiles."+profile+".model"
	if cfg.Origin(key) != cfg.Origin(first) || all[profile].Model != all["answer"].Model {
		return key
	}
	return first
}

// from is the origin of a key, for the middle of a sentence.
func from(cfg *config.Config, key string) string {
	if o := cfg.Origin(key); o != "default" {
		return o
	}
	return "the default"
}

// keyFlaw says what looks wrong about a key that a server has refused, or "".
// It never repeats a part of it.
func keyFlaw(key string) string {
	first, last := "", ""
	if key != "" {
		first, last = key[:1], key[len(key)-1:]
	}
	switch {
	case first == "$", first == "{", first == "%" && last == "%":
		return "it holds a reference such as ${NAME}, which the client has not replaced"
	case strings.HasPrefix(key, "YOUR_"):
		return "it holds a placeholder"
	case strings.ContainsAny(first+last, "\"'`“”‘’") && key != "":
		return "it has quotes around it"
	case strings.HasPrefix(strings.ToLower(key), "bearer "):
		return "it begins with Bearer, which the program adds by itself"
	case strings.ContainsFunc(key, unicode.IsSpace):
		return "it has a blank in it"
	case strings.ContainsFunc(key, func(r rune) bool { return r > unicode.MaxASCII }), strings.Contains(key, "*"), strings.Contains(key, "..."):
		return "it has characters that keys do not have, such as the * of one that is shown in part"
	}
	return ""
}

// rootsFlaw says why a file that SSL_CERT_FILE names is of no use, or "". Go
// itself passes over such a file without a word.
func rootsFlaw(goos, path string) string {
	if path == "" || goos == "darwin" || goos == "windows" { // it is not read there
		return ""
	}
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() && !info.IsDir() {
		return "" // a pipe, which can be read once
	}
	data, err := config.ReadFile(path) // as much of it as tells
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	}
	if err != nil {
		return "it cannot be read (" + err.Error() + ")"
	}
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" || len(block.Headers) > 0 {
			continue
		}
		if _, err := x509.ParseCertificate(block.Bytes); err == nil {
			return ""
		}
	}
	return "it has no certificate in PEM form"
}
