package llm

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// try is a call in progress.
type try struct {
	client  *Client
	model   string
	body    editor
	feed    *feed
	attempt int // from 1 on
}

// run sends the request until the API takes its parameters, and reads the
// answer. Dropping a refused parameter is not a retry; each pass takes something
// out of the body, so the loop ends.
func (t *try) run(ctx context.Context) (*Response, *Error) {
	for {
		r, err := t.send(ctx)
		if err == nil {
			return r, nil
		}
		e := t.client.toError(ctx, err)
		e.Attempts = t.attempt
		if strings.HasPrefix(e.Param, "tools") && t.body.get("reasoning.effort").Str == "minimal" {
			e.Message = "reasoning_effort minimal cannot be used with web search, choose low or higher: " + e.Message
		}
		t.client.logError(ctx, e)
		p, ok := t.body.refusedBy(e)
		if !ok {
			return nil, e
		}
		t.body.refuse(p)
		if t.client.refused.add(t.model, p) {
			t.client.log.Warn("the API refuses a parameter: going on without it",
				"model", t.model, "param", p.String(), "reason", text.Truncate(e.Message, 200))
		}
	}
}

// send makes one request and reads its answer: a stream, or the plain response
// of a call or a server that does not stream.
func (t *try) send(ctx context.Context) (*Response, error) {
	if t.body.err != nil {
		return nil, t.body.err
	}
	var params responses.ResponseNewParams
	param.SetJSON(t.body.data, &params)
	var resp *http.Response
	var stream *ssestream.Stream[responses.ResponseStreamEventUnion]
	var err error
	if t.body.get("stream").Bool() {
		stream = t.client.api.NewStreaming(ctx, params, option.WithResponseInto(&resp), option.WithHeader("Accept", "text/event-stream"))
		err = stream.Err()
	} else if _, err = t.client.api.New(ctx, params, option.WithResponseBodyInto(&resp)); err == nil {
		stream = ssestream.NewStream[responses.ResponseStreamEventUnion](ssestream.NewDecoder(resp), nil)
	}
	if resp != nil && resp.StatusCode >= 400 {
		return nil, statusError(resp)
	}
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	var r *Response
	if isStream(resp) {
		r, err = newFold(t.feed).read(stream)
	} else {
		var data []byte
		if data, err = io.ReadAll(resp.Body); err == nil {
			t.client.logBody(ctx, "openai(client): response", string(data))
			r, err = decodeResponse(data, resp.Header.Get("Content-Type"))
		}
		if err == nil {
			t.feed.replay(r)
		}
	}
	if err != nil {
		e := answerError(err)
		e.Status, e.RequestID = resp.StatusCode, requestID(resp)
		return nil, e
	}
	if isStream(resp) {
		t.client.logBody(ctx, "openai(client): response", r.RawJSON())
	}
	r.RequestID = t.client.redact.Redact(requestID(resp))
	return r, nil
}

// refusal names a parameter that a model, an organization or a compatible
// server does not take; element is one entry of a list.
type refusal struct{ param, element string }

func (p refusal) String() string { return strings.TrimSpace(p.param + " " + p.element) }

// refusals remembers, for the life of a Client, what each model refused.
type refusals struct {
	mu      sync.Mutex
	byModel map[string][]refusal
}

func (r *refusals) of(model string) []refusal {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.byModel[model])
}

// add remembers p and reports whether it is new.
func (r *refusals) add(model string, p refusal) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if slices.Contains(r.byModel[model], p) {
		return false
	}
	if r.byModel == nil {
		r.byModel = map[string][]refusal{}
	}
	r.byModel[model] = append(r.byModel[model], p)
	return true
}

// refusedBy finds the parameter of the body that a 400 names and that an answer
// can do without. tools is not one: an answer without search is not the one
// that was asked for.
func (b *editor) refusedBy(e *Error) (refusal, bool) {
	if e.Status != http.StatusBadRequest || e.Kind != KindParameter && e.Kind != KindUnverified {
		return refusal{}, false
	}
	switch e.Param {
	case "stream", "stream_options", "store", "parallel_tool_calls", "service_tier", "max_tool_calls",
		"reasoning", "reasoning.effort", "reasoning.summary", "text", "text.verbosity":
		return refusal{param: e.Param}, b.get(e.Param).Exists()
	}
	return b.refusedInclude(e)
}

// refusedInclude finds the element of include that a 400 is about: by index
// (include[0], include.0), by its name, or as the first one that the message
// mentions; the message may go on to list the values that are fine. Without an
// element the whole list is refused.
func (b *editor) refusedInclude(e *Error) (refusal, bool) {
	list := b.get("include").Array()
	named := func(name string) bool {
		return slices.ContainsFunc(list, func(r gjson.Result) bool { return r.Str == name })
	}
	if named(e.Param) {
		return refusal{"include", e.Param}, true
	}
	index, ok := strings.CutPrefix(e.Param, "include")
	if !ok || len(list) == 0 || index != "" && index[0] != '[' && index[0] != '.' {
		return refusal{}, false
	}
	if i, err := strconv.Atoi(strings.Trim(index, "[].")); err == nil && i >= 0 && i < len(list) {
		return refusal{"include", list[i].Str}, true
	}
	// The API writes "Encrypted content" for reasoning.encrypted_content.
	words := strings.ReplaceAll(strings.ToLower(e.Message), "_", " ")
	found, at := "", len(words)
	for _, r := range list {
		last := r.Str[strings.LastIndex(r.Str, ".")+1:]
		if i := strings.Index(words, strings.ReplaceAll(last, "_", " ")); i >= 0 && i < at {
			found, at = r.Str, i
		}
	}
	return refusal{"include", found}, true
}

// refuse takes p out of the body.
func (b *editor) refuse(p refusal) {
	if p.param == "stream" {
		b.drop("stream_options")
	}
	if p.element == "" {
		b.drop(p.param)
		return
	}
	for i, r := range b.get(p.param).Array() {
		if r.Str == p.element {
			b.drop(p.param + "." + strconv.Itoa(i))
			return
		}
	}
}

// toError makes an *Error of whatever ended a try. A context that is over is
// the cause of what broke because of it.
func (c *Client) toError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = connectionError(err)
	}
	for _, s := range []*string{&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.body} {
		*s = c.redact.Redact(*s)
	}
	return e
}
