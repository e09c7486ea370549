// Package config turns defaults, a YAML file, environment variables and flags into one checked
// value with the origin of each key.
//
// A later layer takes precedence over an earlier one (spec §5). Mappings are merged key by key, and
// lists are replaced. A null in the file and an empty variable count as absent.
//
//	config.go   the keys, their defaults and the values derived from them
//	load.go     Load: the layers in their order
//	file.go     the layer of the YAML file
//	secrets.go  the API key, openai.headers and other secrets
//	keyfile.go  WriteKeyFile, for login
//	keys.go     the keys as a list, and --show-config
//	check.go    what a key allows, and checks of values
//
// The structs of this file are the only list of keys, with a profile for each of call.Tools. Their
// tags are used for checks, messages, the JSON Schema and the reference page:
//
//	yaml     key in the file
//	env      environment variable that sets it; for the profiles, which share their keys, see
//	         profileOf
//	KEY      of a section, such as debug: the variable that sets the KEY of the section
//	default  value without file, environment and flags (spec §5.3), in YAML
//	doc      what the key does
//	min,max  bounds of a number, both included
//	enum     allowed words, separated by |; a trailing | allows the empty string
//	pattern  regular expression of a string
//	takes    what is allowed, in words that follow "is not" and precede the bounds; without the tag
//	         the type is named there
//	from     for a key of the profiles: the key whose value it gets if no profile sets it. The key
//	         and its members have no variable and no default of their own
//	profile  how a profile changes the value that it inherits: "adds" adds to a list, and with
//	         "stays" true cannot become false. Other values are replaced, and mappings merged
//	format   a check of check.go by name, such as url; "0 or", which allows 0 below the bounds; or a
//	         rule of the schema
package config

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Config is a complete, checked configuration as [Load] returns it: profiles are resolved and
// paths expanded.
type Config struct {
	OpenAI        OpenAI        `yaml:"openai" doc:"How to reach the OpenAI API."`
	Request       Request       `yaml:"request" doc:"Limits of one tools/call and additions to its request."`
	Responses     Responses     `yaml:"responses" doc:"How the Responses API is used."`
	ModelProfiles ModelProfiles `yaml:"model_profiles" doc:"Model and settings, one profile per tool. Without this section each tool has an effort and a verbosity of its own. With it the profiles other than answer take every key that they leave out from answer."`
	Policy        Policy        `yaml:"policy" doc:"Rules for answers."`
	Search        Search        `yaml:"search" doc:"Web search."`
	Server        Server        `yaml:"server" debug:"DEBUG" doc:"The MCP server."`
	Prices        Prices        `yaml:"prices" default:"{}" format:"prices" takes:"a mapping of models to their prices" doc:"What models cost, for cost_usd in results, logs and metrics. A key is a model id, or how ids begin. Its value has input, cached_input, cache_write and output in USD for a million tokens, and search in USD for 1,000 searches. Without cached_input or cache_write, such tokens cost as other input. A model without a price has no cost."`

	LineMode bool       // send each message as one line of JSON; only MCP_LINE_MODE=1 sets it
	*Derived `json:"-"` // a pointer, so that %+v of a Config does not print its secrets
}

// Offline returns a copy of the configuration for an API at url that needs no key.
func (c *Config) Offline(url string) *Config {
	offline := *c
	derived := *c.Derived
	offline.Derived = &derived
	derived.APIKey = "offline"
	derived.APIKeyFile = ""
	derived.SentHeaders = nil
	offline.OpenAI.BaseURL = url
	derived.origins = maps.Clone(c.origins)
	derived.origins[baseURL] = "--offline"

	offline.ModelProfiles = ModelProfiles{}
	for tool, profile := range c.ModelProfiles {
		local := *profile
		local.Model = "offline"
		offline.ModelProfiles[tool] = &local
	}
	return &offline
}

