package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"iter"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
)

// Stream sends r and yields what comes back as it comes: blocks, searches, and
// at last a Usage and a Done, or one pair of nil and an *Error. The response in
// Done is the one that Create would have returned. A try that fails in its
// middle is followed by Retrying and starts over; the deadline of ctx bounds all
// of it, silence too. Breaking out of the loop ends the request at once.
//
// A server that does not stream, or an organization that may not, is answered
// by a plain call, and its response comes as the same events at the end.
func (c *Client) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] {
	return watched(ctx, func(ctx context.Context, f *feed) (*Response, error) {
		return c.do(ctx, r, f, true)
	})
}

// watched makes a call whose events go to the loop over it.
func watched(ctx context.Context, do func(context.Context, *feed) (*Response, error)) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		f := &feed{leave: cancel, watch: func(e Event) bool { return yield(e, nil) }}
		r, err := do(ctx, f)
		switch {
		case f.gone:
		case err != nil:
			yield(nil, err)
		default:
			f.finish(r)
		}
	}
}

// Replay yields the events of a response that was not streamed, as Stream would
// have.
func Replay(r *Response) iter.Seq[Event] {
	return func(yield func(Event) bool) {
		f := &feed{leave: func() {}, watch: yield}
		f.replay(r)
		f.finish(r)
	}
}

// finish sends the last two events.
func (f *feed) finish(r *Response) {
	f.send(r.Usage)
	f.send(Done{Status: cmp.Or(r.Status, "completed"), Response: r})
}

// replay sends the blocks of a response.
func (f *feed) replay(r *Response) {
	if f.watch == nil {
		return
	}
	list := make([]json.RawMessage, 0, len(r.Output))
	for _, it := range r.Output {
		data, _ := it.MarshalJSON() // An item that cannot be encoded has no block.
		list = append(list, data)
	}
	(&fold{feed: f}).settleOutput(list)
}

// read reads an answer to its end: a stream, or the plain response of a server
// that does not stream.
func (k *call) read(ctx context.Context, resp *http.Response) (*Response, error) {
	// Small, for the look at the first bytes alone: whoever reads on asks for more
	// than that, and gets it without a copy in between.
	body := bufio.NewReaderSize(resp.Body, 64)
	if sniff(resp, body) {
		return k.stream(ctx, resp, body)
	}
	data, err := readAll(body)
	if err != nil {
		return nil, k.readError(ctx, resp, err)
	}
	data = k.client.hide(data)
	k.debugBody(ctx, "openai(client): response", data)
	r, err := decodeResponse(data, resp)
	if err == nil {
		k.feed.replay(r)
	}
	return r, err
}

// stream reads a stream up to the event that ends it. [DONE] is not that event:
// it only makes an end of the stream a proper one when the items are all there.
func (k *call) stream(ctx context.Context, resp *http.Response, body io.Reader) (*Response, error) {
	s, f, w, done, foreign := newSSE(body), &fold{feed: k.feed}, &wire{}, false, ""
	for {
		name, data, err := s.next()
		data = k.client.hide(data)
		if ctx.Err() != nil {
			return nil, contextError(ctx) // also when the watcher has left
		}
		var r *Response
		var e *Error
		switch {
		case err != nil && done && f.allDone():
			r, e = f.finish(nil, "completed")
		case errors.Is(err, io.EOF):
			e = f.cut(foreign)
		case err != nil:
			return nil, k.readError(ctx, resp, err)
		case crowded(data):
			return nil, k.readError(ctx, resp, errTooMany)
		case w.decode(name, data):
			if foreign == "" && w.Type == "" {
				foreign = parseObject(data).str("object")
			}
			r, e = f.take(w)
		case string(data) == "[DONE]":
			done = true
		default:
			k.client.log.LogAttrs(ctx, slog.LevelDebug, "openai(client): skipping an event that is no JSON object",
				slog.String("event", name), slog.String("data", k.client.scrub.Replace(clip(string(data), 300))))
		}
		if e != nil {
			e.Status, e.RequestID = resp.StatusCode, requestID(resp)
			return nil, e
		}
		if r != nil {
			r.RequestID = requestID(resp)
			k.debugBody(ctx, "openai(client): response", r.Raw)
			return r, nil
		}
	}
}

// cut is the error of a stream without an end. One that has nothing of ours is
// that of another API, which would answer in the same way again: foreign is the
// object of an event without a type, such as chat.completion.chunk.
func (f *fold) cut(foreign string) *Error {
	if foreign == "" || f.begun != nil || len(f.tracks.list) > 0 {
		return &Error{Kind: KindConnection, Message: "the stream ended before the response did"}
	}
	return &Error{Kind: KindBadResponse, Message: "the stream is one of " + strconv.Quote(clip(foreign, 60))}
}

func isStream(resp *http.Response) bool {
	typ, _, _ := strings.Cut(resp.Header.Get("Content-Type"), ";")
	return strings.EqualFold(strings.TrimSpace(typ), "text/event-stream")
}

// sniff reports whether an answer is a stream. The content type is not enough:
// servers send plain responses under that of a stream, and streams under any.
func sniff(resp *http.Response, body *bufio.Reader) bool {
	for {
		b, err := body.Peek(1)
		switch {
		case err != nil:
			return isStream(resp)
		case bytes.ContainsAny(b, " \t\r\n"):
			_, _ = body.Discard(1) // it was seen, so it is there
			continue
		case b[0] == '{' || b[0] == '[' || b[0] == '<':
			return false
		case b[0] == ':' || isStream(resp):
			return true
		}
		for _, field := range []string{"data:", "event:", "id:", "retry:"} {
			if b, _ := body.Peek(len(field)); string(b) == field {
				return true
			}
		}
		return false
	}
}
