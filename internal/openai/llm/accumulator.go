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
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// The API writes a response as a list of items, and a stream tells of each item several times: that
// the item begins, each piece of its text, the item as a whole, and the whole response at the end.
// The accumulator passes each piece of text on once, as soon as any event has it. For this it numbers
// the items, and keeps for each text the block that the call sees, with what was sent of it:
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
// If the connection breaks before output_item.done, the block stops after "Paris". If the last event
// has no output, the response gets the items 1 and 2.

const (
	maxEvent = 8 << 20 // bytes of one event of a stream
	maxPlain = 8 << 10 // bytes of a plain event, which bound its nesting, too
)

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
	log  func(source) // writes what came back to the debug log

	event streamEvent // the current one

	last    itemNumber
	byIndex map[float64]itemNumber // the current item of each output_index
	byID    map[string]itemNumber
	items   map[itemNumber]call.Item // as the last event with the item says
	done    map[itemNumber]string    // the texts of the items that are complete
	blocks  map[blockKey]*block
	order   []*block
	texts   map[itemNumber][]*block // of messages

	background // asked, id, final and so on: whether the response may run without its connection

	size        int // bytes of the events so far
	elements    int // of the complete items
	annotations int // in events of their own

	created call.Response // as its first event says

	// Of the connection.
	failure  *call.Error // without a kind, with the best message so far; nil: none
	giveUpAt time.Time   // when the connection is given up, after failure or "[DONE]"; zero: never
}

type blockKey struct {
	item    itemNumber
	kind    string
	content float64 // content_index of a text, else 0
}

// block is a block of the call.
type block struct {
	call.BlockStart
	open  bool
	sent  strings.Builder // all deltas
	whole string          // replaces sent once an event has the complete text

	annotations []json.RawMessage
}