// Derived is what Load derives from the keys and the environment.
type Derived struct {
	Home         string         // home directory; "" if there is none
	File         string         // path of the YAML file; "" if there is none
	DefaultFiles []string       // paths where Load looks for the file without --config
	SettingKeys  []string       // keys that have a value, in the order of the structs
	Location     *time.Location // time zone of policy.timezone

	// CredentialVariable is the variable of the credential: the one in the header that replaces the
	// API key, else openai.api_key_env. It ends with _FILE if the variable names a file.
	CredentialVariable string
	HasCredential      bool   // there is a key, or a value for the header that replaces the key
	APIKeyFile         string // path of the key's file; "" if it is in a variable or a header
	APIKeyErr          error  // why APIKeyFile has no key for the API, or nil
	APIKeyServer       string // server that the key in APIKeyFile is for; "" if the file names none
	StoredKeyFile      string // path that login writes; "" without a home or with a header
	StoredKeyUnused    bool   // another key is used than that in StoredKeyFile

	// APIKey is the bearer token. It is "" if a header replaces the key, which may then be the key
	// of another service.
	APIKey               string
	SentHeaders          map[string]string // headers of openai.headers that have a value
	OtherHeaderVariables []string          // of openai.headers, set or not, without CredentialVariable

	// Secrets are all values that must not be printed: the key, values of headers, passwords in
	// URLs.
	Secrets []string

	byKey         map[string]field  // all keys, sections included
	origins       map[string]string // source by key, see Origin
	usedVariables []string          // in the order of their first use
	usedFlags     []string
}

