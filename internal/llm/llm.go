// Package llm speaks the wire of the OpenAI Responses API: it builds request
// bodies, sends them, retries what is worth retrying, and turns what comes back
// into values that survive missing, null and mistyped fields.
//
// A call goes through these steps, one file each:
//
//	Request      request.go    what the caller wants
//	body         body.go       the JSON object of one call, refused parameters taken out
//	call.open    call.go       one HTTP answer of 2xx, or an *Error
//	exchange     exchange.go   the HTTP round trip
//	retry        retry.go      the only retry layer (spec §7)
//	Response     response.go   items, usage and status of the answer
//
// A stream takes these steps between the last two:
//
//	call.read    stream.go     which of the two an answer is, and the reading of it
//	sse          sse.go        bytes to events
//	wire         wire.go       the JSON of one event
//	fold         fold.go       events of the API to events of a caller ...
//	track        track.go      ... item by item, whatever the events say of them ...
//	block        block.go      ... as blocks that begin, grow and end ...
//	finish       finish.go     ... and to the Response
//	forgot       forgot.go     which comes from the events where the API has forgotten the text
//	feed         feed.go       numbers the blocks and hands the events out
//
// Client.Run (tool.go) goes round both ways while the model calls functions.
//
// Items keep the bytes that they were decoded from, so the output of one
// response is valid input of the next request.
package llm

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
)

// defaultBaseURL is where requests go when Options names no other place.
const defaultBaseURL = "https://api.openai.com/v1"

// Options says where and how a Client sends its requests.
type Options struct {
	BaseURL      string // with or without a trailing slash; empty: that of OpenAI
	APIKey       string // sent as a bearer token and kept nowhere else
	KeyEnv       string // the variable the key came from, for error texts; empty: OPENAI_API_KEY
	Organization string // OpenAI-Organization header, when not empty
	Project      string // OpenAI-Project header, when not empty

	// Headers go with every request, over those of this package; their values
	// are secrets. Authorization or api-key among them stands in for APIKey.
	Headers map[string]string

	HTTPClient *http.Client // nil: NewHTTPClient()
	MaxRetries int          // requests after the first one; below 0 counts as 0

	Store                  bool // lets the API keep the response
	OmitEncryptedReasoning bool // does not ask for reasoning that can be sent back

	UserAgent string
	Logger    *slog.Logger // nil: discard
}

// Client sends requests to one Responses API. It is safe for concurrent use.
// The API key lives only inside authorize, scrub and hide, which print as addresses.
type Client struct {
	http       *http.Client
	base       string // without a slash at its end
	query      string // of the base URL
	authorize  func(http.Header)
	unusable   *Error // why no request can be sent, or nil
	scrub      *strings.Replacer
	hide       func(answer []byte) []byte
	log        *slog.Logger
	maxRetries int
	store      bool
	encrypted  bool
	refused    refusals
}

// New returns a Client. It never fails: what is wrong with the options (no key,
// a base URL that is no URL) is the error of every call, so a server can start
// without a key.
func New(o Options) *Client {
	key := strings.TrimSpace(o.APIKey)
	if o.KeyEnv == "" {
		o.KeyEnv = "OPENAI_API_KEY"
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.HTTPClient == nil {
		o.HTTPClient = NewHTTPClient()
	}
	hc := *o.HTTPClient
	hc.CheckRedirect = checkRedirect
	base, query, err := parseBase(o.BaseURL)
	secrets := secretsOf(key, o.Headers)
	c := &Client{
		http:       &hc,
		base:       base,
		query:      query,
		unusable:   unusable(key, o, err),
		scrub:      scrubber(secrets),
		hide:       hider(secrets),
		log:        o.Logger,
		maxRetries: max(o.MaxRetries, 0),
		store:      o.Store,
		encrypted:  !o.OmitEncryptedReasoning,
	}
	headers := map[string]string{
		"OpenAI-Organization": o.Organization,
		"OpenAI-Project":      o.Project,
		"User-Agent":          o.UserAgent,
	}
	bearer, own := !identifies(o.Headers), maps.Clone(o.Headers)
	c.authorize = func(h http.Header) {
		if bearer {
			h.Set("Authorization", "Bearer "+key)
		}
		for name, value := range headers {
			if value != "" {
				h.Set(name, value)
			}
		}
		for name, value := range own {
			h.Set(name, value)
		}
	}
	return c
}

// Create sends r as a plain call and returns the finished response. Every error
// is an *Error. The bound on the whole call, retries included, is the deadline
// of ctx.
func (c *Client) Create(ctx context.Context, r Request) (*Response, error) {
	return c.do(ctx, r, &feed{}, false)
}

// do makes one call, streamed or plain, and tells the feed what happens.
func (c *Client) do(ctx context.Context, r Request, f *feed, stream bool) (*Response, error) {
	if c.unusable != nil {
		e := *c.unusable
		return nil, &e
	}
	return retry(ctx, &call{client: c, body: c.body(r, stream), feed: f})
}

// parseBase reads a base URL, which it takes apart at its query.
func parseBase(text string) (base, query string, err error) {
	text = strings.TrimSpace(text)
	if text == "" {
		text = defaultBaseURL
	}
	u, err := url.Parse(text)
	if err == nil && (u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		err = fmt.Errorf("it must start with http:// or https:// and name a host")
	}
	if err != nil {
		return "", "", fmt.Errorf("reading base URL %q: %w", text, err)
	}
	query = inLine(u.RawQuery)
	u.RawQuery, u.ForceQuery = "", false
	u.Fragment, u.RawFragment = "", "" // no part of a request
	return strings.TrimSuffix(u.String(), "/"), query, nil
}

// inLine escapes what cannot stand in the line of a request, and nothing else: a
// query means what its server takes it for.
func inLine(query string) string {
	var b strings.Builder
	for i := range len(query) {
		if c := query[i]; c > ' ' && c < 0x7f {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

// unusable is the error of every call of a client that cannot send any.
func unusable(key string, o Options, base error) *Error {
	env, bearer := o.KeyEnv, !identifies(o.Headers)
	switch {
	case bearer && key == "":
		return &Error{Kind: KindMissingKey, Message: "Missing API key: set " + env}
	case bearer && strings.ContainsFunc(key, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return &Error{Kind: KindAuth, Message: "the key in " + env + " has a line break or another control character in it"}
	case base != nil:
		return &Error{Kind: KindConnection, Message: base.Error(), Err: base, final: true}
	}
	return nil
}

// identifies reports that headers tell the server who asks: with
// Authorization, or as Azure has it, with api-key.
func identifies(headers map[string]string) bool {
	for name, value := range headers {
		if value != "" && (strings.EqualFold(name, "Authorization") || strings.EqualFold(name, "api-key")) {
			return true
		}
	}
	return false
}
