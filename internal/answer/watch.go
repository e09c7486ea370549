package answer

import (
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// watched is what the watcher of a question sees: one run, whatever number of
// requests it takes. Blocks are numbered through, and the end comes once.
type watched struct {
	watch func(llm.Event) // nil: nobody watches
	base  int             // number of the first block of the request under way
	next  int             // number of the next block
	done  llm.Done        // of the last response
}

// see passes on an event of the request under way. Its end is kept back: only
// the conversation knows whether another request follows.
func (w *watched) see(ev llm.Event) {
	switch e := ev.(type) {
	case llm.BlockStart:
		e.Index += w.base
		w.next = max(w.next, e.Index+1)
		ev = e
	case llm.BlockDelta:
		e.Index += w.base
		ev = e
	case llm.BlockStop:
		e.Index += w.base
		ev = e
	case llm.Usage:
		return
	case llm.Done:
		w.done, w.base = e, w.next
		return
	}
	if w.watch != nil {
		w.watch(ev)
	}
}

// Stage names what a search does, for people: searching and its query, or reading
// and the URL; what is "" while nobody knows.
func Stage(e llm.Searching) (stage, what string) {
	if e.Action != "search" && e.URL != "" {
		return "reading", e.URL
	}
	return "searching", e.Query
}

// end tells the watcher that the responses are all, and what they took.
func (w *watched) end(rounds []*llm.Response) {
	if w.watch != nil {
		w.watch(usage(rounds))
		w.watch(w.done)
	}
}