// The sections of the file. An embedded struct, and also System, ModelSettings, Defaults and
// UserLocation, has the same fields as a struct of the package that uses it: a conversion copies
// the values.
type (
	OpenAI struct {
		APIKeyEnv string `yaml:"api_key_env" default:"OPENAI_API_KEY" format:"variable" pattern:"^[A-Za-z_][A-Za-z0-9_]*$" takes:"the name of an environment variable (the variable holds the key, this file does not)" doc:"Name of the environment variable that holds the API key; NAME_FILE, in its place, names a file that holds it. The key itself is never read from the configuration."`
		API
		Headers map[string]string `yaml:"headers" default:"{}" format:"headers" takes:"a flat mapping of header names to values" doc:"Additional request headers. Credentials are references to variables: ${NAME} or Bearer ${NAME}. Other values may be literal. The section Headers of the reference has the rules."`
	}

	API struct {
		BaseURL      string `yaml:"base_url" default:"https://api.openai.com/v1" env:"OPENAI_BASE_URL" format:"url" pattern:"^[Hh][Tt][Tt][Pp][Ss]?://[^/?#]" takes:"an absolute http or https URL" doc:"Absolute http or https URL of the API, including the version."`
		Organization string `yaml:"organization" env:"OPENAI_ORG_ID" pattern:"^[^\\s\"'\\x00-\\x1f\\x7f]*$" takes:"an id" doc:"Organization that is billed, sent as OpenAI-Organization."`
		Project      string `yaml:"project" env:"OPENAI_PROJECT_ID" pattern:"^[^\\s\"'\\x00-\\x1f\\x7f]*$" takes:"an id" doc:"Project that is billed, sent as OpenAI-Project."`
	}

	Request struct {
		TimeoutMS  float64        `yaml:"timeout_ms" default:"300000" env:"OPENAI_API_TIMEOUT" min:"1" takes:"a number of milliseconds" doc:"Time limit of one tools/call in milliseconds, retries included."`
		MaxRetries int            `yaml:"max_retries" default:"3" env:"OPENAI_MAX_RETRIES" min:"0" max:"10" doc:"Number of retries after status 429 or 5xx and after connection failures."`
		ExtraBody  map[string]any `yaml:"extra_body" default:"{}" doc:"Merged into the body of every request, for API parameters that have no key here. It cannot replace model, instructions, input, tools, stream and background."`
	}

	Responses struct {
		Stream string `yaml:"stream" default:"auto" enum:"auto|true|false" doc:"Whether to stream answers. auto: every call, until the API refuses."`
		Store  bool   `yaml:"store" doc:"Whether OpenAI stores the responses."`
	}

	// Prices are the prices of models, by the beginning of their ids. The value for a model is a
	// Prices, too, because package yaml decodes it so: its keys are priceNames, its values numbers.
	Prices map[string]any

	// ModelProfiles are the profiles of call.Tools, by their names.
	ModelProfiles map[string]*Profile

	// Profile is how a tool answers.
	Profile struct {
		ModelSettings
		MaxCitations int    `yaml:"max_citations" from:"policy.max_citations" min:"1" max:"10" doc:"Largest number of citations in an answer. What a profile leaves out comes from answer, then from policy.max_citations."`
		Search       Search `yaml:"search" from:"search" doc:"The keys of search, for one tool. What a profile leaves out comes from answer, then from search. Mappings are merged and lists replaced, but blocked_domains add up; enforce_domains and required can only be switched on."`
	}

	// ModelSettings are a model and its settings. Empty and zero values are not sent.
	ModelSettings struct {
		Model            string `yaml:"model" pattern:"^[^\\s\"'\\x00-\\x1f\\x7f]+$" takes:"a model id" doc:"Model id."`
		ReasoningEffort  string `yaml:"reasoning_effort" enum:"none|minimal|low|medium|high|xhigh|max" doc:"How long the model thinks. Sent to reasoning models only. Not every model supports every value."`
		Verbosity        string `yaml:"verbosity" enum:"low|medium|high" doc:"How long the answer is. Sent to gpt-5 models and later only."`
		ReasoningSummary string `yaml:"reasoning_summary" enum:"auto|concise|detailed|" doc:"Ask for a summary of the reasoning. Needs a verified organization."`
		MaxOutputTokens  int    `yaml:"max_output_tokens" min:"0" doc:"Limit of output tokens, reasoning included. 0: no limit. An answer that is cut says so."`
		MaxToolCalls     int    `yaml:"max_tool_calls" min:"0" doc:"Limit of web searches and page visits in one answer. 0: no limit."`
		ServiceTier      string `yaml:"service_tier" pattern:"^[^\\s\"'\\x00-\\x1f\\x7f]*$" takes:"a word" doc:"Processing tier of the API, which decides price and speed: auto, default, flex, priority, or any other word that the API takes."`
		Background       bool   `yaml:"background" doc:"Run the response in the background of the API, so that an answer outlives its connection. It starts later, and OpenAI keeps a copy for about ten minutes. Azure needs responses.store: true for it."`
	}

	Policy struct {
		MaxCitations    int    `yaml:"max_citations" default:"3" env:"MAX_CITATIONS" min:"1" max:"10" doc:"Largest number of citations in an answer."`
		RequeryAttempts int    `yaml:"requery_attempts" env:"REQUERY_ATTEMPTS" min:"0" max:"5" doc:"How often to ask the model again if it searched and there is nothing to cite, or if the answer is empty."`
		Timezone        string `yaml:"timezone" default:"Asia/Tokyo" format:"timezone|local" pattern:"." takes:"an IANA time zone or local" doc:"Time zone of the current date and of access dates. local: that of this machine."`
		System          System `yaml:"system" doc:"The instructions that are sent with every question."`
	}

	System struct {
		Source string `yaml:"source" default:"builtin" enum:"builtin|file" doc:"builtin: the built-in policy. file: the file at path, see merge."`
		Path   string `yaml:"path" pattern:"^[^\\x00-\\x1f\\x7f]*$" takes:"a path (in double quotes a backslash starts an escape, use single quotes)" doc:"File with your own policy, required with source: file. ~ is the home directory. A relative path is relative to this file."`
		Merge  string `yaml:"merge" default:"replace" enum:"replace|prepend|append" doc:"Whether the file replaces the built-in policy, or comes before or after it."`
	}

	Search struct {
		WebSearch
		Defaults     Defaults     `yaml:"defaults" doc:"Values for arguments that a call leaves out."`
		UserLocation UserLocation `yaml:"user_location" doc:"Approximate location for searches. Without this section the API searches as if from the United States. {} sends none."`
	}

	WebSearch struct {
		EnforceDomains bool           `yaml:"enforce_domains" profile:"stays" doc:"Let the API restrict the search to the domains. Otherwise they are a request to the model."`
		BlockedDomains []string       `yaml:"blocked_domains" profile:"adds" default:"[]" format:"hosts" takes:"a list of host names without https://, such as [go.dev]" doc:"Domains that are neither searched nor cited, with their subdomains."`
		ContextSize    string         `yaml:"context_size" enum:"low|medium|high|" doc:"How much of the pages the model sees. Default of the API: medium."`
		Required       bool           `yaml:"required" profile:"stays" doc:"Make the model search before every answer (tool_choice: required)."`
		Extra          map[string]any `yaml:"extra" default:"{}" doc:"Merged into the web_search tool, for members that have no key here, such as another type. The other keys of search win."`
	}

	Defaults struct {
		RecencyDays float64  `yaml:"recency_days" default:"60" env:"SEARCH_RECENCY_DAYS" min:"0" doc:"Prefer pages of the last days."`
		MaxResults  int      `yaml:"max_results" default:"5" env:"SEARCH_MAX_RESULTS" min:"1" max:"10" doc:"How many results to look at."`
		Domains     []string `yaml:"domains" default:"[]" format:"hosts" takes:"a list of host names without https://, such as [go.dev]" doc:"Domains to prefer. Others are searched, too, unless enforce_domains is set."`
	}

	UserLocation struct {
		Country  string `yaml:"country" pattern:"^([A-Za-z]{2})?$" takes:"a two-letter country code" doc:"Two-letter country code, for example JP."`
		City     string `yaml:"city" doc:"City."`
		Region   string `yaml:"region" doc:"Region or state."`
		Timezone string `yaml:"timezone" format:"timezone" takes:"an IANA time zone" doc:"IANA time zone, for example Asia/Tokyo."`
	}

	Server struct {
		Debug             bool   `yaml:"debug" doc:"Log requests and answers to stderr, with their content and without the API key."`
		DebugFile         string `yaml:"debug_file" pattern:"^[^\\x00-\\x1f\\x7f]*$" takes:"a path (in double quotes a backslash starts an escape, use single quotes)" doc:"With debug, also log to this file. Its directory must exist. ~ is the home directory. A relative path is relative to this file."`
		ShowConfigOnStart bool   `yaml:"show_config_on_start" doc:"Print the effective configuration to stderr at every start, as --show-config does."`
		StructuredContent bool   `yaml:"structured_content" doc:"Also send outputSchema and structuredContent. Some clients then ignore the text."`
		Meta              bool   `yaml:"meta" default:"true" env:"RESULT_META" doc:"Add tokens, ids and times to results, in _meta. Some clients show them to the model."`
		Tasks             bool   `yaml:"tasks" default:"true" doc:"Run answer_detailed as a task for clients that can poll for its result: over stdio, and with background in its profile over HTTP, too."`
		AnswerWithinMS    int    `yaml:"answer_within_ms" env:"ANSWER_WITHIN_MS" format:"0 or" takes:"0 or" min:"1000" max:"3600000" doc:"For clients that end long calls: after this time in milliseconds a call returns an id, with which the tool answer_result waits for the answer. 0: only for known clients over stdio. Over HTTP it needs background in a profile."`
		AnswerMemory      bool   `yaml:"answer_memory" default:"true" env:"ANSWER_MEMORY" doc:"Remember the last answers of each person in memory, for an hour, so that a question with follow_up_to continues one. Set it to false where one stdio process serves several people."`
		Limits
		ToolErrors      string `yaml:"tool_errors" default:"auto" env:"TOOL_ERRORS" enum:"auto|protocol|result" doc:"What a failed call returns. protocol: an error with code -32001. result: a result with isError, which models can read. auto: result from 2026-07-28 on, and for known clients over stdio."`
		ProtocolVersion string `yaml:"protocol_version" default:"2025-06-18" env:"PROTOCOL_VERSION" enum:"2025-06-18|2025-03-26|2024-11-05" doc:"The version of the protocol that initialize answers. An older one is for clients that take no other. Clients of 2026-07-28 do not initialize."`
	}

	// Limits are the quotas.
	Limits struct {
		CallsPerHour      int     `yaml:"calls_per_hour" env:"CALLS_PER_HOUR" min:"0" max:"999999999999999" doc:"One person may start this many calls in an hour, at first as many at once. 0: no limit."`
		TokensPerDay      int     `yaml:"tokens_per_day" env:"TOKENS_PER_DAY" min:"0" max:"999999999999999" doc:"The calls of one person may use this many tokens in 24 hours, at first as many at once. While a call runs, what its tool usually takes is reserved. 0: no limit."`
		TokensPerDayOfAll int     `yaml:"tokens_per_day_of_all" env:"TOKENS_PER_DAY_OF_ALL" min:"0" max:"999999999999999" doc:"tokens_per_day for the calls of all people together. 0: no limit."`
		USDPerDay         float64 `yaml:"usd_per_day" env:"USD_PER_DAY" min:"0" max:"1000000" doc:"The calls of one person may cost this much in 24 hours, in USD, at first as much at once. It needs prices for the models of all profiles. 0: no limit."`
		USDPerDayOfAll    float64 `yaml:"usd_per_day_of_all" env:"USD_PER_DAY_OF_ALL" min:"0" max:"1000000" doc:"usd_per_day for the calls of all people together. 0: no limit."`
	}
)

