package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// nonce is what tells a question from all others; the API repeats the question
// in its answer.
var nonce = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`Q[0-9a-f]{12}Q`)
})

// nonceIn is the nonce in an answer, or "".
func nonceIn(text string) string { return nonce().FindString(text) }

// rpcError is the error of an answer.
type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// answer is what an answer holds.
type answer struct {
	Result json.RawMessage `json:"result"`
	Error  *rpcError       `json:"error"`
}

func answerOf(m wire.Message) (answer, error) {
	var a answer
	if err := json.Unmarshal([]byte(m.JSON), &a); err != nil {
		return a, err
	}
	if (a.Result == nil) == (a.Error == nil) {
		return a, errors.New("want either a result or an error")
	}
	return a, nil
}

func errorOf(m wire.Message) (rpcError, error) {
	a, err := answerOf(m)
	if err != nil {
		return rpcError{}, err
	}
	if a.Error == nil {
		return rpcError{}, fmt.Errorf("a result, want an error: %s", m.JSON)
	}
	return *a.Error, nil
}

// wantError is a check for an error whose message begins in that way.
func wantError(code int, message string) func(wire.Message) error {
	return func(m wire.Message) error {
		e, err := errorOf(m)
		if err == nil && (e.Code != code || !strings.HasPrefix(e.Message, message)) {
			err = fmt.Errorf("error %d %q, want %d %q", e.Code, e.Message, code, message)
		}
		return err
	}
}

// wantResult is a check for a result that holds a text.
func wantResult(text string) func(wire.Message) error {
	return func(m wire.Message) error {
		a, err := answerOf(m)
		if err == nil && !strings.Contains(string(a.Result), text) {
			err = fmt.Errorf("%.300s, want a result with %s", m.JSON, text)
		}
		return err
	}
}

// wantAnswer is a check for the answer to a question: a result with its nonce,
// and the progress that was asked for before. An answer with somebody else's
// nonce is wrong in any case.
func (r *request) wantAnswer(s scenario, hasty bool, t *tally) func(wire.Message) error {
	return func(m wire.Message) error {
		if n := nonceIn(m.JSON); n != "" && n != r.nonce {
			return fmt.Errorf("it belongs to %s, want %s", n, r.nonce)
		}
		a, err := answerOf(m)
		if err != nil {
			return err
		}
		if a.Error == nil {
			return r.wantText(a, s)
		}
		t.add(callsFailed)
		late := strings.Contains(a.Error.Message, "timed out") || strings.Contains(a.Error.Message, "no complete answer in time")
		switch {
		case a.Error.Code != -32001 || !strings.HasPrefix(a.Error.Message, "answer failed: "):
			return fmt.Errorf("error %d %q, want -32001", a.Error.Code, a.Error.Message)
		case hasty && late:
			t.add(callsTimedOut)
			return nil
		case hasty && s.outcome == answered && s.kind != "":
			return nil // its time allows one try less
		case s.outcome != failed:
			return fmt.Errorf("error %q, want an answer (%s)", a.Error.Message, s.kind)
		case s.echo && nonceIn(m.JSON) == "":
			return fmt.Errorf("error %q, want the API's words in it", a.Error.Message)
		}
		return nil
	}
}

// wantText checks a result: one JSON object with the nonce in its answer.
func (r *request) wantText(a answer, s scenario) error {
	var result struct {
		Content []struct{ Type, Text string }
		IsError bool
	}
	if err := json.Unmarshal(a.Result, &result); err != nil {
		return err
	}
	if s.outcome == failed {
		return fmt.Errorf("a result, want an error (%s)", s.kind)
	}
	if result.IsError || len(result.Content) != 1 || result.Content[0].Type != "text" {
		return fmt.Errorf("result %s, want one text", a.Result)
	}
	var text struct {
		Answer     *string           `json:"answer"`
		UsedSearch *bool             `json:"used_search"`
		Citations  []json.RawMessage `json:"citations"`
		Model      *string           `json:"model"`
	}
	if err := json.Unmarshal([]byte(result.Content[0].Text), &text); err != nil {
		return err
	}
	if text.Answer == nil || text.UsedSearch == nil || text.Citations == nil || text.Model == nil {
		return fmt.Errorf("text %s, want answer, used_search, citations and model", result.Content[0].Text)
	}
	if nonceIn(*text.Answer) != r.nonce {
		return fmt.Errorf("answer %q, want %s in it", *text.Answer, r.nonce)
	}
	if r.token != "" && r.progress == 0 {
		return errors.New("it came without any progress")
	}
	return nil
}
