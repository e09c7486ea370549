// Package config turns defaults, a YAML file, environment variables and flags
// into one validated value that knows where each of its parts came from.
//
// A later source wins over an earlier one (spec §5.1): defaults, then YAML,
// then the environment, then the command line. Objects merge key by key and
// arrays are replaced. A null in the file means "as if the key were absent",
// and so does an empty environment variable.
//
// The structs of this file are the only list of the keys there is. Their tags
// drive reading, checking, --show-config, the JSON Schema and [Keys]:
//
//	yaml    the key in the file
//	doc     what the key does, one sentence or two
//	min,max bounds of a number, both included
//	enum    the words allowed, separated by |
//	format  a check with a name of its own, see checkFormat
//	ignored the reason why a key of an older version has no effect any more
//
// Every problem is one line that names its source, the key, the value and what
// is allowed instead; see [Error]. The API key is read from the environment
// only and is not part of anything that can be printed.
package config

import (
	"math"
	"time"
)

// Config is a complete, checked configuration, as [Load] returns it. Profiles
// are resolved, paths are expanded, and no field needs a fallback any more.
type Config struct {
	OpenAI        OpenAI        `yaml:"openai" doc:"How the OpenAI API is reached."`
	Request       Request       `yaml:"request" doc:"Bounds of one tools/call and additions to its request body."`
	Responses     Responses     `yaml:"responses" doc:"How the Responses API is used."`
	ModelProfiles ModelProfiles `yaml:"model_profiles" doc:"The model and its settings, one profile for each tool. answer_detailed and answer_quick take what they leave out from answer, key by key."`
	Policy        Policy        `yaml:"policy" doc:"Rules for the answer."`
	Search        Search        `yaml:"search" doc:"Web search."`
	Server        Server        `yaml:"server" doc:"The MCP server itself."`

	// LineMode says that every message goes out as one line of JSON, whatever
	// the client sent: MCP_LINE_MODE=1 and no other value (spec §5.4).
	LineMode bool `yaml:"-"`

	apiKey  func() string     // a function, because %+v would print a string
	header  func() []header   // what openai.headers came to, by name
	proxies func() []string   // the URLs of the variables that name a proxy
	origin  map[string]string // key -> source, only for what is not a default
	file    string            // the YAML file that was read, "" for none
	env     []string          // the variables that were set, in the order of the table
	cli     []string          // the flags that were given
}

// OpenAI says how the API is reached (spec §5.3). The key itself is not here.
type OpenAI struct {
	APIKeyEnv    string `yaml:"api_key_env" format:"variable" doc:"Name of the environment variable that holds the API key. Keys themselves are never read from this file."`
	BaseURL      string `yaml:"base_url" format:"url" doc:"Absolute http or https URL of the API, up to and including the version."`
	Organization string `yaml:"organization" format:"id" doc:"Organization the calls are billed to, sent as OpenAI-Organization. null: not sent."`
	Project      string `yaml:"project" format:"id" doc:"Project the calls are billed to, sent as OpenAI-Project. null: not sent."`

	Headers map[string]string `yaml:"headers" format:"headers" doc:"Headers for a server that wants others than OpenAI: name to ${NAME}, a variable of the environment, alone or after a scheme (Bearer ${NAME}). api-key or Authorization takes the place of api_key_env. A header whose variable is not set is not sent."`

	_ ignored `yaml:"model" ignored:"models are set in model_profiles" doc:"Replaced by model_profiles."`
}

// Request bounds one tools/call (spec §5.3, §7).
type Request struct {
	TimeoutMS  int            `yaml:"timeout_ms" min:"1" doc:"Milliseconds that one tools/call may take, retries included."`
	MaxRetries int            `yaml:"max_retries" min:"0" max:"10" doc:"How often a request is repeated after 429, 5xx and failed connections."`
	ExtraBody  map[string]any `yaml:"extra_body" doc:"Merged into the body of every request: the way to a parameter of the API that has no key here. It cannot replace model, instructions, input, tools and stream."`
}

// Responses says how the Responses API is used.
type Responses struct {
	Stream string `yaml:"stream" format:"stream" enum:"auto|true|false" doc:"Whether answers are streamed. auto: when the client asked for progress or a terminal watches."`
	Store  bool   `yaml:"store" doc:"Whether OpenAI keeps the response."`

	_ ignored `yaml:"json_mode" ignored:"the output contract is fixed" doc:"Had no effect on the output contract."`
}

// ModelProfiles holds a profile for each tool (spec §3.0). After Load the
// fields that AnswerDetailed and AnswerQuick left out are those of Answer.
type ModelProfiles struct {
	Answer         Profile `yaml:"answer" doc:"Profile of the tool answer, and what the other two inherit from."`
	AnswerDetailed Profile `yaml:"answer_detailed" doc:"Profile of the tool answer_detailed. What is left out or null is taken from answer."`
	AnswerQuick    Profile `yaml:"answer_quick" doc:"Profile of the tool answer_quick. What is left out or null is taken from answer."`
}