// profileOf describes the profile of a tool as if it were a field of a struct. Its tags name the
// variables that set its keys (spec §5.4). The profiles of the other tools inherit from the first.
func profileOf(tool call.Tool) reflect.StructField {
	tags := fmt.Sprintf(`yaml:"%s" model:"%s" doc:"Profile of the tool %[1]s. `+
		`Without model_profiles its effort is %[3]s and its verbosity %[4]s."`,
		tool.Name, tool.Variable, tool.Effort, tool.Verbosity)
	if tool == call.Tools[0] {
		tags += ` reasoning_effort:"ANSWER_EFFORT" verbosity:"ANSWER_VERBOSITY"`
	}
	return reflect.StructField{
		Name: tool.Name,
		Type: reflect.TypeFor[Profile](),
		Tag:  reflect.StructTag(tags),
	}
}

// ignoredKeys are the keys of older versions, with the reason why they have no effect. Each gets a
// warning and no error, so that old files keep working.
var ignoredKeys = map[string]string{
	"openai.model":                     "models are set in model_profiles",
	"responses.json_mode":              "the output format is fixed",
	"policy.search_triggers":           "the model decides when to search",
	"policy.prefer_search_when_unsure": "the model decides when to search",
	"policy.require_dates_iso":         "dates are always in ISO format",
	"server.log_level":                 "server.debug decides what is logged",
	"server.transport":                 "flags choose the transport",
}

