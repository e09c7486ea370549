package call

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"

	"github.com/tidwall/gjson"
)

// Response is a response that has ended or, if llm.Client.Get returns it, one that may still run in
// the background (https://platform.openai.com/docs/api-reference/responses/object).
type Response struct {
	ID                string
	Model             string  // often a dated snapshot of the requested model
	Status            string  // "completed" or "incomplete"; from Get any status of the API
	Background        bool    // the API says that the response runs or ran in the background
	ServiceTier       string  `json:"service_tier"` // the tier that served it; "": not known
	CreatedAt         float64 `json:"created_at"`   // Unix time in seconds; 0: the API does not say
	CompletedAt       float64 `json:"completed_at"` // 0: the API does not say
	IncompleteDetails struct {
		Reason string // "max_output_tokens", "content_filter"
	} `json:"incomplete_details"`
	Output    []Item // nil: the API sent no list; an empty list is an output, too
	Usage     Usage  `json:"usage"`
	ToolUsage struct {
		WebSearch struct {
			NumRequests *float64 `json:"num_requests"` // billable; nil when the API does not say
		} `json:"web_search"`
	} `json:"tool_usage"`

	ProviderFields struct {
		SearchResults []struct {
			Type    string
			Content []Source
		} `json:"web_search_results"`
	} `json:"provider_specific_fields"` // for Items

	Failure *APIError `json:"-"` // from Get: why it failed or was cancelled; nil: neither

	RequestID string `json:"-"` // X-Request-Id header; "": none
	Streamed  bool   `json:"-"` // it came as a stream
}

// IsRunning reports whether the response still runs in the background.
func (r *Response) IsRunning() bool {
	return r.Status == "queued" || r.Status == "in_progress"
}

// Items returns the items of the output, and the searches that are beside it: streams of LiteLLM
// have Claude's searches there
// (https://github.com/BerriAI/litellm/blob/main/litellm/llms/anthropic/chat/handler.py).
func (r *Response) Items() []Item {
	list := slices.Clip(r.Output) // append copies it
	for _, result := range r.ProviderFields.SearchResults {
		if result.Type == "web_search_tool_result" && len(result.Content) > 0 {
			search := Item{Type: "web_search_call", Status: "completed"}
			search.Action.Sources = result.Content
			list = append(list, search)
		}
	}
	return list
}

// Item is an item of the output. Its type is "message", a search (IsSearch), "reasoning",
// "function_call", "custom_tool_call" or another one. Most fields are set only for the type that
// their comments name.
type Item struct {
	Type   string
	ID     string
	Status string
	Raw    json.RawMessage `json:"-"` // the JSON of the item as it was received

	Phase   string // message: "commentary", "final_answer" or ""
	Content []Part // message or reasoning
	Summary []Part // reasoning

	EncryptedContent string `json:"encrypted_content"` // reasoning that can be sent back

	Action struct { // search, in the form of a web_search_call
		Type, Query, URL string
		Queries          []string
		Sources          []Source
	}

	CallID    string `json:"call_id"` // function_call or custom_tool_call
	Name      string // the function or the custom tool
	Arguments string // function_call
	Input     string // custom_tool_call
}

// Part is a part of a message or of reasoning.
type Part struct {
	Type        string // "output_text", "text", "refusal" or another one
	Text        string
	Refusal     string
	Annotations []Source
}

// Source is a page or, without a URL, a source that has only a name. An annotation cites a page
// only if it IsCitation.
type Source struct {
	Type, URL, Name, Title string

	// What Perplexity tells of a page that its search found.
	Number float64 `json:"id"` // by which the text cites the page: "[7]"; 0: it has none
	Date   string  // of publication; "": not known

	PageAge string `json:"page_age"` // what Claude has as Date, such as "April 30, 2025"

	PublishTime string `json:"publish_time"` // what annotations of Ark have: "2025年04月08日 10:30:00(CST) 星期二"

	// URLCitation contains the URL and the title if a server writes annotations in the form of the
	// Chat Completions API.
	URLCitation struct{ URL, Title string } `json:"url_citation"`
}

// IsCitation reports whether an annotation cites a page. The second type is that of Claude's
// annotations, which gateways pass on
// (https://github.com/router-for-me/CLIProxyAPI/tree/main/internal/translator/claude).
func (s Source) IsCitation() bool {
	return s.Type == "url_citation" || s.Type == "web_search_result_location"
}

// UnmarshalJSON keeps the raw JSON, and gives any search the Action of a web_search_call.
func (i *Item) UnmarshalJSON(data []byte) error {
	type fields Item
	i.Raw = bytes.Clone(data)
	err := DecodeLenient(data, (*fields)(i))
	form := searchItems[i.Type]
	if err != nil || form.pages == "" {
		return err
	}

	i.Action.Type = cmp.Or(form.action, i.Action.Type)
	read := func(member string, v any) {
		_ = DecodeLenient([]byte(gjson.GetBytes(data, member).Raw), v) // empty without the member
	}
	if len(i.Action.Sources) == 0 {
		read(form.pages, &i.Action.Sources)
	}
	read(form.queries, &i.Action.Queries)
	if form.action == "open_page" && len(i.Action.Sources) > 0 {
		i.Action.URL = i.Action.Sources[0].URL
	}
	return nil
}

