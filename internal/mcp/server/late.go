package server

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const (
	answerResultTool  = "answer_result" // the tool that returns late answers
	maxWorkingResults = 1_000_000       // working results of a task (splitResultID)

	// answerResultTimeout is how long answer_result waits where DetachOptions.DetachAfter is 0.
	// Such a server has no late answers of its own, but its clients may have ids of servers with
	// other settings.
	answerResultTimeout = 20 * time.Second
)

const lateInstructions = "\nA result with status working is not the answer yet: call " +
	"answer_result with its id, as often as it takes. With status waiting the question was not " +
	"asked yet: call the same tool again with the same arguments."

// lateOutputSchema describes answers, and the results with status working or waiting.
const lateOutputSchema = `{
	"type": "object",
	"properties": {` + answerProperties + `,
		"status": {"type": "string"},
		"id": {"type": "string"},
		"ahead": {"type": "integer"},
		"message": {"type": "string"}
	}
}`

// workingResult returns the result of a call that goes on as a late answer. It contains no text of
// the API, which web pages may have written.
func (s *Server) workingResult(req mcp.Request, resultID string) *result {
	return s.jsonResult(req, struct {
		Status  string `json:"status"`
		ID      string `json:"id"`
		Message string `json:"message"`
	}{statusWorking, resultID, "The answer is not ready. Call answer_result with this id now: it waits and " +
		"returns the answer. Do not ask the question again, and do not answer without it."}, nil)
}

// statusWaiting is the status of a call that has ended with call.ErrWaiting.
const statusWaiting = "waiting"

// waitingResult returns the result of a call that has ended with call.ErrWaiting. The time makes
// each message different: clients stop a loop of calls that all have the same result.
func (s *Server) waitingResult(req mcp.Request, ahead int) *result {
	const format = "The question was not asked yet, and nothing was paid: at %s, with %d ahead. " +
		"Call the same tool again now, with the same arguments, to wait on. Do not answer without it."
	return s.jsonResult(req, struct {
		Status  string `json:"status"`
		Ahead   int    `json:"ahead"`
		Message string `json:"message"`
	}{statusWaiting, ahead, fmt.Sprintf(format, time.Now().Format(time.TimeOnly), ahead)}, nil)
}

// callAnswerResult answers a call of answer_result. It waits for the end of the task that resultID
// is about, and returns what the call of the task would have returned. If the task has not ended in
// time, it returns another working result.
func (s *Server) callAnswerResult(
	ctx context.Context, req *mcp.CallToolRequest, c *call.Call, resultID string,
) (mcp.Result, error) {
	// The id is left out, or is no string. An error of its own says so: the model must not think
	// that the answer has expired.
	if resultID == "" {
		return s.failure(req, answerResultTool,
			call.KindArguments.Errorf("id is required, as a string: that of the last result"))
	}

	taskID, nextID := splitResultID(resultID)
	task := s.tasks.Find(taskID, c.Person.ID)
	if task == nil {
		return s.failure(req, answerResultTool,
			call.KindArguments.Errorf("the id is not known, or has expired"))
	}

	// c takes no quota, and its end is not observed. If this process reads the end of a call of
	// another process, settleRemoteCall observes that end with a copy of c.
	c.Tool = task.Tool
	defer s.sendProgress(ctx, req, task.Progress, 0)()
	timeout := cmp.Or(s.clientSettings.Load().detachAfter, answerResultTimeout)
	state := s.tasks.Wait(ctx, task, c, timeout)
	if state.IsWorking() {
		return s.workingResult(req, nextID), nil
	}
	return s.resultOf(req, task.Tool, state)
}

// CancelUndelivered cancels the task that a result of tools/call names. The client does not get the
// result, because it has cancelled the call (stdio.Transport.Undelivered): without the id the
// client cannot ask for the answer.
//
// The task goes on if the client has its id from an earlier result. Such results are not found here:
// that of tasks/get has another resultType, and a working result after the first one has an id with
// a number, such as X.2 (splitResultID), which Find does not know.
//
// If this process has forgotten the task, Cancel asks the API, with a call of its own.
func (s *Server) CancelUndelivered(result []byte) {
	r := gjson.ParseBytes(result)
	id := gjson.Get(r.Get("content.0.text").Str, "id").Str
	if r.Get("resultType").Str == "task" {
		id = r.Get("taskId").Str
	}
	task := s.tasks.Find(id, "") // over stdio people have no ID
	if task != nil {
		s.tasks.Cancel(context.Background(), task, &call.Call{Tool: task.Tool})
	}
}

// splitResultID returns the id of the task whose working result had the id resultID, and the id for
// the next working result of the task. The working results of the task X have the ids X, X.2, X.3
// and so on, because clients stop a loop of calls that are all the same. For X.2 splitResultID
// returns X and X.3. If no result can have had the id resultID, both are "", the id of no task.
func splitResultID(resultID string) (taskID, nextID string) {
	taskID, number, isNumbered := strings.Cut(resultID, ".")
	n := 1
	if isNumbered {
		n, _ = strconv.Atoi(number)
		if n < 2 || n > maxWorkingResults || strconv.Itoa(n) != number {
			return "", ""
		}
	}
	return taskID, taskID + "." + strconv.Itoa(n+1)
}
