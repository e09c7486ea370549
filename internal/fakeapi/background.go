package fakeapi

import (
	"encoding/json"
	"maps"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"
)

// job is a response that is written by the clock: event i of its stream exists from start + i*slow
// on. In the background that needs no connection.
type job struct {
	step      step // of the request that created it
	start     time.Time
	final     gjson.Result
	events    []object
	cancelled atomic.Bool
	gets      atomic.Int32
}

func newJob(step step, final []byte) *job {
	j := &job{
		step:  step,
		start: time.Now(),
		final: gjson.ParseBytes(final),
	}
	j.events = events(j.final)
	return j
}

// due returns when an event exists.
func (j *job) due(i int) time.Time { return j.start.Add(time.Duration(i) * j.step.slow) }

// exists reports whether an event exists.
func (j *job) exists(i int) bool { return !time.Now().Before(j.due(i)) }

// hasEnded reports whether the response is finished.
func (j *job) hasEnded() bool { return j.exists(len(j.events) - 1) }

// state returns the response as it is now.
func (j *job) state() any {
	state := maps.Clone(j.events[0]["response"].(object)) // queued
	switch {
	case j.cancelled.Load():
		state["status"] = "cancelled"
	case j.hasEnded():
		return json.RawMessage(j.final.Raw)
	case j.exists(2):
		state["status"] = "in_progress"
	}
	return state
}

// fetch answers GET /responses/{id} and POST /responses/{id}/cancel.
func (x *exchange) fetch(name string) {
	id, isCancel := strings.CutSuffix(name, "/cancel")
	kept, _ := x.s.jobs.Load(id)
	j, ok := kept.(*job)
	if !ok || j.step.get == "gone" {
		x.fail("gone", id)
		return
	}

	query := x.r.URL.Query()
	asStream := query.Get("stream") == "true"
	switch {
	case isCancel && j.hasEnded():
		x.fail("ended", "")
	case isCancel:
		j.cancelled.Store(true)
		x.sendJSON(http.StatusOK, j.state())
	case j.step.get == "poll-429" && j.gets.Add(1) == 1:
		x.fail("429", "")
	case asStream && j.step.get == "too-old":
		x.fail("too-old", "")
	case asStream:
		after, err := strconv.Atoi(query.Get("starting_after"))
		if err != nil {
			after = -1
		}
		x.stream(j, after+1)
	default:
		x.sendJSON(http.StatusOK, j.state())
	}
}
