package answer

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// The questions of a second request.
const (
	askForText    = "You wrote no answer. Write it now, from what you have found, in the language of my question."
	askForSources = "Your answer rests on a web search but cites nothing. Write the whole answer again and cite the pages that it rests on."
)

// converse sends the request and, up to RequeryAttempts times, asks again in the same conversation.
// The API stores nothing: the whole output goes back, reasoning included.
func (a *Answerer) converse(ctx context.Context, req llm.Request, watch func(llm.Event)) (*reading, error) {
	r := &reading{}
	for attempt := 0; ; attempt++ {
		resp, err := a.respond(ctx, req, watch)
		if err != nil && (r.last == nil || errors.Is(ctx.Err(), context.Canceled)) {
			return nil, err
		}
		if err != nil {
			// The first answer is still usable, or its lack of text is the better error.
			a.o.Logger.WarnContext(ctx, "answer: asking again", "error", err)
			return r, nil
		}
		r.add(resp)
		follow := ""
		switch {
		case attempt >= a.o.RequeryAttempts:
		case r.noText:
			follow = askForText
		case r.searched && len(r.sources(a.blocked)) == 0:
			follow = askForSources
		}
		if follow == "" {
			return r, nil
		}
		a.o.Logger.DebugContext(ctx, "answer: asking again", "attempt", attempt+1, "reason", follow)
		req.Input = append(slices.Clip(req.Input), resp.InputItems()...)
		req.Input = append(req.Input, llm.UserMessage(follow))
		req.FirstBlock = resp.Blocks
	}
}

// respond sends one request. The end of its events is left out: Ask sends that of all requests.
func (a *Answerer) respond(ctx context.Context, req llm.Request, watch func(llm.Event)) (r *llm.Response, err error) {
	if watch == nil {
		return a.o.Client.Create(ctx, req) // makes no events
	}
	for ev, err := range a.o.Client.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case llm.Usage:
		case llm.Done:
			r = ev.Response
		default:
			watch(ev)
		}
	}
	return r, nil
}

// Stage says in words what an event means for a status line: "thinking",
// "searching" and the query, "reading" and the URL, "retrying (2): the reason".
// what is "" until it is known, and stage is "" if the event changes nothing.
func Stage(ev llm.Event) (stage, what string) {
	switch e := ev.(type) {
	case llm.BlockStart:
		switch e.Kind {
		case llm.BlockThinking:
			return "thinking", ""
		case llm.BlockSearch:
			return "searching", ""
		}
	case llm.Search:
		if e.Action != "search" && e.URL != "" {
			return "reading", text.OneLine(e.URL)
		}
		return "searching", text.OneLine(e.Query)
	case llm.Waiting:
		return fmt.Sprintf("waiting for the rate limit (%d ahead)", e.Ahead), ""
	case llm.Retrying:
		return fmt.Sprintf("retrying (%d): %v", e.Attempt, e.Err.Kind), ""
	}
	return "", ""
}
