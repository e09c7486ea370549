package answer

import (
	"context"
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

// converse sends the request and, up to RequeryAttempts times, asks again in
// the same conversation. The API stores nothing: the whole output goes back,
// reasoning included. It returns the responses in order, at least one.
func (a *Answerer) converse(ctx context.Context, req llm.Request, w *watcher) ([]*llm.Response, error) {
	var rounds []*llm.Response
	for {
		r, err := a.respond(ctx, req, w)
		if err != nil && len(rounds) == 0 {
			return nil, err
		}
		if err != nil {
			// The first answer is still usable, or its lack of text is the
			// better error.
			a.o.Logger.WarnContext(ctx, "answer: asking again", "error", err)
			return rounds, nil
		}
		rounds = append(rounds, r)
		follow := a.followUp(rounds)
		if follow == "" || len(rounds) > a.o.RequeryAttempts {
			return rounds, nil
		}
		a.o.Logger.DebugContext(ctx, "answer: asking again", "attempt", len(rounds), "reason", follow)
		input := append(slices.Clip(req.Params.Input.OfInputItemList), r.InputItems()...)
		req.Params.Input.OfInputItemList = append(input, userMessage(follow))
	}
}

// followUp returns what to ask after the last round, or "".
func (a *Answerer) followUp(rounds []*llm.Response) string {
	spoken, all := finalMessages(rounds[len(rounds)-1].Output), allItems(rounds)
	switch text := textOf(spoken); {
	case text == "":
		return askForText
	case usedSearch(all) && len(a.citations(text, spoken, all)) == 0:
		return askForSources
	}
	return ""
}

// respond sends one request, as a stream when there is a watcher unless the
// options say otherwise.
func (a *Answerer) respond(ctx context.Context, req llm.Request, w *watcher) (r *llm.Response, err error) {
	if a.o.Stream == "false" || a.o.Stream != "true" && w.watch == nil {
		if r, err = a.o.Client.Create(ctx, req); err == nil {
			for ev := range llm.Replay(r) {
				w.see(ev)
			}
		}
		return r, err
	}
	for ev, err := range a.o.Client.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		if done, ok := ev.(llm.Done); ok {
			r = done.Response
		}
		w.see(ev)
	}
	return r, nil
}

// watcher passes the events of several requests on as those of one.
type watcher struct {
	watch func(llm.Event) // nil: not watched
	base  int             // number of the first block of the current request
	next  int             // number of the next block
	done  llm.Done        // of the last response
}

func (w *watcher) see(ev llm.Event) {
	switch e := ev.(type) {
	case llm.BlockStart:
		e.Index += w.base
		w.next = e.Index + 1
		ev = e
	case llm.BlockDelta:
		e.Index += w.base
		ev = e
	case llm.BlockStop:
		e.Index += w.base
		ev = e
	case llm.Usage: // Ask sends that of all requests
		return
	case llm.Done:
		w.done, w.base = e, w.next
		return
	}
	if w.watch != nil {
		w.watch(ev)
	}
}

// Stage says in words what an event means for a status line: "thinking",
// "searching" and the query, "reading" and the URL, "retrying (2): the reason".
// what is "" until it is known, and stage is "" if the event changes nothing.
func Stage(ev llm.Event) (stage, what string) {
	switch e := ev.(type) {
	case llm.BlockStart:
		return map[string]string{llm.BlockThinking: "thinking", llm.BlockSearch: "searching"}[e.Kind], ""
	case llm.Search:
		if e.Action != "search" && e.URL != "" {
			return "reading", text.OneLine(e.URL)
		}
		return "searching", text.OneLine(e.Query)
	case llm.Retrying:
		return fmt.Sprintf("retrying (%d): %v", e.Attempt, e.Err.Kind), ""
	}
	return "", ""
}
