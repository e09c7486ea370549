package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// The API writes a response as a list of items, and a stream tells of each item several times: that
// the item begins, each piece of its text, the item as a whole, and the whole response at the end.
// The accumulator passes each piece of text on once, as soon as any event has it. For this it
// numbers the items, and keeps for each text the block that the call sees, with what was sent of
// it:
//
//	event                                    item  block  sent       the call gets
//	output_item.added   index 0, rs_1        1     0                 BlockStart 0 thinking
//	output_item.done    index 0, rs_1        1     0                 BlockStop 0
//	output_item.added   index 1, msg_1       2                       (a message has a block for each text)
//	content_part.added  index 1, content 0   2     1                 BlockStart 1 text
//	output_text.delta   "Par"                2     1      "Par"      BlockDelta 1 "Par"
//	output_text.delta   "is"                 2     1      "Paris"    BlockDelta 1 "is"
//	output_item.done    "Paris."             2     1      "Paris."   BlockDelta 1 "."
//	                                                                 BlockStop 1
//	completed           rs_1, msg_1                                  (both items were complete)
//
// If the connection breaks before output_item.done, the block stops after "Paris". If the last
// event has no output, the response gets the items 1 and 2.

// itemNumber numbers the items of a stream from 1 on, in the order in which they begin. The numbers
// of the API do not serve: some servers give an item another id in each event, or all items the
// output_index 0.
type itemNumber int

const unknownItem itemNumber = 0

// accumulator turns the events of one stream into events of a call and, at the end of the stream,
// into the response. Unknown events and items have no blocks; the response keeps the items.
//
// While the stream is read, the numbers in byIndex, byID, items, done, blocks and texts are at most
// last. At its end, completeOutput gives higher numbers to items that only the final output has. A
// block is in blocks and in order from its start on, also after its stop.
type accumulator struct {
	call *call.Call
	log  func(rawJSON) // writes what came back to the debug log

	event streamEvent // the current one

	last    itemNumber
	byIndex map[float64]itemNumber // the current item of each output_index
	byID    map[string]itemNumber
	items   map[itemNumber]call.Item // as the last event with the item says
	done    map[itemNumber]string    // the texts of the items that are complete
	blocks  map[blockKey]*block
	order   []*block
	texts   map[itemNumber][]*block // of messages

	background background     // whether the response runs without its connection
	final      *call.Response // the response after its end, also if it failed; nil: it has not ended

	size        int // bytes of the events so far
	elements    int // of the complete items
	annotations int // in events of their own

	created call.Response // as its first event says

	// Of the connection.
	failure  *call.Error // without a kind, with the best message so far; nil: none
	giveUp   func()      // ends the connection
	giveUpAt time.Time   // when the connection is given up, after failure or "[DONE]"; zero: never
}

// newAccumulator returns an accumulator that writes what came back to the debug log.
func (cl *Client) newAccumulator(ctx context.Context, c *call.Call) *accumulator {
	return &accumulator{
		call: c,
		log: func(from rawJSON) {
			cl.logBody(ctx, "openai(client): response", from)
		},
		byIndex: map[float64]itemNumber{},
		byID:    map[string]itemNumber{},
		items:   map[itemNumber]call.Item{},
		done:    map[itemNumber]string{},
		blocks:  map[blockKey]*block{},
		texts:   map[itemNumber][]*block{},
	}
}

// detailTime is how long a stream may go on after a failure that names no kind, and after "[DONE]".
const detailTime = 2 * time.Second

// read reads a stream up to the event that ends it; docs/spec.md has a table of the ends. Events
// without a JSON object are skipped: some servers send them to keep a stream open.
//
// Some servers end a stream without such an event. Then the response is what was streamed, if every
// item is complete and the last one is an answer. A response that runs in the background is
// fetched.
func (a *accumulator) read(ctx context.Context, stream *bufio.Reader) (*call.Response, error) {
	var buf bytes.Buffer // of each event
	var err error
	for ctx.Err() == nil { // the buffer may hold more events
		var data []byte
		data, err = readEvent(stream, &buf)
		if data == nil {
			break
		}
		a.size += len(data)
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			a.endSoon()
		}
		switch {
		case len(data) > maxEvent:
			return nil, call.TooLarge("an event of the answer is larger than 8 MiB")
		case a.size > maxBody: // over several connections
			return nil, call.TooLarge(tooLong)
		case !isObject(data):
			continue
		}

		r, err := a.handleEvent(data)
		if r != nil || err != nil {
			return r, err
		}
	}

	err = cmp.Or(err, ctx.Err())
	over := err == nil || !a.giveUpAt.IsZero() // the latter after "[DONE]", or a failure
	switch {
	case a.failure != nil:
		return nil, a.failure
	case over && !a.running() && a.isAnswered():
		return a.finishStreamed()
	}
	return nil, cmp.Or(err, errors.New("the stream ended before the response did"))
}

