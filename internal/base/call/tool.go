package call

// Tool is a tool that answers questions. Its profile in the configuration has its name.
type Tool struct {
	Name        string
	Title       string
	Description string // for models
	For         string // what to use it for, in the instructions of the server
	Flag        string // of the command ask; "" for the tool that it uses without a flag
	Variable    string // with the model of the profile
	Pollable    bool   // clients may poll a call, as a task
	Tokens      int64  // that a call usually takes; a limit reserves them while it runs

	// The profile where the configuration file has none.
	Effort, Verbosity string
}

// DefaultTool is the first of Tools. Its profile is the one that the others inherit from.
const DefaultTool = "answer"

// Tools are the tools of spec §3.1.
var Tools = []Tool{
	{
		Name:        DefaultTool,
		Title:       "Answer with web search",
		Description: "Search the web when needed and provide balanced, well-sourced answers. This is the standard general-purpose tool.",
		For:         "most questions",
		Variable:    "MODEL_ANSWER",
		Tokens:      60_000,
		Effort:      "medium",
		Verbosity:   "medium",
	},
	{
		Name:        "answer_detailed",
		Title:       "Research in depth with web search",
		Description: "Perform comprehensive analysis with thorough research and detailed explanations. Best for complex questions requiring deep investigation.",
		For:         "research and comparisons, which takes longer",
		Flag:        "detailed",
		Variable:    "MODEL_DETAILED",
		Pollable:    true,
		Tokens:      300_000,
		Effort:      "high",
		Verbosity:   "high",
	},
	{
		Name:        "answer_quick",
		Title:       "Quick answer with web search",
		Description: "Provide fast, concise answers optimized for speed. Best for simple lookups or urgent questions.",
		For:         "simple lookups",
		Flag:        "quick",
		Variable:    "MODEL_QUICK",
		Tokens:      10_000,
		Effort:      "low",
		Verbosity:   "low",
	},
}

// TokensOf returns how many tokens a call of a tool usually takes.
func TokensOf(name string) int64 {
	for _, tool := range Tools {
		if tool.Name == name {
			return tool.Tokens
		}
	}
	return Tools[0].Tokens
}

// OfTools returns what of says about each tool, in the order of Tools.
func OfTools(of func(Tool) string) (all []string) {
	for _, tool := range Tools {
		all = append(all, of(tool))
	}
	return all
}