// newAccumulator returns an accumulator that writes what came back to the debug log.
func (cl *Client) newAccumulator(ctx context.Context, c *call.Call) *accumulator {
	return &accumulator{
		call: c,
		log: func(from source) {
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

// streamEvent is what the program needs of the events of a stream
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string
	Sequence     float64 `json:"sequence_number"`
	OutputIndex  float64 `json:"output_index"` // some servers write 3.0
	ContentIndex float64 `json:"content_index"`
	ItemID       string  `json:"item_id"`
	Delta        string
	Text         string
	Refusal      string
	Annotation   json.RawMessage
	Part         call.Part
	Item         call.Item
	Response     call.Response
	Error        json.RawMessage
}

// isError reports whether an event has an error. The events of some servers have an empty one.
func (ev *streamEvent) isError() bool {
	switch string(ev.Error) {
	case "", "null", "{}", `""`:
		return ev.Type == "error"
	}
	return true
}

// decode replaces an event with what call.Decode reads of data. Nearly all events are plain:
// readPlain takes a third of the time.
func (ev *streamEvent) decode(data []byte) error {
	*ev = streamEvent{}
	plain := len(data) <= maxPlain && utf8.Valid(data) && gjson.ValidBytes(data)
	if plain && ev.readPlain(string(data)) {
		return nil
	}
	*ev = streamEvent{}
	return call.Decode(data, ev)
}

// readPlain reads an event as encoding/json does, and reports whether the event is plain: texts and
// numbers only. encoding/json takes member names in any case, so a name with other letters is not
// plain.
func (ev *streamEvent) readPlain(data string) bool {
	plain := true
	gjson.Parse(data).ForEach(func(name, value gjson.Result) bool {
		text := func(member *string) {
			if value.Type == gjson.String {
				*member = value.Str
			}
		}
		number := func(member *float64) {
			if value.Type == gjson.Number && !math.IsInf(value.Num, 0) {
				*member = value.Num
			}
		}

		switch name.Str {
		case "type":
			text(&ev.Type)
		case "sequence_number":
			number(&ev.Sequence)
		case "output_index":
			number(&ev.OutputIndex)
		case "content_index":
			number(&ev.ContentIndex)
		case "item_id":
			text(&ev.ItemID)
		case "delta":
			text(&ev.Delta)
		case "text":
			text(&ev.Text)
		case "refusal":
			text(&ev.Refusal)
		case "annotation", "part", "item", "response", "error":
			plain = false
		case "logprobs", "obfuscation":
		default:
			plain = strings.Trim(name.Str, "abcdefghijklmnopqrstuvwxyz_") == ""
		}
		return plain
	})
	return plain
}

// detailTime is how long a stream may go on after a failure that names no kind, and after "[DONE]".
const detailTime = 2 * time.Second

// read reads a stream up to the event that ends it; docs/spec.md has a table of the ends. Events
// without a JSON object are skipped: some servers send them to keep a stream open.
//
// Some servers end a stream without such an event. Then the response is what was streamed, if every
// item is complete and the last one is an answer. A response that runs in the background is fetched.
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
	over := err == nil || !a.giveUpAt.IsZero() // the latter after "[DONE]"
	switch {
	case a.failure != nil:
		return nil, a.failure
	case over && !a.running() && a.isAnswered():
		return a.finishStreamed()
	}
	return nil, cmp.Or(err, errors.New("the stream ended before the response did"))
}

// readEvent reads the data of the next event of a stream into buf, which the next call uses again
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). The name of the event is not
// read: the payload has the type. The blank line after the last event may be missing. At the end of
// the stream, data and error are nil.
func readEvent(stream *bufio.Reader, buf *bytes.Buffer) ([]byte, error) {
	buf.Reset()
	for {
		start := buf.Len()
		err := bufio.ErrBufferFull
		for errors.Is(err, bufio.ErrBufferFull) {
			var part []byte
			part, err = stream.ReadSlice('\n')
			buf.Write(part)
		}
		line := buf.Bytes()[start:]
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		buf.Truncate(start)

		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) == "data" {
			buf.Write(bytes.TrimPrefix(value, []byte(" ")))
			buf.WriteByte('\n')
		}
		end := errors.Is(err, io.EOF)
		over := end || err == nil && len(line) == 0
		switch {
		case over && buf.Len() > 0:
			return buf.Bytes(), nil
		case end:
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}

// handleEvent handles one event. An event that ends the stream has a response or an error.
func (a *accumulator) handleEvent(data []byte) (*call.Response, error) {
	ev := &a.event
	err := ev.decode(data)
	switch {
	case err != nil:
		return nil, fmt.Errorf("reading an event: %w", err)
	case a.skips(ev):
		return nil, nil
	case ev.isError():
		return nil, a.fail(responseError(data, streamFailed))
	}

	switch ev.Type {
	case "response.created":
		a.created = ev.Response
		a.setID(&ev.Response)

	case "response.completed", "response.incomplete", "response.failed", "response.cancelled",
		"response.done":
		r, err := a.finish(ev.lastResponse(), source{data, true})
		e, ok := errors.AsType[*call.Error](err)
		if ok {
			return nil, a.fail(e)
		}
		return r, err
	}
	a.emitEvent(ev)

	elements := max(len(a.order), len(a.byID), int(a.last), a.elements, a.annotations)
	if elements > maxElements {
		return nil, call.TooLarge(tooMany)
	}
	return nil, nil
}

// lastResponse returns the response of an event that ends a stream. The status of the response says how it
// ended. A response without a status, or with one that fits any end, ended as the name of the event
// says.
func (ev *streamEvent) lastResponse() *call.Response {
	r := ev.Response // a copy: the next event replaces it
	r.Streamed = true
	switch r.Status {
	case "incomplete", "failed", "cancelled":
		return &r
	}
	r.Status = strings.TrimPrefix(ev.Type, "response.")
	if r.Status == "done" {
		r.Status = "completed"
	}
	return &r
}

// Messages of failures that say nothing.
const (
	streamFailed   = "the stream ended with an error"
	responseFailed = "the response failed"
)

// fail returns a failure of the response that names its kind. Any other failure is kept until the
// connection is given up, because the next event may say more: Azure sends response.failed without
// details, and then the error.
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

// setID notes the id of a response that runs in the background, as the API itself says.
func (a *accumulator) setID(r *call.Response) {
	if a.asked && a.id == "" && r.Background {
		a.id = r.ID
		a.call.Send(call.Created{ID: r.ID})
	}
}

// finishPlain makes the response of an answer that is not a stream.
func (a *accumulator) finishPlain(data []byte) (*call.Response, error) {
	r := &call.Response{}
	err := call.Decode(data, r)
	_, malformed := errors.AsType[*json.SyntaxError](err)
	cut := malformed && err.Error() == "unexpected end of JSON input"
	stateless := a.running() && !slices.Contains(backgroundStates, r.Status)

	switch {
	case !isObject(data), malformed && !cut, err == nil && stateless:
		return nil, notResponse(data)
	case err != nil:
		return nil, err
	}
	return a.finish(r, source{data: data})
}

// finish checks a response, and emits what was not streamed of it. A response that runs in the
// background is returned as it is.
func (a *accumulator) finish(r *call.Response, from source) (*call.Response, error) {
	other := a.id != "" && r.ID != "" && r.ID != a.id // than the one in the background
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
	err := check(r, from)
	if err != nil {
		return nil, err
	}
	a.completeOutput(r.Output)
	return r, nil
}

// addStreamed replaces the output of a response that has less than was streamed. A content filter
// takes text back: then only a missing output is replaced.
func (a *accumulator) addStreamed(r *call.Response) {
	filtered := r.IncompleteDetails.Reason == "content_filter"
	streamed := a.streamed(filtered)
	less := !filtered && lacks(r.Output, streamed)
	switch {
	case len(streamed) == 0:
	case less && citable(r.Output) > citable(streamed): // the output has searches
		isMessage := func(i call.Item) bool { return i.Type == "message" }
		messages := slices.DeleteFunc(streamed, func(i call.Item) bool { return !isMessage(i) })
		r.Output = append(slices.DeleteFunc(r.Output, isMessage), messages...)
	case less, len(r.Output) == 0:
		r.Output = streamed
	}
}

// streamed returns the items that were streamed. If no answer is complete, incomplete messages count,
// too: some servers give deltas other ids than items. With filtered, neither incomplete messages nor
// texts that only deltas had count.
func (a *accumulator) streamed(filtered bool) []call.Item {
	var complete, open []call.Item
	answered := filtered // then incomplete messages do not count, as after an answer
	for number := range a.last + 1 {
		item := a.items[number]
		if !filtered {
			item = a.item(number)
		}
		_, done := a.done[number]
		switch {
		case done && item.Type != "":
			complete = append(complete, item)
			answered = answered || isAnswer(item)
		case textOf(item) != "":
			open = append(open, item)
		}
	}

	if answered {
		return complete
	}
	return append(complete, open...)
}

// lacks reports whether items have no text although some was streamed, or the same text with fewer
// searches and citations. Any other text is what the server means.
func lacks(items, streamed []call.Item) bool {
	said := strings.TrimSpace(textOf(items...))
	text := strings.TrimSpace(textOf(streamed...))
	same := said == text && citable(items) < citable(streamed)
	return text != "" && (said == "" || same)
}

// citable counts the searches of items, their sources and the citations of their texts.
func citable(items []call.Item) int {
	n := 0
	for _, item := range items {
		if item.Type == "web_search_call" {
			n += 1 + len(item.Action.Sources)
		}
		for _, part := range item.Content {
			n += len(part.Annotations)
		}
	}
	return n
}

// item returns an item that was streamed. A message has what only other events had of it.
func (a *accumulator) item(number itemNumber) call.Item {
	item := a.items[number]
	if cmp.Or(item.Type, "message") != "message" {
		return item
	}
	cited := 0
	for _, b := range a.texts[number] {
		cited += len(b.annotations)
	}
	whole := strings.TrimSpace(textOf(item)) != "" && citable([]call.Item{item}) >= cited
	if whole {
		return item
	}

	content := []map[string]any{}
	for _, b := range a.texts[number] {
		item.ID = cmp.Or(item.ID, b.ID)
		content = append(content, map[string]any{
			"type":        "output_text",
			"text":        cmp.Or(b.whole, b.sent.String()),
			"annotations": append([]json.RawMessage{}, b.annotations...), // not null
		})
	}

	data, _ := jsonx.Marshal(nonZero(map[string]any{ // strings cannot fail
		"type":    "message",
		"role":    "assistant",
		"status":  "completed",
		"id":      item.ID,
		"phase":   item.Phase,
		"content": content,
	}))
	message := call.Item{}
	_ = call.Decode(data, &message) // a message that is too large has no text
	if lacks([]call.Item{item}, []call.Item{message}) {
		return message
	}
	return item
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
	return a.finish(&r, source{})
}

// blockText is what an event or an item says of a block.
type blockText struct {
	call.BlockStart // without the index
	content         float64
	text            string // the whole text once the block is complete
	search          call.Search
}

// blocksOf returns the blocks of an item. A message has a block for each text, and its first part has
// the number first. Items of other known types have one block.
func blocksOf(i call.Item, first float64) []blockText {
	var b blockText
	b.ID = i.ID

	switch i.Type {
	case "message":
		var all []blockText
		for n, part := range i.Content {
			if part.IsText() || part.Type == "refusal" {
				b.Kind = call.BlockText
				b.content = first + float64(n)
				b.text = part.Text + part.Refusal
				all = append(all, b)
			}
		}
		return all

	case "reasoning":
		b.Kind = call.BlockThinking
		b.text = thoughts(i)

	case "function_call", "custom_tool_call":
		b.Kind = call.BlockToolUse
		b.ID = i.CallID
		b.Name = i.Name
		b.text = i.Arguments + i.Input

	case "web_search_call":
		b.Kind = call.BlockSearch
		queries := append([]string{i.Action.Query}, i.Action.Queries...)
		b.search = call.Search{
			Action: i.Action.Type,
			Query:  cmp.Or(queries...),
			URL:    i.Action.URL,
		}

	default:
		return nil
	}
	return []blockText{b}
}

// emitEvent passes on to the sink what an event says.
func (a *accumulator) emitEvent(ev *streamEvent) {
	complete := strings.HasSuffix(ev.Type, ".done")

	switch ev.Type {
	case "response.output_item.added", "response.output_item.done":
		number := a.itemOf(ev)
		if ev.Item.Type != "" {
			a.items[number] = ev.Item
		}
		a.emitItem(number, ev.Item, 0, complete)
		if complete {
			a.log(source{data: ev.Item.Raw})
			a.done[number] = textOf(a.items[number])
			a.elements += size(ev.Item)
			delete(a.byIndex, ev.OutputIndex)
		}

	case "response.content_part.added", "response.content_part.done":
		message := call.Item{
			Type:    "message",
			ID:      ev.ItemID,
			Content: []call.Part{ev.Part},
		}
		a.emitItem(a.itemOf(ev), message, ev.ContentIndex, complete)

	default:
		a.emitDelta(ev)
	}
}

// emitDelta adds the text of a delta to its block.
func (a *accumulator) emitDelta(ev *streamEvent) {
	var said blockText
	said.ID = ev.ItemID

	switch ev.Type {
	case "response.output_text.delta", "response.refusal.delta",
		"response.output_text.done", "response.refusal.done",
		"response.output_text.annotation.added":
		said.Kind = call.BlockText
		said.content = ev.ContentIndex

	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		said.Kind = call.BlockThinking

	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		said.Kind = call.BlockToolUse

	default:
		return
	}
	b := a.openBlock(a.itemOf(ev), said)
	if b == nil {
		return
	}
	if ev.Annotation != nil {
		b.annotations = append(b.annotations, ev.Annotation)
		a.annotations++
	}
	missing, ok := strings.CutPrefix(ev.Text+ev.Refusal, b.sent.String())
	if ok {
		a.addDelta(b, missing)
	}
	a.addDelta(b, ev.Delta)
}

// itemOf returns the number of the item that an event is about. The item may be new.
func (a *accumulator) itemOf(ev *streamEvent) itemNumber {
	number := a.byIndex[ev.OutputIndex]
	if number == unknownItem && ev.Type != "response.output_item.added" {
		number = a.byID[cmp.Or(ev.ItemID, ev.Item.ID)]
		said := a.done[number]
		another := ev.Item.Type != "" && said != "" && said != textOf(ev.Item)
		if another { // with the same id
			number = unknownItem
		}
	}
	if number == unknownItem {
		a.last++
		number = a.last
		a.byIndex[ev.OutputIndex] = number
	}
	return number
}

// emitItem starts the new blocks of an item, and completes all its blocks if the item is complete. The
// first part of a message has the number first.
func (a *accumulator) emitItem(number itemNumber, item call.Item, first float64, complete bool) {
	a.rememberID(number, item.ID)
	for _, said := range blocksOf(item, first) {
		b := a.openBlock(number, said)
		if complete {
			a.completeBlock(b, said)
		}
	}
}

func (a *accumulator) rememberID(number itemNumber, id string) {
	if id != "" {
		a.byID[id] = number
	}
}

// completeOutput completes the items of the final output that were not streamed to their end. An item
// is known by its id. An item without a known id is the next streamed item of its type that no id
// names: the output may lack items that were streamed, and some servers give items other ids there.
func (a *accumulator) completeOutput(output []call.Item) {
	named := map[itemNumber]bool{}
	for _, item := range output {
		named[a.byID[item.ID]] = true
	}

	next := unknownItem
	for _, item := range output {
		number := a.byID[item.ID]
		for number == unknownItem {
			next++
			sameType := cmp.Or(a.items[next].Type, item.Type) == item.Type
			free := !named[next] && sameType
			if next > a.last || free {
				number = next
			}
		}
		a.emitItem(number, item, 0, true)
	}
}

// openBlock returns a block, and starts a new one. The block of a tool is not started before the name
// of the tool is known: the result is nil.
func (a *accumulator) openBlock(number itemNumber, said blockText) *block {
	key := blockKey{number, said.Kind, said.content}
	b := a.blocks[key]
	nameless := said.Kind == call.BlockToolUse && said.Name == ""
	if b != nil || nameless {
		return b
	}

	b = &block{BlockStart: said.BlockStart, open: true}
	b.Index = a.call.Blocks
	a.call.Blocks++
	a.blocks[key] = b
	a.order = append(a.order, b)
	if b.Kind == call.BlockText {
		a.texts[number] = append(a.texts[number], b)
	}
	a.rememberID(number, said.ID)
	a.call.Send(b.BlockStart)
	return b
}

// addDelta adds text to a block that has not stopped.
func (a *accumulator) addDelta(b *block, text string) {
	if !b.open || text == "" {
		return
	}

	b.sent.WriteString(text)
	if a.call.Sink == nil {
		return // a delta for the sink takes memory
	}

	delta := call.BlockDelta{Index: b.Index}
	switch b.Kind {
	case call.BlockText:
		delta.Text = text
	case call.BlockThinking:
		delta.Thinking = text
	case call.BlockToolUse:
		delta.InputJSON = text
	}
	a.call.Send(delta)
}

// completeBlock emits what is missing of the text of a block and stops the block, once. A text that
// does not begin with what was streamed adds nothing. The API says what a search does when it is
// done.
func (a *accumulator) completeBlock(b *block, said blockText) {
	if b == nil || !b.open {
		return
	}

	if said.search != (call.Search{}) {
		a.call.Send(said.search)
	}
	missing, ok := strings.CutPrefix(said.text, b.sent.String())
	if ok {
		a.addDelta(b, missing)
		b.whole = said.text
		b.sent = strings.Builder{}
	}
	b.open = false
	a.call.Send(call.BlockStop{Index: b.Index})
}

// stopBlocks stops the blocks that are still open.
func (a *accumulator) stopBlocks() {
	for _, b := range a.order {
		a.completeBlock(b, blockText{})
	}
}
