package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/apierror"
)

// A response is a list of items. A stream reports each item several times: its start, each piece of
// its text, the complete item, and at the end the whole response. The accumulator sends each piece
// of text to the call once, as soon as any event contains it. To do so, it keeps a streamItem for
// each item, and for each text the block that the call gets and the text that was sent. The columns
// item, block and sent show this state after the event:
//
//	event                                    item  block  sent       the call gets
//	output_item.added   index 0, rs_1        1     0                 BlockStart 0 thinking
//	output_item.done    index 0, rs_1        1     0                 BlockStop 0
//	output_item.added   index 1, msg_1       2                       (each of its texts is a block)
//	content_part.added  index 1, content 0   2     1                 BlockStart 1 text
//	output_text.delta   "Par"                2     1      "Par"      BlockDelta 1 "Par"
//	output_text.delta   "is"                 2     1      "Paris"    BlockDelta 1 "is"
//	output_item.done    "Paris."             2     1      "Paris."   BlockDelta 1 "."
//	                                                                 BlockStop 1
//	completed           rs_1, msg_1                                  (nothing: both were complete)
//
// If the connection breaks before output_item.done, the block stops after "Paris". If the response
// in the last event has no output, addStreamed gives it the items 1 and 2.

// streamItem is an item of a stream, as far as it has come. Events refer to it by its id and its
// index. Neither identifies it alone: some servers give an item a different id in each event, or
// give all items the output_index 0.
type streamItem struct {
	call.Item           // as in the latest output_item event; without such an event it has no Type
	isComplete bool     // its event output_item.done has come
	doneText   string   // the text of the complete item
	textBlocks []*block // the blocks of a message
}

// accumulator reads one response, from an object or from a stream: it turns the events of the
// stream into events of a call, and returns the response at the end. In the background the stream
// may take several connections. Events and items of unknown types start no blocks, but the response
// keeps the items. A block stays in blocks and in startedBlocks after it has stopped.
type accumulator struct {
	call *call.Call
	log  func(rawJSON) // writes what was received to the debug log

	event streamEvent // the current event, decoded into the same memory each time

	items         []*streamItem           // in the order in which they began
	byIndex       map[float64]*streamItem // the item that is being streamed at each output_index
	byID          map[string]*streamItem
	blocks        map[blockKey]*block
	startedBlocks []*block // all blocks, in the order in which they started

	background    background     // what is known of a response that runs without its connection
	endedResponse *call.Response // the response once it has ended, also if it failed; nil before

	streamBytes     int // bytes of all events so far
	elementCount    int // elements of the complete items (countElements)
	annotationCount int // annotations that came in events of their own

	created call.Response // the response in the event response.created

	// The current connection. getOnce sets these fields again for each GET.
	failure   *call.APIError // the most telling failure so far that names no kind; nil: none
	closeConn func()         // ends the connection
	endTimer  *time.Timer    // calls closeConn in detailTimeout (endSoon sets it); nil: not set
}

// newAccumulator returns an empty accumulator for a response of c. b is what is known of the
// response.
func (cl *Client) newAccumulator(c *call.Call, b background) *accumulator {
	return &accumulator{
		call:       c,
		background: b,
		log: func(from rawJSON) {
			cl.logBody("openai(client): response", from)
		},
		byIndex: map[float64]*streamItem{},
		byID:    map[string]*streamItem{},
		blocks:  map[blockKey]*block{},
	}
}

// detailTimeout is how long a stream may go on after a failure that names no kind, or after
// "[DONE]".
const detailTimeout = 2 * time.Second

