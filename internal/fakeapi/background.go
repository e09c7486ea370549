package fakeapi

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// keepTime is how long a background response can be fetched.
const keepTime = 10 * time.Minute

// job is a response that is written by the clock: event i of its stream exists from start + i*slow
// on. In the background that needs no connection.
type job struct {
	step   step // of the request that created it
	start  time.Time
	final  gjson.Result
	events []object

	cancelled bool // guarded by Server.mu
	gets      int  // likewise
}

func newJob(step step, final []byte) *job {
	j := &job{
		step:  step,
		start: time.Now(),
		final: gjson.ParseBytes(final),
	}
	j.events = events(j.final)
	for i, e := range j.events {
		e["sequence_number"] = i
	}
	return j
}

// due returns when an event exists.
func (j *job) due(i int) time.Time { return j.start.Add(time.Duration(i) * j.step.slow) }

// exists reports whether an event exists.
func (j *job) exists(i int) bool { return !time.Now().Before(j.due(i)) }

// hasEnded reports whether the response is finished.
func (j *job) hasEnded() bool { return j.exists(len(j.events) - 1) }

// state returns the response as it is now.
func (s *Server) state(j *job) any {
	s.mu.Lock()
	defer s.mu.Unlock()

	state := maps.Clone(j.events[0]["response"].(object)) // queued
	switch {
	case j.cancelled:
		state["status"] = "cancelled"
	case j.hasEnded():
		return j.final.Value()
	case j.exists(2):
		state["status"] = "in_progress"
	}
	return state
}

// keep lets a response be fetched.
func (s *Server) keep(j *job) {
	s.mu.Lock()
	defer s.mu.Unlock()

	isOld := func(_ string, j *job) bool { return time.Since(j.start) > keepTime }
	maps.DeleteFunc(s.jobs, isOld)
	s.jobs[j.final.Get("id").Str] = j
}

// find returns a response that can be fetched, and counts its GETs.
func (s *Server) find(id, method string) (j *job, gets int) {
	s.mu.Lock()
	defer s.mu.Unlock()

	j = s.jobs[id]
	if j == nil || j.step.get == "gone" {
		return nil, 0
	}
	if method == http.MethodGet {
		j.gets++
	}
	return j, j.gets
}

// fetch answers GET /responses/{id} and POST /responses/{id}/cancel.
func (x *exchange) fetch(name string) {
	id, isCancel := strings.CutSuffix(name, "/cancel")
	j, gets := x.s.find(id, x.r.Method)
	query := x.r.URL.Query()
	asStream := query.Get("stream") == "true"

	switch {
	case j == nil:
		e := apiErrors["gone"]
		e.Message = "Response with id '" + id + "' not found."
		x.fail(e)
	case isCancel:
		x.cancel(j)
	case j.step.get == "poll-429" && gets == 1:
		x.fail(apiErrors["429"])
	case j.step.get == "too-old" && asStream:
		x.fail(apiErrors["too-old"])
	case asStream:
		after, err := strconv.Atoi(query.Get("starting_after"))
		if err != nil {
			after = -1
		}
		x.stream(j, after+1)
	default:
		x.sendJSON(http.StatusOK, x.s.state(j))
	}
}

// cancel ends a response, unless it has ended.
func (x *exchange) cancel(j *job) {
	x.s.mu.Lock()
	hasEnded := j.hasEnded()
	if !hasEnded {
		j.cancelled = true
	}
	x.s.mu.Unlock()

	if hasEnded {
		x.fail(apiErrors["ended"])
		return
	}
	x.sendJSON(http.StatusOK, x.s.state(j))
}
