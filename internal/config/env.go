package config

import (
	"reflect"
	"slices"
	"strings"

	"github.com/caarlos0/env/v11"
)

// variables is the table of environment variables (spec §5.4), each with the
// key that it sets. All are text here: the checks of the keys apply to them,
// so that a number is judged the same way wherever it comes from.
type variables struct {
	Timeout      string `env:"OPENAI_API_TIMEOUT" key:"request.timeout_ms"`
	MaxRetries   string `env:"OPENAI_MAX_RETRIES" key:"request.max_retries"`
	BaseURL      string `env:"OPENAI_BASE_URL" key:"openai.base_url"`
	Organization string `env:"OPENAI_ORG_ID" key:"openai.organization"`
	Project      string `env:"OPENAI_PROJECT_ID" key:"openai.project"`
	RecencyDays  string `env:"SEARCH_RECENCY_DAYS" key:"search.defaults.recency_days"`
	MaxResults   string `env:"SEARCH_MAX_RESULTS" key:"search.defaults.max_results"`
	MaxCitations string `env:"MAX_CITATIONS" key:"policy.max_citations"`
	Requery      string `env:"REQUERY_ATTEMPTS" key:"policy.requery_attempts"`
	Model        string `env:"MODEL_ANSWER" key:"model_profiles.answer.model"`
	Detailed     string `env:"MODEL_DETAILED" key:"model_profiles.answer_detailed.model"`
	Quick        string `env:"MODEL_QUICK" key:"model_profiles.answer_quick.model"`
	Effort       string `env:"ANSWER_EFFORT" key:"model_profiles.answer.reasoning_effort"`
	Verbosity    string `env:"ANSWER_VERBOSITY" key:"model_profiles.answer.verbosity"`
	Debug        string `env:"DEBUG" key:"server.debug"`
	LineMode     string `env:"MCP_LINE_MODE"`
}

// variablesOf makes a table of what is set: blanks around a value do not
// count, and an empty value is none. The names of Windows know no case.
func variablesOf(environ []string, goos string) map[string]string {
	vars := make(map[string]string, len(environ))
	for _, line := range environ {
		name, value, ok := strings.Cut(line, "=")
		if !ok || name == "" {
			continue
		}
		if goos == "windows" {
			name = strings.ToUpper(name)
		}
		if value = strings.TrimSpace(value); value == "" {
			delete(vars, name) // an empty one that comes later unsets
			continue
		}
		vars[name] = value
	}
	return vars
}

// fromEnv applies the variables that are set, in the order of the table.
func (l *loader) fromEnv() error {
	var vars variables
	if err := env.ParseWithOptions(&vars, env.Options{Environment: l.vars}); err != nil {
		return &Error{Source: "environment", Problem: err.Error()}
	}
	for f, v := range reflect.ValueOf(vars).Fields() {
		tag, text := f.Tag, v.String()
		if text == "" {
			continue
		}
		name := tag.Get("env")
		switch name {
		case "MCP_LINE_MODE":
			if text != "1" {
				continue
			}
			l.c.LineMode = true
		case "DEBUG":
			l.debug(name, text)
		default:
			if err := l.assign(name, tag.Get("key"), text); err != nil {
				return err
			}
		}
		l.c.env = append(l.c.env, name)
	}
	l.key()
	l.headers()
	return nil
}

// Debugging reads the value of DEBUG, or of --debug (spec §8.1): a word for off,
// a word for on, or the path of a file, which means on; file is "" else.
func Debugging(text string) (on bool, file string) {
	switch strings.ToLower(text) {
	case "0", "false", "off", "no":
		return false, ""
	case "1", "true", "on", "yes":
		return true, ""
	}
	return true, text
}

// debug takes the value of DEBUG. A file that the YAML names stays when only the
// switch is given.
func (l *loader) debug(source, text string) {
	on, file := Debugging(text)
	if file != "" {
		l.c.Server.DebugFile = l.expand(file)
		l.c.origin["server.debug_file"] = source
	}
	l.c.Server.Debug = on
	l.c.origin["server.debug"] = source
}

// key binds APIKey to the variable that the configuration names, and takes note
// of proxies, whose passwords are as secret.
func (l *loader) key() {
	name := l.c.OpenAI.APIKeyEnv
	if l.in.GOOS == "windows" {
		name = strings.ToUpper(name)
	}
	key, ok := l.vars[name]
	l.c.apiKey = func() string { return key }
	var urls []string
	for _, name := range proxyVariables() {
		urls = append(urls, l.vars[name])
	}
	l.c.proxies = func() []string { return urls }
	if ok && !slices.Contains(l.c.env, l.c.OpenAI.APIKeyEnv) {
		l.c.env = append(l.c.env, l.c.OpenAI.APIKeyEnv)
	}
}