// readStream reads a stream up to the event that ends the response. docs/spec.md has a table of all
// ways in which a stream may end. Events whose data is not a JSON object are skipped: some servers
// send them to keep a stream open.
//
// Some servers close a stream without an event that ends the response. If every item is complete
// and the last item is an answer, the response is what was streamed; otherwise readStream returns
// an error. It also returns an error for a response that runs in the background, of which
// exchange.follow gets the rest.
func (a *accumulator) readStream(
	ctx context.Context, stream *bufio.Reader,
) (*call.Response, error) {
	// Some servers leave out the blank line after the last event.
	ended := lineReader{io.MultiReader(stream, strings.NewReader("\n\n"))}
	events := ssestream.NewDecoder(&http.Response{Body: io.NopCloser(ended)})
	for ctx.Err() == nil && events.Next() { // stream may still have events in its buffer
		data := events.Event().Data
		a.streamBytes += len(data)
		if string(bytes.TrimSpace(data)) == "[DONE]" {
			a.endSoon()
		}
		switch {
		case len(data) > maxEvent:
			return nil, call.TooLargeError("an event of the answer is larger than 8 MiB")
		case a.streamBytes > maxBody: // of all connections of the response
			return nil, call.TooLargeError(apierror.BodyTooLarge)
		case !isObject(data):
			continue
		}

		r, err := a.handleEvent(data)
		if r != nil || err != nil {
			return r, err
		}
	}

	readErr := cmp.Or(events.Err(), ctx.Err())
	streamEnded := readErr == nil || a.endTimer != nil // after endSoon any error is the end
	switch {
	case a.failure != nil:
		return nil, a.failure
	case streamEnded && !a.runsAtAPI() && a.isAnswered():
		return a.finishStreamed()
	}
	return nil, cmp.Or(readErr, errors.New("the stream ended before the response did"))
}

// handleEvent handles one event. If the event ends the response, handleEvent returns the response
// or an error; otherwise it returns nil for both.
func (a *accumulator) handleEvent(data []byte) (*call.Response, error) {
	ev := &a.event
	err := ev.decode(data)
	if err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	a.background.nextSequence = max(a.background.nextSequence, ev.Sequence+1)
	switch {
	case ev.Sequence < a.background.resumedFrom: // read from an earlier connection
		return nil, nil
	case ev.isError():
		return nil, a.failOrKeep(apierror.FromResponse(data, streamFailed, a.call.RequestInput))
	}

	switch ev.Type {
	case "response.created":
		a.created = ev.Response
		a.noteBackground(&ev.Response)

	case "response.completed", "response.incomplete", "response.failed", "response.cancelled",
		"response.done":
		r, err := a.finish(ev.endedResponse(), rawJSON{data: data, isEvent: true})
		e, ok := errors.AsType[*call.APIError](err)
		if ok { // if failOrKeep keeps e, the stream goes on for detailTimeout
			return nil, a.failOrKeep(e)
		}
		return r, err
	}
	ev.Data = data
	a.emitEvent(ev)

	// An element may be in several of these numbers: the largest counts. checkResponse counts all
	// elements at the end.
	items := max(len(a.startedBlocks), len(a.byID), len(a.items))
	elements := max(items, a.elementCount, a.annotationCount)
	if elements > maxElements {
		return nil, call.TooLargeError(tooManyElements)
	}
	return nil, nil
}

// Messages for failures that the API does not explain.
const (
	streamFailed   = "the stream ended with an error"
	responseFailed = "the response failed"
)

// failOrKeep returns a failure that names its kind or is about the size of the response. Any other
// failure (KindFailed) is kept, and failOrKeep returns nil. The next event may say more, and has
// detailTimeout to come: Azure sends response.failed without details, and then the error.
func (a *accumulator) failOrKeep(e *call.APIError) error {
	if e.Kind != call.KindFailed || e.Code == call.CodeTooLarge {
		return e
	}
	a.endSoon()
	unexplained := []string{streamFailed, responseFailed}
	if a.failure == nil || slices.Contains(unexplained, a.failure.Message) {
		a.failure = e
	}
	return nil
}

