package config

// defaults returns the configuration of a start without file, environment and
// flags (spec §5.3), before the profiles inherit from answer.
//
// The schema and [Keys] take their defaults from here, by reflection.
func defaults() *Config {
	return &Config{
		OpenAI: OpenAI{
			APIKeyEnv: "OPENAI_API_KEY",
			BaseURL:   "https://api.openai.com/v1",
		},
		Request:   Request{TimeoutMS: 300_000, MaxRetries: 3},
		Responses: Responses{Stream: "auto"},
		ModelProfiles: ModelProfiles{
			// spec §3.0 requires this profile. With defaults it is there
			// even when the file has none, or says answer: null.
			Answer: Profile{Model: "gpt-5.2", ReasoningEffort: "medium", Verbosity: "medium"},
		},
		Policy: Policy{
			MaxCitations: 3,
			System:       System{Source: "builtin", Merge: "replace"},
		},
		Search: Search{
			Defaults: Defaults{RecencyDays: 60, MaxResults: 5},
		},
	}
}
