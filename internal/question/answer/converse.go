package answer

import (
	"context"
	"errors"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// The messages with which converse asks again.
const (
	askForText = "You wrote no answer. Write it now, from what you have found, " +
		"in the language of my question."
	askForSources = "Your answer rests on a web search but cites nothing. " +
		"Write the whole answer again and cite the pages that it rests on."
)

// converse sends the request, and adds the response to f. If the response has no text or no
// sources, converse asks again in the same conversation, up to Requeries times. The API need not
// store anything, because the whole output is sent back, reasoning included.
func (a *Answerer) converse(
	ctx context.Context, c *call.Call, request call.Request, f *findings,
) error {
	for requeries := 0; ; requeries++ {
		response, err := a.options.Create(ctx, c, request)
		if err != nil {
			// With an earlier response the call has an answer, even if the API has cancelled the
			// requery. A cancelled call needs no answer. After ErrLeaveAtAPI, for which IsCancelled
			// is true, too, another process reads the end of the requery.
			if f.lastResponse == nil || call.IsCancelled(ctx) {
				return err
			}
			// If the earlier response has no text, compose returns an error that says more.
			a.options.Logger.WarnContext(ctx, "answer: asking again failed", "kind", call.KindOf(err).Label())
			return nil
		}

		f.addResponse(response)
		if requeries >= a.options.Requeries {
			return nil
		}

		var prompt string
		switch {
		case len(f.content.texts) == 0:
			prompt = askForText
		case f.searched && !f.hasSources():
			prompt = askForSources
		default:
			return nil
		}
		request.Input = append(request.Input, response.InputItems()...)
		request.Input = append(request.Input, call.UserMessage(prompt))
		// The sink of a call that can be detached returns after Tasks.noteResponse, which waits while
		// the process stops its calls. So ctx has its cause by then.
		c.Emit(call.Requesting{})
		if errors.Is(context.Cause(ctx), call.ErrLeaveAtAPI) {
			return nil // the response that has just ended is the answer: the sealed id has it
		}
	}
}