// endSoon gives up the connection in detailTimeout. Later calls change nothing.
func (a *accumulator) endSoon() {
	if a.endTimer == nil {
		a.endTimer = time.AfterFunc(detailTimeout, a.closeConn)
	}
}

// runsAtAPI reports whether the response runs in the background: the API has named it, and has not
// reported its end.
func (a *accumulator) runsAtAPI() bool {
	return a.background.id != "" && a.endedResponse == nil
}

// refusedBeforeWork reports whether the API refuses the request before any work, so that the
// request costs nothing: err is about the key, its quota or the rate limit, no item has come, and
// no response runs in the background. Without an err it is false. OpenAI reports an exhausted
// quota in a stream, after a 200.
func (a *accumulator) refusedBeforeWork(err error) bool {
	hasItems := len(a.items) > 0 || a.endedResponse != nil && len(a.endedResponse.Output) > 0
	return call.KindOf(err).IsBeforeWork() && !hasItems && !a.runsAtAPI()
}

// noteBackground records the id of the response and emits call.ResponseNamed, once, if the
// response runs in the background: the request asked for it, and the API confirms it.
func (a *accumulator) noteBackground(r *call.Response) {
	if a.background.requested && a.background.id == "" && r.Background && r.ID != "" {
		a.background.id = r.ID
		a.call.Emit(call.ResponseNamed{ID: r.ID})
	}
}

// readObject reads the response from a body that is an object, not a stream.
func (a *accumulator) readObject(data []byte) (*call.Response, error) {
	r := &call.Response{}
	err := call.DecodeLenient(data, r)
	_, malformed := errors.AsType[*json.SyntaxError](err)
	truncated := malformed && err.Error() == "unexpected end of JSON input"
	unknownState := a.runsAtAPI() && !slices.Contains(backgroundStates, r.Status)

	switch {
	case !isObject(data), malformed && !truncated, err == nil && unknownState:
		return nil, notResponseError(data)
	case err != nil:
		return nil, err
	}
	return a.finish(r, rawJSON{data: data})
}

// finish completes the output of r with what was streamed, checks r, and sends the events that were
// not streamed. If r still runs in the background, finish returns it as it is.
func (a *accumulator) finish(r *call.Response, from rawJSON) (*call.Response, error) {
	if a.background.isOther(r.ID) {
		return nil, notResponseError(from.json())
	}
	if r.IsRunning() {
		// A response in the foreground would have ended. LiteLLM does not say that a response is in
		// the background (https://github.com/BerriAI/litellm/pull/16862).
		r.Background = true
		a.noteBackground(r)
		if a.runsAtAPI() {
			return r, nil
		}
	}

	a.log(from)
	r.ID = cmp.Or(r.ID, a.created.ID)
	r.Model = cmp.Or(r.Model, a.created.Model)
	a.endedResponse = r
	a.addStreamed(r)
	err := checkResponse(r, from, a.call)
	if err != nil {
		return nil, err
	}
	a.emitUnstreamed(r.Output)
	return r, nil
}

// isAnswered reports whether every item that began is complete, and the last one is an answer.
func (a *accumulator) isAnswered() bool {
	isIncomplete := func(item *streamItem) bool { return !item.isComplete }
	return isAnswer(a.lastItem().asStreamed()) && !slices.ContainsFunc(a.items, isIncomplete)
}

// lastItem returns the newest item, or an empty one if there is none yet.
func (a *accumulator) lastItem() *streamItem {
	if len(a.items) == 0 {
		return &streamItem{}
	}
	return a.items[len(a.items)-1]
}

// finishStreamed returns the response of a stream that no event has ended. Its usage is unknown.
func (a *accumulator) finishStreamed() (*call.Response, error) {
	r := a.created
	r.Streamed = true
	r.Status = "completed"
	if a.lastItem().Status == "incomplete" {
		r.Status = "incomplete"
	}
	return a.finish(&r, rawJSON{}) // no error needs the JSON: Output is set, from what was streamed
}
