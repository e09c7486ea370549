package config

import (
	"errors"
	"runtime"
)

// Flags is what the command line said. The Set fields tell a flag that was
// given from one that was not.
type Flags struct {
	Config    string // --config: path of the YAML file, relative to the working directory
	ConfigSet bool
	Model     string // --model: the model of a profile
	ModelSet  bool
	Profile   string // which one; "" is answer, whose model the others inherit
	Debug     bool   // --debug
	DebugFile string // --debug PATH, "" without a path
	DebugSet  bool
}

// Input is everything that Load looks at. It does not look at the environment
// of the process: an Environ of nil has no variables.
type Input struct {
	Flags   Flags
	Environ []string // NAME=value, as os.Environ gives it; the last of several wins
	Home    string   // home folder; "": HOME, or USERPROFILE on Windows, of Environ
	GOOS    string   // "": runtime.GOOS

	// ReadFile reads the YAML file; nil reads it from disk, up to a bound.
	ReadFile func(string) ([]byte, error)
}

// Load layers defaults, YAML, environment and flags (spec §5.1) and checks
// the outcome. It reads one file and touches no network.
//
// The warnings are one line each and name their source; they are complete even
// when there is an error. The error is an [*Error] and speaks of the first
// wrong value: those of the file in the order of the file, then those of the
// environment, then those of the command line.
func Load(in Input) (*Config, []string, error) {
	l := newLoader(in)
	for _, step := range []func() error{l.fromFile, l.fromEnv, l.fromFlags} {
		if err := step(); err != nil {
			return nil, l.told(), l.hidden(err)
		}
	}
	l.inherit()
	return l.c, l.told(), nil
}

// told are the warnings, without what is secret by now.
func (l *loader) told() []string {
	for i, w := range l.warnings {
		l.warnings[i] = hide(w, l.secrets())
	}
	return l.warnings
}

// hidden is an error of a step without what is secret.
func (l *loader) hidden(err error) error {
	if e, ok := errors.AsType[*Error](err); ok {
		for _, text := range []*string{&e.Source, &e.Key, &e.Problem} {
			*text = hide(*text, l.secrets())
		}
	}
	return err
}

// secrets are those that can be known while not everything is read.
func (l *loader) secrets() []string {
	return append(l.c.Secrets(), l.vars[defaults().OpenAI.APIKeyEnv], l.vars[l.c.OpenAI.APIKeyEnv])
}

// loader carries one Load from layer to layer.
type loader struct {
	in       Input
	vars     map[string]string // set variables, trimmed, without the empty ones
	c        *Config
	warnings []string
}

func newLoader(in Input) *loader {
	if in.GOOS == "" {
		in.GOOS = runtime.GOOS
	}
	if in.ReadFile == nil {
		in.ReadFile = ReadFile
	}
	l := &loader{in: in, vars: variablesOf(in.Environ, in.GOOS), c: defaults()}
	if l.in.Home == "" {
		l.in.Home = l.vars["HOME"]
		if in.GOOS == "windows" {
			l.in.Home = l.vars["USERPROFILE"]
		}
	}
	l.c.origin = make(map[string]string)
	return l
}

func (l *loader) warn(source, key, text string) {
	line := source + ": "
	if key != "" {
		line += key + ": "
	}
	l.warnings = append(l.warnings, oneLine(redact(line+text)))
}

// inherit completes the profiles of answer_detailed and answer_quick from
// answer, key by key (spec §3.0). It comes last, so that MODEL_ANSWER and
// --model reach the profiles that do not name a model. Leaving a profile out,
// giving it as {} or null, and giving its keys as null are all the same.
func (l *loader) inherit() {
	const answer = "model_profiles.answer"
	from := l.c.ModelProfiles.Answer
	inherit := func(profile, key string, to *string, from string) {
		if _, own := l.c.origin[profile+key]; own {
			return
		}
		*to = from
		if source, ok := l.c.origin[answer+key]; ok {
			l.c.origin[profile+key] = source
		}
	}
	for profile, to := range map[string]*Profile{
		"model_profiles.answer_detailed": &l.c.ModelProfiles.AnswerDetailed,
		"model_profiles.answer_quick":    &l.c.ModelProfiles.AnswerQuick,
	} {
		inherit(profile, ".model", &to.Model, from.Model)
		inherit(profile, ".reasoning_effort", &to.ReasoningEffort, from.ReasoningEffort)
		inherit(profile, ".verbosity", &to.Verbosity, from.Verbosity)
		inherit(profile, ".reasoning_summary", &to.ReasoningSummary, from.ReasoningSummary)
	}
}
