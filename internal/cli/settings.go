package cli

import (
	"errors"
	"fmt"
	"log/slog"
	"os"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// What the other packages take from the configuration, in their own terms.

// clientOptions say how the API of the configuration is reached.
func clientOptions(cfg *config.Config, log *slog.Logger) llm.Options {
	variable, key, _ := cfg.Credential()
	return llm.Options{
		BaseURL:      cfg.OpenAI.BaseURL,
		APIKey:       key,
		KeyEnv:       variable,
		Organization: cfg.OpenAI.Organization,
		Project:      cfg.OpenAI.Project,
		Headers:      cfg.Headers(),
		Store:        cfg.Responses.Store,
		UserAgent:    version.Name + "/" + version.Version,
		Logger:       log,
	}
}

// profiles are the configured ones, by tool.
func profiles(cfg *config.Config) map[string]answer.Profile {
	convert := func(p config.Profile) answer.Profile {
		return answer.Profile{
			Model:     p.Model,
			Effort:    p.ReasoningEffort,
			Verbosity: p.Verbosity,
			Summary:   p.ReasoningSummary,
		}
	}
	return map[string]answer.Profile{
		"answer":          convert(cfg.ModelProfiles.Answer),
		"answer_detailed": convert(cfg.ModelProfiles.AnswerDetailed),
		"answer_quick":    convert(cfg.ModelProfiles.AnswerQuick),
	}
}

func defaults(cfg *config.Config) answer.Defaults {
	d := cfg.Search.Defaults
	return answer.Defaults{RecencyDays: d.RecencyDays, MaxResults: float64(d.MaxResults), Domains: d.Domains}
}

func search(cfg *config.Config) answer.Search {
	s := answer.Search{EnforceDomains: cfg.Search.EnforceDomains, ContextSize: cfg.Search.ContextSize}
	at := cfg.Search.UserLocation
	for name, value := range map[string]string{
		"country": at.Country, "region": at.Region, "city": at.City, "timezone": at.Timezone,
	} {
		if value == "" {
			continue
		}
		if s.UserLocation == nil {
			s.UserLocation = map[string]string{}
		}
		s.UserLocation[name] = value
	}
	return s
}

// readPolicy reads the policy file. A pipe, whose writer may never come, is
// none. policy says which file an error is about.
func readPolicy(path string) ([]byte, error) {
	switch info, err := os.Stat(path); {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errors.New("not a regular file")
	}
	b, err := config.ReadFile(path)
	if err == nil && len(b) > config.MaxFile {
		return nil, fmt.Errorf("larger than %d KiB", config.MaxFile>>10)
	}
	return b, err
}
