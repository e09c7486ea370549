package apitest

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

// job is a response whose events appear over time: event i of its stream exists from start + i*slow
// on, whether or not a client is connected.
type job struct {
	start     time.Time
	slow      time.Duration // time between two events
	events    []object
	bills     string // when a cancelled response has its usage: billsAtOnce, billsLate, or never; goesOn
	cancelled atomic.Bool
}

const (
	billsAtOnce = "bills"
	billsLate   = "bills-late" // not in the answer to the cancel
	goesOn      = "goes-on"    // a cancel has no effect
)

// until returns how long it takes until an event exists.
func (j *job) until(i int) time.Duration {
	return time.Until(j.start.Add(time.Duration(i) * j.slow))
}

// hasEnded reports whether the response is finished.
func (j *job) hasEnded() bool {
	return j.until(len(j.events)-1) <= 0
}

// state returns the response as it is now, for the request that cancels it or for a GET.
func (j *job) state(cancels bool) any {
	if j.hasEnded() && !j.cancelled.Load() {
		return j.events[len(j.events)-1]["response"]
	}

	state := maps.Clone(j.events[0]["response"].(object)) // queued
	if !j.cancelled.Load() || j.bills == goesOn {
		return state
	}
	state["status"] = "cancelled"
	state["usage"] = nil
	if j.bills == billsAtOnce || j.bills == billsLate && !cancels {
		last := j.events[len(j.events)-1]["response"].(json.RawMessage)
		for name, value := range gjson.GetBytes(last, "{usage,tool_usage}").Map() {
			state[name] = json.RawMessage(value.Raw)
		}
	}
	return state
}

// fetch answers GET /responses/{id} and POST /responses/{id}/cancel.
func (x *exchange) fetch(name string) {
	id, cancels := strings.CutSuffix(name, "/cancel")
	kept, _ := x.jobs.Load(id)
	j, ok := kept.(*job)
	if !ok {
		x.refuse(http.StatusNotFound, "Response with id '"+id+"' not found.")
		return
	}

	query := x.r.URL.Query()
	switch {
	case cancels && j.hasEnded() && j.bills == billsAtOnce:
		x.sendJSON(http.StatusOK, j.state(true))
	case cancels && j.hasEnded():
		x.refuse(http.StatusBadRequest, "Cannot cancel a completed response.")
	case cancels:
		j.cancelled.Store(true)
		x.sendJSON(http.StatusOK, j.state(true))
	case query.Get("stream") == "true":
		after, err := strconv.Atoi(query.Get("starting_after"))
		if err != nil {
			after = -1
		}
		x.stream(j, after+1)
	default:
		x.sendJSON(http.StatusOK, j.state(false))
	}
}
