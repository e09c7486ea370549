package call

// Tool is a tool that answers questions. Its profile in the configuration has the same name.
type Tool struct {
	Name        string
	Title       string
	Description string // for models
	Purpose     string // what to use the tool for, in the instructions of the server
	Flag        string // the flag of ask for this tool; "": ask uses it without a flag
	Variable    string // the environment variable that sets the model of the profile
	Pollable    bool   // clients may poll a call as a task
	UsualTokens int64  // how many a call usually uses; a quota reserves them while it runs

	// The reasoning effort and the verbosity of the profile, if the configuration sets none.
	Effort, Verbosity string
}

// DefaultTool is the name of the first of Tools. The other profiles inherit from its profile.
const DefaultTool = "answer"

// Tools are the tools of spec §3.1.
var Tools = []Tool{
	{
		Name:        DefaultTool,
		Title:       "Answer with web search",
		Description: "Search the web when needed and provide balanced, well-sourced answers. This is the standard general-purpose tool.",
		Purpose:     "most questions",
		Variable:    "MODEL_ANSWER",
		UsualTokens: 60_000,
		Effort:      "medium",
		Verbosity:   "medium",
	},
	{
		Name:        "answer_detailed",
		Title:       "Research in depth with web search",
		Description: "Perform comprehensive analysis with thorough research and detailed explanations. Best for complex questions requiring deep investigation.",
		Purpose:     "research and comparisons, which takes longer",
		Flag:        "detailed",
		Variable:    "MODEL_DETAILED",
		Pollable:    true,
		UsualTokens: 300_000,
		Effort:      "high",
		Verbosity:   "high",
	},
	{
		Name:        "answer_quick",
		Title:       "Quick answer with web search",
		Description: "Provide fast, concise answers optimized for speed. Best for simple lookups or urgent questions.",
		Purpose:     "simple lookups",
		Flag:        "quick",
		Variable:    "MODEL_QUICK",
		UsualTokens: 10_000,
		Effort:      "low",
		Verbosity:   "low",
	},
}

// UsualTokensOf returns how many tokens a call of a tool usually uses. A tool that is not in Tools
// counts as the DefaultTool.
func UsualTokensOf(name string) int64 {
	for _, tool := range Tools {
		if tool.Name == name {
			return tool.UsualTokens
		}
	}
	return Tools[0].UsualTokens
}

// MapTools returns the result of describe for each tool, in the order of Tools.
func MapTools(describe func(Tool) string) (all []string) {
	for _, tool := range Tools {
		all = append(all, describe(tool))
	}
	return all
}
