package server

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const (
	answerResult = "answer_result" // the tool that returns late answers
	maxResults   = 1_000_000       // working results of a call

	// resultTime is how long answer_result waits on a server without Within, which has no late
	// answers itself: its clients may have ids of servers with other settings.
	resultTime = 20 * time.Second
)

const lateInstructions = "\nA result with status working is not the answer yet: call " +
	"answer_result with its id, as often as it takes. With status waiting the question was not " +
	"asked yet: call the same tool again with the same arguments."

// lateSchema describes answers, working and waiting results.
const lateSchema = `{
	"type": "object",
	"properties": {` + answerProperties + `,
		"status": {"type": "string"},
		"id": {"type": "string"},
		"ahead": {"type": "integer"},
		"message": {"type": "string"}
	}
}`

// workingResult is the result of a call that goes on. No part of the result is of the API, whose
// texts are in part written by web pages.
func (s *Server) workingResult(req mcp.Request, id string) *result {
	return s.object(req, struct {
		Status  string `json:"status"`
		ID      string `json:"id"`
		Message string `json:"message"`
	}{working, id, "The answer is not ready. Call answer_result with this id now: it waits and " +
		"returns the answer. Do not ask the question again, and do not answer without it."}, nil)
}

// waiting is the status of a call with call.ErrWaiting.
const waiting = "waiting"

// waitingResult is the result of a call with call.ErrWaiting. The message has the time, because
// clients end loops of calls with the same result.
func (s *Server) waitingResult(req mcp.Request, ahead int) *result {
	const format = "The question was not asked yet, and nothing was paid: at %s %d calls were " +
		"ahead. Call the same tool again now, with the same arguments, to wait on. Do not answer " +
		"without it."
	return s.object(req, struct {
		Status  string `json:"status"`
		Ahead   int    `json:"ahead"`
		Message string `json:"message"`
	}{waiting, ahead, fmt.Sprintf(format, time.Now().Format(time.TimeOnly), ahead)}, nil)
}

// await waits for the answer of the late call with an id, and returns what the call would have
// returned.
func (s *Server) await(
	ctx context.Context, req *mcp.CallToolRequest, c *call.Call, id string,
) (mcp.Result, error) {
	id, next := nextID(id)
	task := s.tasks.Find(id, c.Person.ID)
	if task == nil {
		return s.failure(req, answerResult,
			call.KindArguments.Errorf("the id is not known, or has expired"))
	}

	// The call of the task has taken the quota, and is the one that is observed. If another process
	// runs it, c stands for it: see settleResponse.
	c.Tool = task.Tool
	defer watch(ctx, req, task.Progress)()
	state := s.tasks.Wait(ctx, task, c, cmp.Or(s.forClient.Load().Within, resultTime))
	if state.Works() {
		return s.workingResult(req, next), nil
	}
	return s.result(req, task.Tool, state.Answer, state.Err)
}

// nextID returns the id of the task that a client names, and the id that the client gets next. The
// first result of the task with the id X has X, the second one X.2, the third one X.3: clients end
// loops of calls that are all the same. An id that no result has had is that of no task, "".
func nextID(given string) (id, next string) {
	id, number, numbered := strings.Cut(given, ".")
	n := 1
	if numbered {
		n, _ = strconv.Atoi(number)
		if n < 2 || n > maxResults || strconv.Itoa(n) != number {
			return "", ""
		}
	}
	return id, id + "." + strconv.Itoa(n+1)
}
