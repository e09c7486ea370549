package llm

import (
	"context"
	"encoding/json"
	"iter"
	"log/slog"
	"net/http"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

// Options configures a Client.
type Options struct {
	BaseURL      string // with or without a trailing slash; "": OpenAI's
	APIKey       string // sent as a bearer token
	KeyEnv       string // variable that the key comes from, for messages; "": OPENAI_API_KEY
	Organization string // OpenAI-Organization header; "": none
	Project      string // OpenAI-Project header; "": none

	// Headers are sent with every request and replace those of this package.
	// Authorization or api-key among them replaces the bearer token.
	Headers map[string]string

	HTTPClient *http.Client // nil: NewHTTPClient()
	MaxRetries int          // tries after the first one; below 0 counts as 0

	Store                  bool // lets the API keep the response
	OmitEncryptedReasoning bool // does not ask for reasoning that can be sent back

	UserAgent string
	Logger    *slog.Logger      // nil: discard
	Redactor  *logging.Redactor // for errors and the log; nil: one for the key and the headers
}

// Request is one question to a model. What the model does not take
// (CapabilityOf) is left out of the body.
type Request struct {
	Params responses.ResponseNewParams
	Extra  map[string]any // request.extra_body of the configuration
}

// Client sends requests to one Responses API. It is safe for concurrent use.
type Client struct{}

func New(o Options) *Client { return &Client{} }

func NewHTTPClient() *http.Client { return nil }

func (c *Client) Create(ctx context.Context, r Request) (*Response, error) { return nil, nil }

func (c *Client) Stream(ctx context.Context, r Request) iter.Seq2[Event, error] { return nil }

func (c *Client) Model(ctx context.Context, id string) (json.RawMessage, error) { return nil, nil }

func Replay(r *Response) iter.Seq[Event] { return nil }
