package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
)

// CallLogger returns a function that logs the end of a call. Calls that a client may have made in a
// loop share a line.
func (s *Service) CallLogger(limiter *logging.Limiter) func(server.CallEnd) {
	return func(c server.CallEnd) {
		logCalls := func(n int) { s.logCallEnd(c, n) }
		if c.Requests > 0 && c.Outcome != server.OutcomeWaiting {
			logCalls(1)
			return
		}
		// No quota bounds loops of calls that the API does not see.
		key := [5]string{c.Person.ID, c.Tool, c.Outcome, call.KindOf(c.Err).Label(), c.RefusedBy}
		limiter.Log(key, logCalls)
	}
}

// logCallEnd logs the end of n calls, of which c is the last.
func (s *Service) logCallEnd(c server.CallEnd, n int) {
	log := s.Log
	if n > 1 {
		log = log.With("count", n)
	}
	log = log.With("call_id", c.ID)
	if c.Traceparent != "" {
		log = log.With("traceparent", c.Traceparent)
	}
	// In the log, client is the person, as in the metrics; app is the client program.
	log = log.With("tool", c.Tool, "client", c.Person.Name, "app", c.App,
		"model", s.Profiles[c.Tool].Model, "outcome", c.Outcome)
	level := slog.LevelInfo
	if c.Err != nil {
		log, level = s.withError(log, c)
	}

	usage := c.Usage
	if usage.CacheWrite > 0 {
		log = log.With("cache_write_tokens", usage.CacheWrite)
	}
	if c.GuessedTokens > 0 { // for requests whose tokens the API has not reported
		log = log.With("guessed_tokens", c.GuessedTokens)
	}
	cost := s.Profiles[c.Tool].Cost(c.Used)
	if cost != nil {
		log = log.With("cost_usd", call.RoundUSD(*cost))
	}

	// Duration.Seconds adds two numbers, so that 2.72 s would be logged as 2.7199999999999998.
	seconds := func(d time.Duration) float64 {
		return float64(d.Milliseconds()) / 1000
	}
	log.Log(context.Background(), level, "call",
		"request_id", c.APIRequestID,
		"attempts", c.Requests,
		"seconds", seconds(c.Duration),
		"api_seconds", seconds(c.APITime),
		"input_tokens", usage.Input,
		"cached_tokens", usage.Cached,
		"output_tokens", usage.Output,
		"reasoning_tokens", usage.Reasoning,
		"searches", c.Searches)
}

// withError adds to log why a call has no answer, and returns the level of its line. The message of
// the API may quote the question, so that message is logged for debugging only.
func (s *Service) withError(log *slog.Logger, c server.CallEnd) (*slog.Logger, slog.Level) {
	kind := call.KindOf(c.Err)
	log = log.With("kind", kind.Label())
	log.Debug("call failed", "err", c.Err.Error())
	if c.RefusedBy != "" {
		log = log.With("limit", c.RefusedBy)
	}
	switch kind {
	case call.KindConnection:
		log = log.With("cause", advice.ConnectionCause(c.Err))
	case call.KindNoText:
		log = log.With("reason", s.Redactor.Truncate(c.Err.Error(), 100))
	}

	e, ok := errors.AsType[*call.APIError](c.Err)
	if ok {
		log = log.With("status", e.Status, "code", s.Redactor.Truncate(e.Code, 100))
	}
	if !kind.IsForOperator() && !errors.As(c.Err, new(call.RootsError)) {
		return log, slog.LevelInfo
	}
	_, hint := s.Advisor.Advise(c.Tool, c.Err) // callers do not get this hint
	return log.With("hint", hint), slog.LevelWarn
}
