package answer

import (
	"context"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// The questions of a second request.
const (
	askForText = "You wrote no answer. Write it now, from what you have found, " +
		"in the language of my question."
	askForSources = "Your answer rests on a web search but cites nothing. " +
		"Write the whole answer again and cite the pages that it rests on."
)

// converse sends the request and, up to RequeryAttempts times, asks again in the same conversation.
// The API stores nothing: the whole output goes back, reasoning included.
func (a *Answerer) converse(
	ctx context.Context,
	req llm.Request,
	watch func(llm.Event),
) (*reading, error) {
	r := &reading{}
	for attempt := 0; ; attempt++ {
		resp, err := a.respond(ctx, req, watch)
		if err != nil {
			if r.last == nil {
				return nil, err
			}
			// The first answer is still usable, or its lack of text is the better error.
			a.o.Logger.WarnContext(ctx, "answer: asking again", "error", err)
			return r, nil
		}

		r.add(resp)
		if attempt >= a.o.RequeryAttempts {
			return r, nil
		}
		follow := a.followUp(r)
		if follow == "" {
			return r, nil
		}

		req.Input = append(req.Input, resp.InputItems()...)
		req.Input = append(req.Input, llm.UserMessage(follow))
		req.FirstBlock = resp.Blocks
	}
}

// followUp returns the question that asks for what is missing, or "".
func (a *Answerer) followUp(r *reading) string {
	switch {
	case r.noText:
		return askForText
	case r.searched && len(r.sources(a.blocked)) == 0:
		return askForSources
	}
	return ""
}

// respond sends one request. The end of its events is left out: Ask sends that of all requests.
func (a *Answerer) respond(
	ctx context.Context,
	req llm.Request,
	watch func(llm.Event),
) (*llm.Response, error) {
	if watch == nil {
		return a.o.Client.Create(ctx, req) // makes no events
	}

	var resp *llm.Response
	for ev, err := range a.o.Client.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		switch ev := ev.(type) {
		case llm.Usage:
		case llm.Done:
			resp = ev.Response
		default:
			watch(ev)
		}
	}
	return resp, nil
}
