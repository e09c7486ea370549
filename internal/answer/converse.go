package answer

import (
	"context"
	"errors"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// What the model is told when it has to answer again.
const (
	askForText    = "You wrote no answer. Write it now, from what you have found, in the language of my question."
	askForSources = "Your answer rests on a web search but cites nothing. Write the whole answer again and cite the pages that it rests on."
)

// converse asks once and, up to policy.requery_attempts times, again in the
// same conversation when there is no text or a searched answer names no source.
// Nothing is stored at the API: all output goes back, reasoning included. It
// returns the responses in order, at least one.
func (a *Answerer) converse(ctx context.Context, req llm.Request, w *watched) ([]*llm.Response, error) {
	var rounds []*llm.Response
	for {
		resp, err := a.respond(ctx, req, w)
		if err != nil {
			// Asking again may fail or run out of time: the answer that is there
			// is good enough then, and why there is none says more than what
			// came of the second try. A call that was cancelled wants neither.
			if len(rounds) > 0 && !errors.Is(ctx.Err(), context.Canceled) {
				a.o.Logger.WarnContext(ctx, "answer: asking again: "+a.Explain("", err))
				w.end(rounds)
				return rounds, nil
			}
			return nil, err
		}
		rounds = append(rounds, resp)
		follow := ""
		if len(rounds) <= a.o.RequeryAttempts {
			follow = followUp(rounds)
		}
		if follow == "" {
			w.end(rounds)
			return rounds, nil
		}
		a.o.Logger.DebugContext(ctx, "answer: asking again", "attempt", len(rounds), "reason", follow)
		req.Input = append(slices.Clip(req.Input), resp.Output...)
		req.Input = append(req.Input, llm.UserText(follow))
	}
}

// followUp says what to ask after the last round, or "" when it is good, or
// when it ends in a call that nobody can answer.
func followUp(rounds []*llm.Response) string {
	last := rounds[len(rounds)-1].Output
	if slices.ContainsFunc(last, isCall) {
		return ""
	}
	messages := spoken(last)
	if textOf(messages) == "" {
		return askForText
	}
	searches, all := allSearches(rounds), allMessages(rounds)
	if (len(searches) > 0 || citesURL(all)) && len(citations(citing(messages, all), searches, 1, "")) == 0 {
		return askForSources
	}
	return ""
}

func isCall(it llm.Item) bool {
	_, ok := it.(*llm.FunctionCall)
	return ok
}

// latest returns the last response that has text, else the last one.
func latest(rounds []*llm.Response) *llm.Response {
	for _, r := range slices.Backward(rounds) {
		if textOf(spoken(r.Output)) != "" {
			return r
		}
	}
	return rounds[len(rounds)-1]
}

// allSearches returns the searches of all rounds: an answer that was asked for
// again still rests on what was found before.
func allSearches(rounds []*llm.Response) []*llm.Search {
	var searches []*llm.Search
	for _, r := range rounds {
		searches = append(searches, searchesIn(r.Output)...)
	}
	return searches
}

// allMessages returns the messages of all rounds, commentary too.
func allMessages(rounds []*llm.Response) []*llm.Message {
	var messages []*llm.Message
	for _, r := range rounds {
		messages = append(messages, messagesIn(r.Output)...)
	}
	return messages
}

// respond makes one request: as a stream when somebody watches, unless the
// configuration wants otherwise.
func (a *Answerer) respond(ctx context.Context, req llm.Request, w *watched) (*llm.Response, error) {
	if a.o.Stream == "false" || a.o.Stream != "true" && w.watch == nil {
		return a.create(ctx, req, w)
	}
	var resp *llm.Response
	for ev, err := range a.o.Client.Stream(ctx, req) {
		if err != nil {
			return nil, err
		}
		if e, ok := ev.(llm.Done); ok {
			resp = e.Response
		}
		w.see(ev)
	}
	if resp == nil {
		return nil, errors.New("reading the stream: it ended without a response")
	}
	return resp, nil
}

// create makes a plain request; a watcher sees what came of it.
func (a *Answerer) create(ctx context.Context, req llm.Request, w *watched) (*llm.Response, error) {
	resp, err := a.o.Client.Create(ctx, req)
	if err != nil || w.watch == nil {
		return resp, err
	}
	for ev := range llm.Replay(resp) {
		w.see(ev)
	}
	return resp, nil
}
