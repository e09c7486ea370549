// Package server is the MCP server: three tools in front of one function that
// answers questions (spec §3). It knows the protocol (tools, arguments, results,
// errors, progress) and nothing about the Responses API behind the function.
package server

import (
	"context"
	"log/slog"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

// Options configure a Server.
type Options struct {
	// Ask answers a question with the profile of that name, which is the name of
	// the tool. It returns soon after ctx is done. watch receives the events of
	// the call; it is nil if the client does not ask for progress.
	Ask func(ctx context.Context, profile string, q answer.Question, watch func(llm.Event)) (*answer.Answer, error)
	// Explain describes an error of Ask in one line for people.
	Explain func(profile string, err error) string
	// Structured adds outputSchema to the tools and structuredContent to their
	// results. Some clients then drop content.
	Structured bool
	// Redactor removes secrets from errors.
	Redactor *logging.Redactor
	// Debug adds status, type, name and request_id to errors (spec §8.2).
	Debug bool
	// MaxCalls is the number of calls that run at the same time; others wait.
	// 0: 256.
	MaxCalls int
	// Observe, if set, is called at the end of each call. It must be safe for
	// concurrent use.
	Observe func(Call)
	// Log receives one line per call at debug level (spec §8.1). It is required.
	Log *slog.Logger
}

// Call describes a call of a tool that has ended.
type Call struct {
	Tool     string
	Client   string // name of the client in clientInfo
	Outcome  string // ok, error, invalid or cancelled
	Duration time.Duration
	Meta     answer.Meta // zero unless Outcome is ok
}

// Server answers tool calls.
type Server struct{ o Options }

// Methods are the requests that the server answers: those of spec §2.2, and
// server/discover, with which stateless clients (MCP 2026-07-28) begin.
func Methods() []string {
	return []string{"initialize", "ping", "tools/list", "tools/call", "server/discover"}
}

// New returns a Server. It does no work before MCP is called.
func New(o Options) *Server { return &Server{o} }

// MCP returns a server of the SDK with the tools. Its calls end when ctx is
// done. All servers that MCP returns share the limit of calls.
func (s *Server) MCP(ctx context.Context) *mcp.Server { return nil }