// handleEvent handles one event. An event that ends the stream has a response or an error.
func (a *accumulator) handleEvent(data []byte) (*call.Response, error) {
	ev := &a.event
	err := ev.decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	a.background.note(ev)
	switch {
	case a.background.skips(ev):
		return nil, nil
	case ev.isError():
		return nil, a.fail(responseError(data, streamFailed, a.call))
	}

	switch ev.Type {
	case "response.created":
		a.created = ev.Response
		a.setID(&ev.Response)

	case "response.completed", "response.incomplete", "response.failed", "response.cancelled",
		"response.done":
		r, err := a.finish(ev.lastResponse(), rawJSON{data: data, event: true})
		e, ok := errors.AsType[*call.Error](err)
		if ok {
			return nil, a.fail(e)
		}
		return r, err
	}
	ev.readHalves(data)
	a.emitEvent(ev)

	elements := max(len(a.order), len(a.byID), int(a.last), a.elements, a.annotations)
	if elements > maxElements {
		return nil, call.TooLarge(tooMany)
	}
	return nil, nil
}

// Messages of failures that say nothing.
const (
	streamFailed   = "the stream ended with an error"
	responseFailed = "the response failed"
)

// fail returns a failure of the response that names its kind. Any other failure, a KindFailed, is
// kept until the connection is given up, because the next event may say more: Azure sends
// response.failed without details, and then the error.
func (a *accumulator) fail(e *call.Error) error {
	if e.Kind != call.KindFailed || e.Code == call.CodeTooLarge {
		return e
	}
	a.endSoon()
	silent := []string{streamFailed, responseFailed}
	if a.failure == nil || slices.Contains(silent, a.failure.Message) {
		a.failure = e
	}
	return nil
}

// endSoon gives up the connection after detailTime.
func (a *accumulator) endSoon() {
	if a.giveUpAt.IsZero() {
		a.giveUpAt = time.Now().Add(detailTime)
	}
}

// running reports whether the response runs in the background.
func (a *accumulator) running() bool {
	return a.background.id != "" && a.final == nil
}

// setID notes the id of a response that runs in the background, as the API itself says.
func (a *accumulator) setID(r *call.Response) {
	if a.background.requested && a.background.id == "" && r.Background {
		a.background.id = r.ID
		a.call.Send(call.Created{ID: r.ID})
	}
}

// finishPlain makes the response of an answer that is not a stream.
func (a *accumulator) finishPlain(data []byte) (*call.Response, error) {
	r := &call.Response{}
	err := call.Decode(data, r)
	_, malformed := errors.AsType[*json.SyntaxError](err)
	cut := malformed && err.Error() == "unexpected end of JSON input"
	noState := a.running() && !slices.Contains(backgroundStates, r.Status)

	switch {
	case !isObject(data), malformed && !cut, err == nil && noState:
		return nil, notResponse(data)
	case err != nil:
		return nil, err
	}
	return a.finish(r, rawJSON{data: data})
}

// finish checks a response, and emits what was not streamed of it. A response that runs in the
// background is returned as it is.
func (a *accumulator) finish(r *call.Response, from rawJSON) (*call.Response, error) {
	other := a.background.id != "" && r.ID != "" && r.ID != a.background.id // than the one in the background
	if other {
		return nil, notResponse(from.json())
	}
	if r.Running() {
		a.setID(r)
		if a.running() {
			return r, nil
		}
	}

	a.log(from)
	r.ID = cmp.Or(r.ID, a.created.ID)
	r.Model = cmp.Or(r.Model, a.created.Model)
	a.final = r
	a.addStreamed(r)
	err := check(r, from, a.call)
	if err != nil {
		return nil, err
	}
	a.completeOutput(r.Output)
	return r, nil
}

// isAnswered reports whether every item that began is complete, and the last one is an answer.
func (a *accumulator) isAnswered() bool {
	return isAnswer(a.item(a.last)) && len(a.done) == int(a.last)
}

// finishStreamed returns the response of a stream without an event that ends it. Its usage is not
// known.
func (a *accumulator) finishStreamed() (*call.Response, error) {
	r := a.created
	r.Streamed = true
	r.Status = "completed"
	if a.items[a.last].Status == "incomplete" {
		r.Status = "incomplete"
	}
	return a.finish(&r, rawJSON{})
}
