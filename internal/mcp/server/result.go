package server

import (
	"encoding/json"
	"errors"
	"maps"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// result is the result of tools/call.
type result struct {
	mcp.ResultBase
	Content    []content       `json:"content"`
	Structured json.RawMessage `json:"structuredContent,omitempty"`
	IsError    bool            `json:"isError,omitempty"`
	Type       string          `json:"resultType,omitempty"` // only for clients that know it
}

// content is a block of text in a result.
type content struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// newResult returns a result with one text for the client of a request. The names of meta get the
// prefix of this server; with Settings.NoMeta meta is left out.
func (s *Server) newResult(req mcp.Request, body string, meta map[string]any) *result {
	r := &result{Content: []content{{"text", body}}}
	r.Meta = mcp.Meta{}
	if s.options.Settings.NoMeta {
		meta = nil
	}
	for name, value := range meta {
		r.Meta[version.Name+"/"+name] = value
	}
	if knowsResultType(req) {
		r.Type = "complete"
	}
	return r
}

// jsonResult returns a result whose text is v, encoded as a JSON object.
func (s *Server) jsonResult(req mcp.Request, v any, meta map[string]any) *result {
	body := jsonx.MarshalToString(v) // strings and numbers are always valid JSON
	r := s.newResult(req, body, meta)
	if s.options.Settings.StructuredContent {
		r.Structured = json.RawMessage(body)
	}
	return r
}

// knowsResultType reports whether the client of a request knows the member resultType. The request
// follows the version StatelessVersion, or the client has asked for this version or a later one in
// initialize, and got an older version.
func knowsResultType(req mcp.Request) bool {
	session := req.GetSession().(*mcp.ServerSession) // requests to a server have one
	p := session.InitializeParams()
	asked := p != nil && p.ProtocolVersion >= StatelessVersion
	return asked || isStateless(req.GetParams().GetMeta())
}

// resultOf returns what the client of a request gets for a call that has ended. tool is the tool of
// that call.
func (s *Server) resultOf(req mcp.Request, tool string, end tasks.State) (mcp.Result, error) {
	if end.Err != nil {
		return s.failure(req, tool, end.Err)
	}
	return s.success(req, end.Answer), nil
}

// usage is a call.Usage as _meta of a result shows it.
type usage struct {
	Input            int64  `json:"input_tokens"`
	Cached           int64  `json:"cached_tokens"`
	CacheWrite       int64  `json:"cache_write_tokens,omitempty"`
	Output           int64  `json:"output_tokens"`
	Reasoning        int64  `json:"reasoning_tokens"`
	Total            int64  `json:"total_tokens"`
	ReportedSearches *int64 `json:"-"` // _meta has searches beside usage
}

// maxStepChars bounds each search query and each URL in _meta, in characters.
const maxStepChars = 200

// success returns the result of an answer (spec §3.2): one JSON object in content[0].text.
func (s *Server) success(req mcp.Request, a *answer.Answer) *result {
	return s.jsonResult(req, a, s.metaOf(a))
}

// metaOf returns the _meta of an answer: the figures of the call, what it searched and opened, and
// the URLs of the citations whose date is the date of access.
func (s *Server) metaOf(a *answer.Answer) map[string]any {
	clean := s.options.Redactor.Line
	m := a.Meta
	meta := map[string]any{
		"usage":          usage(m.Usage),
		"resolved_model": clean(m.ResolvedModel),
		"service_tier":   clean(m.ServiceTier),
		"response_id":    clean(m.ResponseID),
		"request_id":     clean(m.RequestID),
		"searches":       m.Searches,
		"elapsed_ms":     m.Elapsed.Milliseconds(),
	}

	var accessed []string
	for _, c := range a.Citations {
		if c.IsAccessDate {
			accessed = append(accessed, c.URL)
		}
	}
	if accessed != nil {
		meta["accessed"] = accessed
	}

	if m.Cost != nil {
		meta["cost_usd"] = call.RoundUSD(*m.Cost)
	}
	if m.NearLimit != "" {
		meta["quota"] = m.NearLimit
	}
	if m.FollowUp != "" {
		meta["follow_up"] = m.FollowUp
	}

	for name, steps := range map[string][]string{
		"queries": m.Queries,
		"opened":  m.Opened,
	} {
		var list []string
		for _, step := range steps {
			list = append(list, s.options.Redactor.Truncate(step, maxStepChars))
		}
		if list != nil { // no empty list: some clients show _meta to the model
			meta[name] = list
		}
	}
	return meta
}

// failure returns why a call has no answer, with the code of spec appendix B: as a JSON-RPC error
// with data, or as a result with isError, whose _meta contains the data. The data (spec §8.2) never
// contains the content, the instructions or the key.
func (s *Server) failure(req mcp.Request, tool string, err error) (mcp.Result, error) {
	data := map[string]any{}
	clean := s.options.Redactor.Line
	var reason, message string

	if call.KindOf(err) == call.KindArguments {
		reason = clean(err.Error())
		message = tool + ": invalid arguments: " + reason
		data["reason"] = reason
	} else {
		const maxReason = 400 // characters; Explain itself bounds errors of the API
		reason = text.Truncate(clean(s.options.Explain(tool, err)), maxReason)
		message = "answer failed: " + reason
	}

	e, ok := errors.AsType[*call.APIError](err)
	if ok && s.options.Settings.Debug {
		maps.Copy(data, errorDetails(e, clean))
	}

	mode := s.clientSettings.Load().toolErrors
	asResult := mode == "result" || (mode != "protocol" && isStateless(req.GetParams().GetMeta()))
	if asResult {
		data["code"] = rpc.CodeCallFailed
		r := s.newResult(req, message, data)
		r.IsError = true
		return r, nil
	}
	data["message"] = reason
	body, _ := jsonx.Marshal(data) // strings and numbers are always valid JSON
	return nil, &jsonrpc.Error{
		Code:    rpc.CodeCallFailed,
		Message: message,
		Data:    body,
	}
}

// errorDetails returns what an error of the API says besides its message, without empty members.
func errorDetails(e *call.APIError, clean func(string) string) map[string]any {
	data := map[string]any{
		"name":       e.SDKClass(),
		"type":       clean(e.Type),
		"request_id": clean(e.RequestID),
		"status":     e.Status,
	}
	if e.Status == 0 { // the error came without an HTTP response
		data["status"] = clean(e.Code)
	}
	maps.DeleteFunc(data, func(_ string, v any) bool { return v == "" })
	return data
}
