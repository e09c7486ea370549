// Package llm calls the OpenAI Responses API through openai-go: it sends a request, retries
// temporary failures, and turns the events of a stream into blocks.
//
// The files, in the order of a call:
//
//	llm.go          Client and its options
//	request.go      the parameters of a request, without those that the model or the API refuses
//	exchange.go     Create: a request with its attempts
//	memory.go       what is remembered for later calls: refusals of the key, refused parameters,
//	                and responses that a GET found
//	http.go         one HTTP request and the body that answers it; GET /models/{id}
//	background.go   responses that outlive their connection: resume, poll, cancel
//	accumulator.go  a stream, from its first event to the response
//	event.go        the events of a stream, and how they are read
//	block.go        events to the blocks that a call sees
//	output.go       the output of a response, completed with what was streamed
//	response.go     what a response has used, and whether it is an answer
//	tool.go         Run, which the program does not use: Create with function tools
//
// A request, with its retries:
//
//	Client.Create              a remembered refusal of the key ends the call; for each attempt:
//	  exchange.try             after a failure tells the pacer (NoteRefused or NoteNoVerdict)
//	    waitForTurn            until the pacer lets the request go, or the call gives up waiting
//	    send                   post, which tells the pacer of a 2xx (NoteAccepted), and readResponse
//	  exchange.prepareRepeat   a parameter that the API refuses: the same attempt again, at once
//	  exchange.decideRetry     final: an error that is not temporary, the last attempt, or a wait
//	                           beyond the deadline
//	  sleep                    as long as the API asks for, else about 0.5 to 8 s; not after a 429,
//	                           for which waitForTurn waits
//
// A response, as it is read:
//
//	readResponse               the body of a 2xx; its usage counts, also that of a failure
//	  readBody                 a stream or an object: the first bytes of the body decide
//	    accumulator.readStream event by event, until one ends the response
//	      handleEvent          finish at the last event; after a failure without a kind, 2 s more
//	      emitEvent            items, parts and deltas become blocks, which the call's sink gets
//	    readObject             an object: finish
//	  accumulator.finish       completes the output with what was streamed (addStreamed), and the
//	                           blocks with the output (emitUnstreamed)
//	exchange.follow            a response that runs in the background: the rest of the stream, or
//	                           polls, until it ends; each GET is a getOrConfirmLost
package llm

import (
	"cmp"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/pacer"
)

const defaultBaseURL = "https://api.openai.com/v1"

// Options configures a Client.
type Options struct {
	API
	APIKey string // sent as a bearer token, until SetKey replaces it

	// Headers are sent with every request, in place of other headers of the same names.
	// Authorization or api-key replaces the bearer token.
	Headers map[string]string

	UserAgent  string
	HTTPClient *http.Client // nil: httpclient.New(nil)
	MaxRetries int          // attempts after the first one

	// RefusalPause is how long calls fail without a request after the API has refused the key or
	// its quota several times in a row. 0: each call asks the API.
	RefusalPause time.Duration

	Store    bool             // lets the API keep the response
	Logger   *slog.Logger     // nil: discard
	Redactor *redact.Redactor // applied to errors and the log; knows the key and the secret headers
}

// API is where requests go, and who pays for them.
type API struct {
	BaseURL      string // a URL, with or without a trailing slash; "": OpenAI's
	Organization string // the OpenAI-Organization header; "": none
	Project      string // the OpenAI-Project header; "": none
}

// Client sends requests to one Responses API. It is safe for concurrent use.
type Client struct {
	service    responses.ResponseService
	httpClient *http.Client
	baseURL    string      // without a trailing slash
	baseQuery  string      // the query of the base URL, sent with every request
	header     http.Header // the headers of every request, without the key
	sendsKey   bool        // requests carry the key as a bearer token
	key        atomic.Pointer[string]
	options    Options

	// State that outlives a call.
	pacers   sync.Map // *pacer.Pacer by model
	memory   *memory
	warnings logging.Limiter // about refused parameters
}

// New returns a Client. If the Client needs a key and has none, every call fails with
// KindMissingKey, so a server can start without a key.
func New(o Options) *Client {
	header := o.header()
	sendsKey := header.Get("Authorization")+header.Get("api-key") == "" // Azure uses api-key
	address := cmp.Or(strings.TrimSpace(o.BaseURL), defaultBaseURL)
	base, query, _ := strings.Cut(address, "?")
	httpClient := *cmp.Or(o.HTTPClient, httpclient.New(nil))
	httpClient.CheckRedirect = checkRedirect

	cl := &Client{
		options:    o,
		httpClient: &httpClient,
		baseURL:    strings.TrimSuffix(base, "/"),
		baseQuery:  query,
		header:     header,
		sendsKey:   sendsKey,

		memory:   newMemory(o.RefusalPause),
		warnings: logging.Limiter{Period: time.Minute},
	}
	cl.SetKey(o.APIKey)

	cl.options.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))

	cl.service = responses.NewResponseService(
		// The slash keeps openai-go from adding one, which would undo %2F in the path.
		option.WithBaseURL(cl.baseURL+"/"),
		option.WithHTTPClient(cl.httpClient),
		option.WithMaxRetries(0))
	return cl
}

// SetKey replaces the API key for later requests, and forgets the refusals of the old key.
func (cl *Client) SetKey(key string) {
	key = strings.TrimSpace(key)
	cl.key.Store(&key)
	cl.memory.forgetRefusals()
}

// CheckKey returns why no request can be sent with the key, or nil. It sends nothing. The error is
// a *call.APIError.
func (cl *Client) CheckKey() error {
	key := *cl.key.Load()
	switch {
	case !cl.sendsKey:
	case key == "":
		return &call.APIError{Kind: call.KindMissingKey, Message: "Missing API key"}
	case strings.ContainsFunc(key, unicode.IsControl):
		return &call.APIError{
			Kind:    call.KindAuth,
			Message: "the key contains a line break or another control character",
		}
	}
	return nil
}

// header returns the headers of every request, without the API key.
func (o *Options) header() http.Header {
	header := http.Header{}
	for name, value := range map[string]string{
		"OpenAI-Organization": o.Organization,
		"OpenAI-Project":      o.Project,
		"User-Agent":          o.UserAgent,
	} {
		if value != "" {
			header.Set(name, value)
		}
	}
	for name, value := range o.Headers {
		header.Set(name, value)
	}

	return header
}

// pacer returns the pacer that all calls of a model share.
func (cl *Client) pacer(model string) *pacer.Pacer {
	p, _ := cl.pacers.LoadOrStore(model, pacer.New())
	return p.(*pacer.Pacer)
}

// NumWaiting returns how many calls wait for the rate limit.
func (cl *Client) NumWaiting() int {
	waiting := 0
	for _, p := range cl.pacers.Range {
		waiting += p.(*pacer.Pacer).NumWaiting()
	}
	return waiting
}
