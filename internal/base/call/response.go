package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
)

// Response is a finished response, or from Get one that runs in the background
// (https://platform.openai.com/docs/api-reference/responses/object).
type Response struct {
	ID                string
	Model             string  // often a dated snapshot of the one that was asked
	Status            string  // "completed" or "incomplete"; in the background any of the API's
	Background        bool    // runs or ran in the background, says the API
	ServiceTier       string  `json:"service_tier"` // that served it, "" if the API does not say
	CreatedAt         float64 `json:"created_at"`   // Unix time in seconds
	CompletedAt       float64 `json:"completed_at"` // 0: the API does not say
	IncompleteDetails struct {
		Reason string // "max_output_tokens", "content_filter"
	} `json:"incomplete_details"`
	Output    []Item // nil: the API sent no list; an empty list is an output
	Tokens    Usage  `json:"usage"` // of this response; llm.Client.Run: of all rounds
	ToolUsage struct {
		WebSearch struct {
			NumRequests *float64 `json:"num_requests"` // billable; nil when the API does not say
		} `json:"web_search"`
	} `json:"tool_usage"`

	Failure *Error `json:"-"` // from Get: why it failed or was cancelled, nil if it did neither

	RequestID string `json:"-"` // X-Request-Id header, "" when there is none
	Retries   int    `json:"-"` // attempts that failed before this response
	Streamed  bool   `json:"-"` // came as a stream
}

// Running reports whether the response runs in the background.
func (r *Response) Running() bool {
	return r.Status == "queued" || r.Status == "in_progress"
}

// Item is an item of the output. Which fields are set depends on its type: "message", a search
// (IsSearch), "reasoning", "function_call", "custom_tool_call" or another one.
type Item struct {
	Type   string
	ID     string
	Status string
	Raw    json.RawMessage `json:"-"` // as it was received

	Phase   string // of a message: "commentary", "final_answer" or ""
	Content []Part // of a message, or of reasoning
	Summary []Part // of reasoning

	EncryptedContent string `json:"encrypted_content"` // reasoning that can be sent back

	Action struct { // of a search
		Type, Query, URL string
		Queries          []string
		Sources          []Source
	}

	CallID    string `json:"call_id"` // of a tool call
	Name      string // of its tool
	Arguments string // of a function
	Input     string // of a custom tool
}

// Part is a part of a message.
type Part struct {
	Type        string // "output_text", "text", "refusal" or another one
	Text        string
	Refusal     string
	Annotations []Source
}

// Source is a page or, without a URL, a source with a name. Among annotations
// its type is url_citation.
type Source struct {
	Type, URL, Name, Title string

	// URLCitation has URL and title where servers write annotations as in chat completions.
	URLCitation struct{ URL, Title string } `json:"url_citation"`
}

// UnmarshalJSON keeps the raw JSON, and gives any search the Action of a web_search_call.
func (i *Item) UnmarshalJSON(data []byte) error {
	type fields Item
	i.Raw = bytes.Clone(data)
	err := Decode(data, (*fields)(i))
	form := searchItems[i.Type]
	if err != nil || form.pages == "" {
		return err
	}

	i.Action.Type = form.action
	read := func(member string, v any) {
		_ = Decode([]byte(gjson.GetBytes(data, member).Raw), v) // without the member there are none
	}
	read(form.pages, &i.Action.Sources)
	read(form.queries, &i.Action.Queries)
	if form.action == "open_page" && len(i.Action.Sources) > 0 {
		i.Action.URL = i.Action.Sources[0].URL
	}
	return nil
}

// searchItems are the types of items that are a search. A type without pages has the members of a
// web_search_call.
var searchItems = map[string]struct {
	action         string // as in Action.Type
	pages, queries string // members with lists
}{
	"web_search_call": {},

	// https://openrouter.ai/docs/guides/features/server-tools/web-search
	"openrouter:web_search": {},

	// https://docs.perplexity.ai/docs/agent-api/output-control
	"search_results":    {"search", "results", "queries"},
	"fetch_url_results": {"open_page", "contents", ""},
}

// IsSearch reports whether the item is a search, or reads pages of one.
func (i *Item) IsSearch() bool {
	_, ok := searchItems[i.Type]
	return ok
}

// IsText reports whether the part has text.
func (p Part) IsText() bool {
	return p.Type == "output_text" || p.Type == "text"
}

// InputItems returns the output as input of the next request. Each item is sent as the raw JSON
// that was received, so items of unknown types survive. The API refuses reasoning without encrypted
// content, and reasoning that no other item follows: it is left out.
func (r *Response) InputItems() []json.RawMessage {
	var items []json.RawMessage
	for _, item := range slices.Backward(r.Output) {
		usable := item.EncryptedContent != "" && len(items) > 0
		if item.Type == "reasoning" && !usable {
			continue
		}
		items = append(items, item.Raw)
	}
	slices.Reverse(items)
	return items
}

// Usage counts tokens. Cached, which was read from the cache, and CacheWrite are parts of Input,
// Reasoning is part of Output. Its JSON is that of the event.
type Usage struct {
	Input      int64 `json:"input_tokens"`
	Cached     int64 `json:"-"`
	CacheWrite int64 `json:"-"`
	Output     int64 `json:"output_tokens"`
	Reasoning  int64 `json:"-"`
	Total      int64 `json:"total_tokens"`
	Searches   int64 `json:"-"` // of one response: billable ones, where servers count them here
}

// Add adds the tokens of v to u. Used.Searches has the searches of all responses.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Cached += v.Cached
	u.CacheWrite += v.CacheWrite
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Total += v.Total
}

// UnmarshalJSON reads the usage of a response. Some servers write 3.0; other values count as 0. Some
// have the names of chat completions, and OpenRouter counts searches there
// (https://openrouter.ai/docs/guides/features/server-tools/web-search).
func (u *Usage) UnmarshalJSON(data []byte) error {
	const most = 1 << 53 // a float64 holds every integer up to it
	count := func(paths ...string) int64 {
		for _, path := range paths {
			n := gjson.GetBytes(data, path).Num
			if n > 0 {
				return int64(min(n, most))
			}
		}
		return 0
	}

	u.Input = count("input_tokens", "prompt_tokens")
	u.Cached = count("input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens")
	u.CacheWrite = count("input_tokens_details.cache_write_tokens")
	u.Output = count("output_tokens", "completion_tokens")
	u.Reasoning = count("output_tokens_details.reasoning_tokens",
		"completion_tokens_details.reasoning_tokens")
	u.Total = cmp.Or(count("total_tokens"), u.Input+u.Output)
	u.Searches = count("server_tool_use.web_search_requests")
	return nil
}

// maxCommas bounds the JSON of a response before it is decoded, so that a small one cannot become
// large in memory: commas separate elements. The longest texts have a few ten thousand.
const maxCommas = 200_000

// Decode is json.Unmarshal, but leaves out members whose type is not the expected one: servers
// differ in members that no answer needs.
func Decode(data []byte, v any) error {
	if bytes.Count(data, []byte(",")) > maxCommas {
		return TooLarge("the answer has more than 200,000 commas")
	}

	err := json.Unmarshal(data, v)
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok {
		return nil
	}
	return err
}