// searchItems are the types of items that are a search. For an empty string the item has that part,
// if any, in its Action.
var searchItems = map[string]struct {
	action         string // the Action.Type that the item gets
	pages, queries string // the names of its members with the pages and the queries
}{
	// The pages are in the results if a gateway has them from Claude (see Source.IsCitation).
	"web_search_call": {"", "results", ""},

	// https://openrouter.ai/docs/guides/features/server-tools/web-search
	"openrouter:web_search": {},

	// https://docs.perplexity.ai/docs/agent-api/output-control,
	// https://github.com/vercel/ai/tree/main/packages/perplexity/src/__fixtures__
	"search_results":    {"search", "results", "queries"},
	"fetch_url_results": {"open_page", "contents", ""},
}

// IsSearch reports whether the item is a search, or reads pages of one.
func (i *Item) IsSearch() bool {
	_, ok := searchItems[i.Type]
	return ok
}

// IsText reports whether the part is a text, and not a refusal, for example.
func (p Part) IsText() bool {
	return p.Type == "output_text" || p.Type == "text"
}

// InputItems returns the output as input items of the next request. Each item is the raw JSON that
// was received, so items of unknown types survive. Reasoning is left out if it has no encrypted
// content, or if no other item follows it: the API would refuse it.
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

// Usage counts tokens. Cached (read from the cache) and CacheWrite (written to it) are parts of
// Input, and Reasoning is a part of Output. Usage is also an Event: ask --events prints its JSON.
type Usage struct {
	Input            int64  `json:"input_tokens"`
	Cached           int64  `json:"-"`
	CacheWrite       int64  `json:"-"`
	Output           int64  `json:"output_tokens"`
	Reasoning        int64  `json:"-"`
	Total            int64  `json:"total_tokens"`
	ReportedSearches *int64 `json:"-"` // billable searches of one response; nil: not reported here
}

// AddTokens adds n times the tokens of v to u. It does not add ReportedSearches: the searches of
// all responses are in Reported.
func (u *Usage) AddTokens(n int64, v Usage) {
	u.Input += n * v.Input
	u.Cached += n * v.Cached
	u.CacheWrite += n * v.CacheWrite
	u.Output += n * v.Output
	u.Reasoning += n * v.Reasoning
	u.Total += n * v.Total
}

// UnmarshalJSON reads the usage of a response. It accepts what some servers write: numbers such as
// 3.0, the names of the Chat Completions API, and the searches of OpenRouter
// (https://openrouter.ai/docs/guides/features/server-tools/web-search), of xAI
// (https://docs.x.ai/developers/tools/tool-usage-details.md), of Perplexity
// (https://github.com/vercel/ai/tree/main/packages/perplexity/src/__fixtures__) and of Ark
// (https://github.com/volcengine/volcengine-python-sdk). Values that are no number, or negative, count
// as 0. The error is always nil.
func (u *Usage) UnmarshalJSON(data []byte) error {
	const maxExact = 1 << 53 // a float64 holds every integer up to it
	count := func(paths ...string) int64 {
		for _, path := range paths {
			n := gjson.GetBytes(data, path).Num
			if n > 0 {
				return int64(min(n, maxExact))
			}
		}
		return 0
	}
	isNumber := func(path string) bool { return gjson.GetBytes(data, path).Type == gjson.Number }

	u.Input = count("input_tokens", "prompt_tokens")
	u.Cached = count("input_tokens_details.cached_tokens", "prompt_tokens_details.cached_tokens")
	u.CacheWrite = count("input_tokens_details.cache_write_tokens",
		"input_tokens_details.cache_creation_input_tokens")
	u.Output = count("output_tokens", "completion_tokens")
	u.Reasoning = count("output_tokens_details.reasoning_tokens",
		"completion_tokens_details.reasoning_tokens")
	u.Total = cmp.Or(count("total_tokens"), u.Input+u.Output)
	if u.Input+u.Output == 0 { // only the total is known, and a quota counts Input and Output
		u.Input = u.Total
	}
	searches := []string{
		"server_tool_use_details.web_search_requests",
		"server_tool_use.web_search_requests",
		"server_side_tool_usage_details.web_search_calls",
		"tool_calls_details.search_web.invocation",
		"tool_usage.web_search",
	}
	n := count(searches...)
	if n > 0 || u.Total > 0 && slices.ContainsFunc(searches, isNumber) { // else nothing is reported yet
		u.ReportedSearches = new(n)
	}
	return nil
}

// maxCommas bounds the commas in the JSON of a response, and so its elements, before the JSON is
// decoded: a small text with many elements becomes large in memory. The longest answers have a few
// ten thousand commas.
const maxCommas = 200_000

// DecodeLenient is json.Unmarshal, but leaves out members that have an unexpected type: servers
// differ in members that no answer needs. JSON with too many elements is the error TooLargeError.
func DecodeLenient(data []byte, v any) error {
	if bytes.Count(data, []byte(",")) > maxCommas {
		return TooLargeError("the answer has more than 200,000 commas")
	}

	err := json.Unmarshal(data, v)
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok {
		return nil
	}
	return err
}