// Profile is a model with its settings. Empty fields are not sent.
type Profile struct {
	Model            string `yaml:"model" format:"model" doc:"Model id."`
	ReasoningEffort  string `yaml:"reasoning_effort" enum:"none|minimal|low|medium|high|xhigh|max" doc:"How long the model thinks. Sent to reasoning models only, and each model takes only some of these."`
	Verbosity        string `yaml:"verbosity" enum:"low|medium|high" doc:"How long the answer is. Sent to models of the gpt-5 series and later only."`
	ReasoningSummary string `yaml:"reasoning_summary" enum:"auto|concise|detailed|" doc:"Ask for a summary of the model's reasoning. null: not asked for."`
}

// Policy is about what an answer must look like.
type Policy struct {
	MaxCitations    int    `yaml:"max_citations" min:"1" max:"10" doc:"How many citations an answer carries at most."`
	RequeryAttempts int    `yaml:"requery_attempts" min:"0" max:"5" doc:"How often the model is asked again when it searched and nothing can be cited, or the answer is empty."`
	System          System `yaml:"system" doc:"The instructions that go with every question."`

	_ ignored `yaml:"search_triggers" ignored:"the model decides when to search, by the policy text" doc:"The model decides when to search."`
	_ ignored `yaml:"prefer_search_when_unsure" ignored:"the model decides when to search, by the policy text" doc:"The model decides when to search."`
	_ ignored `yaml:"require_dates_iso" ignored:"dates are always ISO" doc:"Dates are always ISO."`
}

// System says where the instructions come from (spec §4).
type System struct {
	Source string `yaml:"source" enum:"builtin|file" doc:"builtin: the policy inside the program. file: also the file at path."`
	Path   string `yaml:"path" format:"path" doc:"File with a policy of your own, needed with source: file. ~ is the home folder; a relative path starts at the folder of this file."`
	Merge  string `yaml:"merge" enum:"replace|prepend|append" doc:"Whether the file replaces the built-in policy or goes before or after it."`
}

// Search configures the web search tool. All but Defaults is off by default:
// the tool is then sent as {"type":"web_search"} and nothing else.
type Search struct {
	Defaults       Defaults `yaml:"defaults" doc:"What a call that does not say otherwise asks for."`
	EnforceDomains bool     `yaml:"enforce_domains" doc:"Also let the API restrict the search to the domains, instead of only asking the model for it."`
	ContextSize    string   `yaml:"context_size" enum:"low|medium|high|" doc:"How much of the pages found the model sees. null: as the API decides."`
	UserLocation   Location `yaml:"user_location" doc:"Where the person who asks is, roughly. Not sent while all of it is null."`
}

// Defaults stand in for arguments that a call leaves out (spec §3.1).
type Defaults struct {
	RecencyDays float64  `yaml:"recency_days" min:"0" doc:"How many days back to look first."`
	MaxResults  int      `yaml:"max_results" min:"1" max:"10" doc:"How many results to look at."`
	Domains     []string `yaml:"domains" doc:"Domains to prefer. A list here replaces the default, it does not add to it."`
}

// Location is the user_location of the web search tool.
type Location struct {
	Country  string `yaml:"country" format:"country" doc:"Two-letter country code, such as JP."`
	City     string `yaml:"city" doc:"City, in any language."`
	Region   string `yaml:"region" doc:"Region or state."`
	Timezone string `yaml:"timezone" doc:"IANA time zone, such as Asia/Tokyo."`
}

// Server is about the MCP server itself.
type Server struct {
	Debug             bool   `yaml:"debug" doc:"Log what goes in and out to stderr. It contains questions and answers, never the API key."`
	DebugFile         string `yaml:"debug_file" format:"path" doc:"File that gets the debug log as well, while debug is on. ~ is the home folder; a relative path starts at the folder of this file. Its folder must be there: none is made but ~/.config/openai-responses-mcp and what is below it."`
	ShowConfigOnStart bool   `yaml:"show_config_on_start" doc:"Print the effective configuration to stderr at every start, as --show-config does."`
	StructuredContent bool   `yaml:"structured_content" doc:"Also send outputSchema and structuredContent. Off, because some clients then drop the text."`

	_ ignored `yaml:"transport" ignored:"stdio is the only transport" doc:"stdio is the only transport."`
}

// ignored is the type of a key that older versions had. It is accepted with a
// warning, so that an old file keeps working (spec §5.3).
type ignored struct{}

// APIKey returns the value of the variable that openai.api_key_env names, or
// "" when it is not set. No other method or field holds the key.
func (c *Config) APIKey() string {
	if c.apiKey == nil {
		return ""
	}
	return c.apiKey()
}

// Timeout returns the bound on one tools/call. Values beyond what a Duration
// holds, some 292 years, give the longest one.
func (c *Config) Timeout() time.Duration {
	if int64(c.Request.TimeoutMS) > math.MaxInt64/int64(time.Millisecond) {
		return math.MaxInt64
	}
	return time.Duration(c.Request.TimeoutMS) * time.Millisecond
}

// File returns the path of the YAML file that was read, as given or as found,
// or "" when there was none.
func (c *Config) File() string { return c.file }