// UserLocation returns the place from which a tool searches. If no key sets one, the result is nil,
// and no place is sent to the API. An empty UserLocation is sent.
func (c *Config) UserLocation(tool string) *UserLocation {
	const section = "search.user_location"
	for _, profile := range []string{"", profileKey(call.DefaultTool), profileKey(tool)} {
		if c.Origin(join(profile, section)) != "" {
			return &c.ModelProfiles[tool].Search.UserLocation
		}
	}
	return nil
}

// PriceOf returns the price of a model, or nil if it has none. Of the beginnings of ids in Prices
// that match model, the longest counts.
func (c *Config) PriceOf(model string) *call.Price {
	longest := ""
	for name := range c.Prices {
		if strings.HasPrefix(model, name) && len(name) > len(longest) {
			longest = name
		}
	}
	if longest == "" {
		return nil
	}

	price, _ := c.Prices[longest].(Prices) // check has refused other values
	usd := func(name string) float64 {
		n, _ := number(price[name])
		return n
	}
	usdOrInput := func(name string) float64 {
		if price[name] == nil {
			return usd("input")
		}
		return usd(name)
	}
	return &call.Price{
		Input:      usd("input"),
		Cached:     usdOrInput("cached_input"),
		CacheWrite: usdOrInput("cache_write"),
		Output:     usd("output"),
		Search:     usd("search"),
	}
}

// Timeout returns the time limit of a call.
func (c *Config) Timeout() time.Duration {
	const longest = 1 << 62 // 146 years
	limit := c.Request.TimeoutMS * float64(time.Millisecond)

	return time.Duration(min(limit, longest))
}

// Origin returns where the value of a key comes from: "default", the file and line
// ("config.yaml:12"), a variable (MODEL_ANSWER) or a flag (--model). An inherited key of a profile
// has the origin of the key of answer. It returns "" for unknown keys, for sections that the file
// does not have, and for keys of profiles that get their values from search or policy.
func (c *Config) Origin(key string) string {
	return c.origins[key]
}
